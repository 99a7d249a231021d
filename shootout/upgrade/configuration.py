"""What two servers make of a my.cnf: each is started with it, and asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shootout.errors import MeasureError, without_values
from shootout.servers import instances
from shootout.servers.installation import Installation
from shootout.settings import differences
from shootout.settings.setting import meant, normalise, variable
from shootout.upgrade.values import OptionFate

_LOG_LINES = 400  # of a start
_LEVEL = re.compile(r"\[(?:Warning|ERROR)\]\s*(?:\[[^]]*\]\s*)*", re.IGNORECASE)
# What servers warn of on every machine, or only in an instance directory of ours.
_ALWAYS = re.compile(r"changed limits|uuid|certificate|insecure configuration|empty password", re.IGNORECASE)
_PROGRAM = re.compile(r"^\S*/(?:mysqld|mariadbd): ")


@dataclass(frozen=True)
class Probe:
    """A server that was started with a my.cnf, without the options that it refuses."""

    version: str
    variables: Mapping[str, str]
    refused: Mapping[str, str]  # why, by option
    told: Mapping[str, str] = field(default_factory=dict)  # what its log says of an option


def probe(program: Installation, options: Mapping[str, str], directory: Path) -> Probe:
    """Start an empty server with these options; one that it dies of is left out of the next start.

    A server may ignore what it does not know: `loose`. Call this from the main thread. Raises
    MeasureError if the server starts with none of them either.
    """
    instances.initialise(program, directory, {})
    refused: dict[str, str] = {}
    while True:
        given = {loose(name): value for name, value in options.items() if name not in refused}
        try:
            with instances.start(program, directory, given) as instance:
                variables = instance.variables()
                said = dict(_said(instance.error_log_tail(_LOG_LINES), options))
                return Probe(instance.version, variables, refused, said)
        except MeasureError as error:
            log = f"{error}\n{(directory / 'error.log').read_text('utf-8', errors='replace')}"
            blamed = dict(_said(log, {name: options[name] for name in options if name not in refused}))
            if not blamed:
                raise
            refused |= blamed
            (directory / "error.log").unlink()


def loose(option: str) -> str:
    """The option as a server that lacks it ignores it."""
    return option if option.startswith(("loose-", "loose_")) else f"loose-{option}"


def fates(options: Mapping[str, str], old: Probe, new: Probe) -> Iterator[OptionFate]:
    """What becomes of each option."""
    called = differences.renamed(old.variables, new.variables)
    for option, value in options.items():
        name, _ = meant(option, value)
        renamed = called.get(name, "")
        yield OptionFate(
            option=option,
            value=value,
            variable=name,
            old=old.variables.get(name),
            new=new.variables.get(renamed or name),
            renamed=renamed,
            refused=new.refused.get(option, ""),
            told=new.told.get(option, ""),
        )


def is_kept(fate: OptionFate) -> bool:
    """Whether the new server does with an option what the old one did."""
    if fate.refused or fate.renamed or fate.new is None:
        return fate.old is None and fate.new is None and not fate.refused
    if fate.old is None:
        return True
    if "=" in fate.old and {*fate.old.split(",")} <= {*fate.new.split(",")}:
        return True  # flags, of which a newer server has more
    return normalise(fate.old) == normalise(fate.new)


def migrated(options: Mapping[str, str], fates_of: tuple[OptionFate, ...]) -> dict[str, str]:
    """The options that the new server takes, by the names that it has for them."""
    kept = {fate.option: fate for fate in fates_of if not fate.refused}
    return {loose(kept[name].renamed or name): value for name, value in options.items() if name in kept}


def warnings(log: str) -> list[str]:
    """The warnings and errors of a server's log, each once, without values."""
    lines = (_LEVEL.split(line, maxsplit=1) for line in log.splitlines())
    said = dict.fromkeys(without_values(parts[1]).strip() for parts in lines if len(parts) == 2)
    return [text for text in said if not _ALWAYS.search(text)]


def _said(log: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The first warning or error of a log that names an option, or its value, for each option."""
    lines = [_LEVEL.split(line, maxsplit=1) for line in log.splitlines()]
    messages = [parts[1] for parts in lines if len(parts) == 2]
    for option, value in options.items():
        words = "|".join(re.escape(word).replace("_", "[_-]") for word in _words(option, value))
        found = (text for text in messages if re.search(rf"(?<![\w-])(?:{words})(?![\w-])", text))
        if text := next(found, ""):
            yield option, _PROGRAM.sub("", without_values(text).strip())


def _words(option: str, value: str) -> Iterator[str]:
    yield variable(option)
    for each in value.strip("'\"").split(","):
        if re.fullmatch(r"[A-Za-z_]{6,}", each.strip()):  # a word of its own, such as a mode
            yield each.strip()
