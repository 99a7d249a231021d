"""The variables that differ between two servers, by what makes them differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
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
    return sorted(_found(base, head, requested), key=lambda each: (not each.notable, each.name))


def suspects(found: Iterable[VariableDifference]) -> list[str]:
    """NAME=VALUE: the base's values that the head could have, those that are known to cost most first."""
    rank = {name: place for place, name in enumerate(SUSPECTED)}
    settable = [each for each in found if each.name in rank and each.base and each.head is not None]
    return [f"{each.name}={each.base}" for each in sorted(settable, key=lambda each: rank[each.name])]


def _found(
    base: Mapping[str, str], head: Mapping[str, str], requested: Collection[str]
) -> Iterator[VariableDifference]:
    notable = {*NOTABLE, *(name for setting in SETTINGS.values() for name in setting.variables)}
    for name in {**base, **head}:
        theirs, own = base.get(name), head.get(name)
        same = theirs is not None and own is not None and normalise(theirs) == normalise(own)
        if same or _IDENTITY.fullmatch(name):
            continue
        origin: Origin = "default"
        if theirs is None or own is None:
            origin = "only one has it"
        elif name in requested:
            origin = "requested"
        yield VariableDifference(name=name, base=theirs, head=own, origin=origin, notable=name in notable)


def of_records(base: ServerRecord, head: ServerRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the settings that differ between two servers: those asked for, and those nobody asked for."""
    theirs, own = ({each.name: each for each in record.settings} for record in (base, head))
    asked: list[str] = []
    unasked: list[str] = []
    for name in {**theirs, **own}:
        then, now = theirs.get(name), own.get(name)
        if _value(then) == _value(now) or _IDENTITY.fullmatch(name):
            continue
        same_request = (then and then.requested) == (now and now.requested)
        (unasked if same_request else asked).append(name)
    return tuple(asked), tuple(unasked)


def _value(record: SettingRecord | None) -> str | None:
    return None if record is None or record.effective is None else normalise(record.effective)
