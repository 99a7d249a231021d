"""The variables that differ between two servers, by what makes them differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from shootout.model.run import ServerRecord, SettingRecord
from shootout.settings import behaviours
from shootout.settings.behaviours import NO_EVIDENCE, SWITCH, Evidence
from shootout.settings.setting import Setting, normalise
from shootout.settings.table import FOR_WRITES, NOTABLE, PLANNING, RENAMED, SETTINGS, SUSPECTED, title

COSTLY = len(SUSPECTED)  # ranks of settings that are known to cost are below it
Origin = Literal["requested", "default", "only one has it"]

# Variables that no two instances share, or that only name or describe a server.
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
    """List what differs between two servers' variables: notable ones first, then by name.

    `requested`: variables that either server's settings set. A renamed variable has its name on the
    head. Values that mean the same differ in nothing, such as an empty one and its default.
    """
    notable = {*NOTABLE, *PLANNING, *(name for setting in SETTINGS.values() for name in setting.variables)}
    base, head = _as_called(base, head), dict(head)
    for setting in SETTINGS.values():
        if _alike(setting, base, head):
            for name in setting.variables:
                base.pop(name, None), head.pop(name, None)
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


def of_behaviour(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """List a server's variables without those that only name or describe it, or its folders."""
    return ((name, value) for name, value in variables.items() if not _IDENTITY.fullmatch(name))


def suspects(
    differences: Iterable[VariableDifference],
    *,
    planned: bool,
    writes: bool,
    head: Mapping[str, str] | None = None,
    evidence: Evidence = NO_EVIDENCE,
) -> list[str]:
    """NAME=VALUE: values that may explain a change, those that the servers themselves point at first.

    `planned`: plans changed, so what plans depend on comes next. `writes`: the load does; else what only
    writing can feel is left out. `head`: its variables; None: only those that differ are known.
    """
    known = [*differences]
    of_base = {each.name: each.base for each in known if each.base is not None}
    of_head = {each.name: each.head for each in known if each.head is not None} | dict(head or {})
    of_base |= {name: value for name, value in of_head.items() if name not in {each.name for each in known}}
    values = {
        difference.name: [difference.base]
        for difference in known
        if difference.base and difference.head is not None
    }
    for difference in known:
        if difference.name == SWITCH and difference.name in values:
            theirs, own = map(_flags, (difference.base, difference.head))
            both = sorted(theirs.keys() & own.keys())
            values[difference.name] = [f"{flag}={theirs[flag]}" for flag in both if theirs[flag] != own[flag]]

    def of(names: Iterable[str]) -> Iterator[str]:
        return (f"{name}={value}" for name in names for value in values.get(name, ()))

    warned = [*behaviours.named(of_head, evidence.warnings)]
    only_new = (name for name in behaviours.PLANNED if name not in of_base)
    found = [
        *filter(None, (behaviours.off(name, of_head) or next(of([name]), "") for name in warned)),
        *behaviours.shown(of_base, of_head, evidence),
        *filter(None, (behaviours.off(name, of_head) for name in only_new if planned)),
        *of(PLANNING if planned else ()),
        *of(name for name in SUSPECTED if writes or name not in FOR_WRITES),
    ]
    return [*dict.fromkeys(found)]


def _flags(text: str | None) -> dict[str, str]:
    return dict(flag.split("=", 1) for flag in (text or "").split(",") if "=" in flag)


def renamed(base: Mapping[str, str], head: Mapping[str, str]) -> dict[str, str]:
    """Find the head's names of the base's variables that it has under another one."""
    names = dict(RENAMED)
    for setting in SETTINGS.values():
        readings = [setting.reading(variables) for variables in (base, head)]
        theirs, own = (() if reading is None else reading.variables for reading in readings)
        if len(theirs) == len(own) == 1:
            names |= dict.fromkeys(setting.variables - {*own}, own[0])
    called = {}
    for name in base:
        now = names.get(name) or name.replace("slave", "replica").replace("master", "source")
        if now != name and name not in head and now in head:
            called[name] = now
    return called


def _as_called(base: Mapping[str, str], head: Mapping[str, str]) -> dict[str, str]:
    names = renamed(base, head)
    called = {name: value for name, value in base.items() if name not in names}
    for name, now in names.items():
        called.setdefault(now, base[name])
    return called


def _alike(setting: Setting, base: Mapping[str, str], head: Mapping[str, str]) -> bool:
    theirs, own = setting.read(base), setting.read(head)
    if theirs is None or own is None:
        value = own if theirs is None else theirs
        return value is not None and _is_built_in(setting, value)
    return normalise(theirs) == normalise(own)


def _is_built_in(setting: Setting, value: str) -> bool:
    without = (row.when for row in setting.rows if not row.options and not row.lacks)
    return any(when is not None and normalise(str(when)) == normalise(value) for when in without)


def is_known(server: ServerRecord) -> bool:
    """Whether any setting of a server was read: not if it is absent, or never started."""
    return any(record.effective is not None for record in server.settings)


def of_records(base: ServerRecord, head: ServerRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the settings that differ between two servers: those asked for, and those nobody asked for."""
    of_base, of_head = ({record.name: record for record in server.settings} for server in (base, head))
    asked: list[str] = []
    unasked: list[str] = []
    for name in {**of_base, **of_head}:
        then, now = of_base.get(name), of_head.get(name)
        if _value(then) == _value(now) or _IDENTITY.fullmatch(name) or _is_absence(name, then, now):
            continue
        same_request = (then and then.requested) == (now and now.requested)
        (unasked if same_request else asked).append(name)
    unasked.sort(key=rank)
    return tuple(asked), tuple(unasked)


def called(name: str, *servers: ServerRecord) -> str:
    """Name a setting as the first of these servers that has it does."""
    records = (record.variables for server in servers for record in server.settings if record.name == name)
    return title(name, next(filter(None, records), ()))


def _is_absence(name: str, then: SettingRecord | None, now: SettingRecord | None) -> bool:
    values = [value for value in map(_value, (then, now)) if value is not None]
    return len(values) == 1 and name in SETTINGS and _is_built_in(SETTINGS[name], values[0])


def rank(name: str) -> int:
    """Find a setting's place among those that are known to cost most."""
    variables = SETTINGS[name].variables if name in SETTINGS else {name}
    return next((place for place, suspected in enumerate(SUSPECTED) if suspected in variables), COSTLY)


def _value(record: SettingRecord | None) -> str | None:
    return None if record is None or record.effective is None else normalise(record.effective)
