"""Settings that a comparison asked for and that change nothing: both servers have the same value anyway."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shootout import figures
from shootout.model.run import RunHeader, ServerRecord, SettingRecord
from shootout.model.verdict import Comparison
from shootout.settings import differences
from shootout.settings.setting import normalise, variable

DEFAULTS = "defaults"  # the settings that set nothing
_OPTION = re.compile(r"[\w.-]+ *=")


@dataclass(frozen=True)
class NoEffect:
    """Settings of one head that change nothing."""

    sentences: tuple[str, ...] = ()
    itself: str = ""  # the base, if it is the same program with the same settings

    def line(self, head: str) -> str:
        """All of it about one of several heads; empty if there is nothing to say."""
        who = f"{head} is the same server as {self.itself}" if self.itself else head
        return f"{who}: {', '.join(self.sentences)}" if self.sentences else ""


def settings_without_effect(comparison: Comparison, head: str) -> NoEffect:
    """Compare a head's settings with those of its bases, as far as users asked for other ones."""
    header = comparison.header
    records = {record.label: record for record in header.servers if differences.is_known(record)}
    bases = dict.fromkeys(c.base.server for c in comparison.cells if c.cell.server == head != c.base.server)
    pairs = [(records[base], records[head]) for base in bases if {base, head} <= records.keys()]
    pairs = [(base, own) for base, own in pairs if base.settings_name != own.settings_name]
    sentences = [said for base, own in pairs for said in _sentences(base, own, header)]
    itself = next((base.label for base, own in pairs if _is_same(base, own)), "")
    if itself and not sentences:
        sentences = [f"the settings {figures.settings(records[head].settings_name)} have the same effect"]
    return NoEffect(tuple(dict.fromkeys(sentences)), itself)


def _sentences(base: ServerRecord, head: ServerRecord, header: RunHeader) -> Iterator[str]:
    theirs, own = ({*_added(server, header)} for server in (base, head))
    covered: dict[ServerRecord, list[str]] = {}
    for server, other, asked in ((head, base, own - theirs), (base, head, theirs - own)):
        for part in sorted(asked):
            name, _, value = map(str.strip, part.partition("="))
            (record, _), (beside, requested) = (_record(each, variable(name)) for each in (server, other))
            if record is None or not _OPTION.match(part):
                continue
            if record.differs:
                yield f"{server.label} has {name} = {record.effective or 'nothing'}, not {value} as requested"
            elif beside is not None and _value(record) == _value(beside) is not None:
                by = "by default"
                if requested:
                    by = f"as in the settings {figures.settings(other.settings_name)}"
                    covered.setdefault(other, []).append(part)
                yield f"{name} is {value} on both {base.label} and {head.label}, {by}"
    for other, parts in covered.items():
        added = "+".join(_added(other, header))
        bare = f"{other.reference.removesuffix(f'@{added}')}@{DEFAULTS}"
        yield f"to compare with the server's default: --servers {bare},{'+'.join((bare, *parts))}"


def _added(server: ServerRecord, header: RunHeader) -> list[str]:
    """The parts that a server's reference adds to the settings of its run, or has in their place."""
    run, *added = server.settings_name.split(" + ")
    return added if run == header.profile.settings else [run, *added]


def _record(server: ServerRecord, name: str) -> tuple[SettingRecord | None, bool]:
    """The record of a variable itself, or of the setting that it is read as; whether any was requested."""
    found = [each for each in server.settings if name in (each.name, *each.variables)]
    record = next((each for each in found if each.name == name), found[0] if found else None)
    return record, any(each.requested is not None for each in found)


def _value(record: SettingRecord) -> str | None:
    return record.effective and normalise(record.effective)


def _is_same(base: ServerRecord, head: ServerRecord) -> bool:
    """Whether both are the same program, and every setting that was requested is readable and equal."""
    records = (record for record in (*base.settings, *head.settings) if record.requested is not None)
    readable = all(record.effective is not None or record.lacking for record in records)
    same_program = bool(base.build) and base.build == head.build
    return same_program and readable and not any(differences.of_records(base, head))
