"""Compares requested settings with a running server's variables and error log."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set

from shootout.model.run import SettingRecord, Warning
from shootout.settings.profiles import Compiled, Request
from shootout.settings.setting import Setting, meant, normalise, variable
from shootout.settings.table import NOTABLE, SETTINGS, title

LOG_WARNINGS_MAX = 8  # more would bury all other warnings

_LOG_LEVEL = re.compile(r"^.*?\[(?:warning|error)\] *(?:\[[\w-]+\] *)*", re.IGNORECASE)  # time, level, codes
_ABOUT_ACCOUNTS = "in --skip-name-resolve mode"  # a warning about accounts, not options
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def compare(
    compiled: Compiled, effective: Mapping[str, str]
) -> tuple[tuple[SettingRecord, ...], tuple[Warning, ...]]:
    """Compare requested settings with the server's variables (empty before it runs).

    Returns a record for each setting and option, and for defaults that may explain differences; and a warning
    for each that differs, is lacking, or is left out. Options without a variable cannot be checked.
    """
    loose = {
        meant(option, value)[0]
        for option, value in compiled.options.items()
        if option.casefold().startswith("loose")
    }
    every = (
        *_defaults(effective, compiled.beside),
        *(_requested(name, request, effective, loose) for name, request in compiled.requests.items()),
        *_verbatim(compiled.verbatim, effective, loose),
    )
    records = {record.name: record for record in every}  # the last one of a name counts
    ordered = sorted(records.values(), key=lambda record: record.requested is None)
    warnings = [warning for warning in map(_warning, ordered) if warning]
    if compiled.left_out:
        text = f"Left out: {'; '.join(compiled.left_out)}."
        warnings.append(Warning(code="settings-left-out", text=text))
    return tuple(ordered), tuple(warnings)


def log_warnings(log: str, compiled: Compiled) -> tuple[Warning, ...]:
    """Find the warnings and errors in a server's log about its options."""
    variables = {variable(option) for option in compiled.options}
    lines = [line for line in log.splitlines() if _LOG_LEVEL.match(line) and _ABOUT_ACCOUNTS not in line]
    relevant = (line for line in lines if variables & {*map(variable, _WORD.findall(line))})
    messages = dict.fromkeys(_LOG_LEVEL.sub("", line).strip() for line in relevant)
    return tuple(
        Warning(code="settings-told", text=f"The server says: {message}")
        for message in [*messages][:LOG_WARNINGS_MAX]
    )


def _requested(name: str, request: Request, effective: Mapping[str, str], loose: Set[str]) -> SettingRecord:
    setting = SETTINGS[name]
    wanted, actual = setting.display(request.value), setting.read(effective)
    unknown = bool(effective) and not loose.isdisjoint(request.variables)
    differs = unknown if actual is None else not _matches(setting, wanted, actual)
    reading = setting.reading(effective)
    return SettingRecord(
        name=name, requested=wanted, effective=actual, differs=differs and not request.lacking,
        variables=reading.variables if reading else request.variables, lacking=request.lacking,
        note=request.note,
    )  # fmt: skip


def _verbatim(
    options: Mapping[str, str], effective: Mapping[str, str], loose: Set[str]
) -> Iterator[SettingRecord]:
    for option, value in options.items():
        in_server, wanted = meant(option, value or "ON")
        if in_server == "log_bin":  # the option is a file name, the variable a switch
            wanted = "OFF" if normalise(wanted) == "0" else "ON"
        name, actual = in_server, effective.get(in_server)
        for setting_name, setting in SETTINGS.items():
            reading = setting.reading(effective)
            if reading and reading.variables == (in_server,):
                name, actual = setting_name, setting.read(effective)
                wanted = setting.read({in_server: wanted}) or wanted
        unknown = bool(effective) and in_server in loose
        yield SettingRecord(
            name=name, requested=wanted, effective=actual,
            differs=unknown if actual is None else not _matches(SETTINGS.get(name), wanted, actual),
            variables=(in_server,),
        )  # fmt: skip


def _matches(setting: Setting | None, wanted: str, actual: str) -> bool:
    wanted, actual = normalise(wanted), normalise(actual)
    if setting is not None and setting.at_least and wanted.isdecimal() and actual.isdecimal():
        return int(actual) >= int(wanted)
    asked, has = ({normalise(part) for part in value.split(",")} for value in (wanted, actual))
    # A server also lists flags (optimizer_switch) that nobody set.
    return asked <= has if "=" in wanted else asked == has


def _defaults(effective: Mapping[str, str], beside: Collection[str]) -> Iterator[SettingRecord]:
    for name, setting in SETTINGS.items():
        if reading := setting.reading(effective):
            yield SettingRecord(
                name=name, requested=None, effective=setting.read(effective), differs=False,
                variables=reading.variables,
            )  # fmt: skip
    readings = filter(None, (setting.reading(effective) for setting in SETTINGS.values()))
    read = {reading.variables[0] for reading in readings if len(reading.variables) == 1}
    for name in dict.fromkeys((*NOTABLE, *sorted({*beside} - read))):
        if name in effective:
            yield SettingRecord(
                name=name, requested=None, effective=effective[name], differs=False, variables=(name,)
            )


def _warning(record: SettingRecord) -> Warning | None:
    name = title(record.name, record.variables)
    if record.lacking:
        instead = f"; it has {record.effective}" if record.effective is not None else ""
        text = f"{name}: requested {record.requested}, which this version lacks ({record.note}){instead}."
        return Warning(code="settings-lacking", text=text)
    if record.differs:
        has = "nothing" if record.effective is None else record.effective
        text = f"{name}: requested {record.requested}, the server has {has}."
        return Warning(code="settings-differ", text=text)
    return None
