"""The variables that differ between two servers, by what makes them differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from shootout.model.run import ServerRecord, SettingRecord
from shootout.settings.setting import normalise
from shootout.settings.table import NOTABLE, SETTINGS, SUSPECTED

Origin = Literal["requested", "default", "only one has it"]

# What no two instances share, and what only names or describes a server.
_IDENTITY = re.compile(
    r"(?:.*_)?(?:uuid|uid|hostname|port|socket|timestamp|version.*|pid_file|log_file|file_name)"
    r"|(?!gtid_mode|enforce_).*gtid_.*"
    r"|.*(?:dir|_error|_basename|_file|_filename|_path)|(?:log_bin|relay_log)_index|server_id.*|report_.*"
    r"|pseudo_.*|build_.*|license|rand_seed.*|.*_license|statement_id|secure_file_priv|.*last_.*id|error_count|warning_count"
    r"|protocol_version|in_transaction"
)


@dataclass(frozen=True)
class VariableDifference:
    """A global variable; None on a server that lacks it."""

    name: str
    base: str | None
    head: str | None
    origin: Origin
    notable: bool  # known to change performance


def differences(
    base: Mapping[str, str], head: Mapping[str, str], requested: Collection[str] = ()
) -> list[VariableDifference]:
    """What differs between two servers' variables: notable ones first, then by name.

    `requested`: variables that either server's settings profile sets.
    """
    notable = {*NOTABLE, *(name for setting in SETTINGS.values() for name in setting.variables)}
    result = []
    for name in {**base, **head}:
        of_base, of_head = base.get(name), head.get(name)
        same = of_base is not None and of_head is not None and normalise(of_base) == normalise(of_head)
        if same or _IDENTITY.fullmatch(name):
            continue
        origin: Origin = "requested" if name in requested else "default"
        if of_base is None or of_head is None:
            origin = "only one has it"
        result.append(VariableDifference(name, of_base, of_head, origin, name in notable))
    return sorted(result, key=lambda difference: (not difference.notable, difference.name))


def suspects(differences: Iterable[VariableDifference]) -> list[str]:
    """NAME=VALUE: the base's values that the head could have, those that are known to cost most first."""
    values = {
        difference.name: difference.base
        for difference in differences
        if difference.base and difference.head is not None
    }
    return [f"{name}={values[name]}" for name in SUSPECTED if name in values]


def is_known(server: ServerRecord) -> bool:
    """Whether any setting of a server was read: not if it is absent, or never started."""
    return any(record.effective is not None for record in server.settings)


def of_records(base: ServerRecord, head: ServerRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the settings that differ between two servers: those asked for, and those nobody asked for."""
    of_base, of_head = ({record.name: record for record in server.settings} for server in (base, head))
    asked: list[str] = []
    unasked: list[str] = []
    for name in {**of_base, **of_head}:
        then, now = of_base.get(name), of_head.get(name)
        if _value(then) == _value(now) or _IDENTITY.fullmatch(name):
            continue
        same_request = (then and then.requested) == (now and now.requested)
        (unasked if same_request else asked).append(name)
    return tuple(asked), tuple(unasked)


def _value(record: SettingRecord | None) -> str | None:
    return None if record is None or record.effective is None else normalise(record.effective)
