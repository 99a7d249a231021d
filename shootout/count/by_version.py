"""The table of what each kind of statement costs by version, beside the version before it in its family."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from markupsafe import Markup

from shootout.analysis import plan_changes
from shootout.answer import Figure, Mark, Table, Topic, factor
from shootout.count.evidence import counted
from shootout.count.judge import change_of, per_unit
from shootout.count.values import JOINT, MIX, TRANSACTION, CountChange, CountComparison, CountDocument
from shootout.figures import NONE
from shootout.model.run import ServerRecord
from shootout.model.verdict import Verdict
from shootout.numbers import share
from shootout.report.site.breaks import breakable

# The series that most people upgrade from: what all versions of a family are compared with, too.
REFERENCES = {"mysql": "5.7.", "mariadb": "10.11."}
VERSIONS_MIN = 3  # two stand side by side in a table of changes
STRENGTHS = (0.05, 0.15, 0.3)  # sizes of change at which a colour gets stronger
CAPTION = "The kind with the largest change of a step first"
PLACES = 1  # of a change in percent: many stand side by side
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Cost:
    """A kind of statement on one server."""

    server: str
    instructions: float | None  # of each statement
    step: CountChange | None  # from the version before, if that was counted
    since: float | None  # instructions, relative to the family's reference
    replanned: bool  # the version before never planned it in this way


@dataclass(frozen=True)
class KindCosts:
    """A kind of statement on all servers."""

    workload: str
    kind: str
    costs: tuple[Cost, ...]  # by family and version

    @property
    def largest(self) -> CountChange | None:
        """Its largest step."""
        steps = (cost.step for cost in self.costs if cost.step is not None)
        return max(steps, key=_extent, default=None)


def ordered(servers: Sequence[ServerRecord]) -> tuple[ServerRecord, ...]:
    """Sort by family, in the order of their first servers, then by version; equal versions stay in order."""
    families = [server.family for server in servers]

    def place(server: ServerRecord) -> tuple[int, tuple[int, ...]]:
        return families.index(server.family), tuple(map(int, _NUMBERS.findall(server.version)[:3]))

    return tuple(sorted(servers, key=place))


def references(servers: Sequence[ServerRecord]) -> dict[str, str]:
    """Choose by family the server that all its versions are compared with: by default its first."""
    chosen: dict[str, str] = {}
    for server in servers:
        is_reference = server.version.startswith(REFERENCES.get(server.family, "\0"))
        if server.family not in chosen or is_reference:
            chosen[server.family] = server.label
    return chosen


def costs(document: CountDocument) -> tuple[KindCosts, ...]:
    """Compute every kind's cost on every server, the kind with the largest step first."""
    servers = ordered(document.servers)
    reference = references(servers)
    before = {new.label: old.label for old, new in pairwise(servers) if old.family == new.family}
    per = per_unit(document)
    replanned = {
        (workload, change.kind, server)
        for workload, plans in document.plans.items()
        for server, previous in before.items()
        for change in plan_changes.compared(plans, previous, server)
        if change.changed
    }
    whole = (TRANSACTION, MIX)
    in_parts = {kind.workload for kind in document.kinds if kind.name not in whole}
    every = []
    for kind in document.kinds:
        if kind.workload in in_parts and kind.name in whole:
            continue
        row = []
        for server in servers:
            label = server.label
            since = change_of(document, kind, (reference[server.family], label), per)
            step = change_of(document, kind, (before[label], label), per) if label in before else None
            names = kind.name.split(JOINT)
            row.append(
                Cost(
                    server=label,
                    instructions=None if since.head is None else since.head.mean,
                    step=step if step and step.ratio else None,
                    since=None if since.ratio is None else since.ratio.estimate,
                    replanned=any((kind.workload, name, label) in replanned for name in names),
                )
            )
        every.append(KindCosts(kind.workload, kind.name, tuple(row)))
    return tuple(sorted(every, key=lambda kind: -_extent(kind.largest)))


@dataclass(frozen=True)
class Heat:
    """A table of kinds and servers, coloured by the size of each step."""

    comparison: CountComparison

    @cached_property
    def servers(self) -> tuple[ServerRecord, ...]:
        """Servers by family and version."""
        return ordered(self.comparison.document.servers)

    @cached_property
    def kinds(self) -> tuple[KindCosts, ...]:
        """The kind with the largest step first."""
        return costs(self.comparison.document)

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The server of each family that its others are compared with."""
        return tuple(references(self.servers).values())

    @property
    def headline(self) -> str:
        """How many steps of a version cost instructions, and the largest."""
        steps = [(kind.kind, cost.step) for kind in self.kinds for cost in kind.costs if cost.step]
        worse = [(kind, step) for kind, step in steps if step.verdict is Verdict.REGRESSED]
        better = sum(step.verdict is Verdict.IMPROVED for _, step in steps)
        said = f"{len(worse)} of {len(steps)} steps between versions need more instructions, {better} fewer."
        if worse:
            kind, most = max(worse, key=lambda one: _size(one[1]))
            said += f" The largest: {kind}, {_by(most)} in {most.server}."
        return said

    @property
    def topic(self) -> Topic:
        """The table; terminal and Markdown have the largest step of each kind."""
        document = self.comparison.document
        marks = "◆ marks a version whose plan is not the one of the version before. "
        said = (
            "The change in instructions from the version before, and below it the ratio to "
            f"{' or '.join(self.references)}; where there is none, the instructions themselves. "
            f"{marks if document.plans else ''}"
            f"A colour means a certain change of {share(document.bar)} or more."
        )
        rows = tuple(
            (kind.kind, kind.workload, most.server, counted(most.base), counted(most.head),
             _by(most), Mark(most.verdict))
            for kind in self.kinds
            if (most := kind.largest)
        )  # fmt: skip
        columns = ("kind", "workload", "largest step", "before", "instructions", "change", "verdict")
        return Topic(
            f"{len(self.kinds)} kinds of statement by version", (said,),
            tables=(Table(columns, rows, CAPTION),), drawing=self,
        )  # fmt: skip

    def __html__(self) -> str:
        """The markup."""
        names = Markup("").join(
            Markup('<th scope="col" class="num">{}</th>').format(breakable(server.label))
            for server in self.servers
        )
        rows = Markup("\n").join(
            Markup(
                '<tr><th scope="row" class="text">{} <small>{}</small></th>{}</tr>'
            ).format(
                breakable(kind.kind), breakable(kind.workload),
                Markup("").join(self._cell(kind, cost) for cost in kind.costs),
            )
            for kind in self.kinds
        )  # fmt: skip
        return Markup(
            '<div class="scroll tall" tabindex="0" role="region" '
            'aria-label="Kinds of statement by version">'
            '<table class="sortable heat steps"><caption><span>{}</span></caption><thead><tr>'
            '<th scope="col">kind</th>{}</tr></thead>'
            "<tbody>{}</tbody></table></div>"
        ).format(CAPTION, names, rows)

    def _cell(self, kind: KindCosts, cost: Cost) -> Markup:
        name, instructions = cost.server, cost.instructions
        if instructions is None:
            said = Markup('<td class="num lacks" data-name="{}" title="{}">{}</td>')
            return said.format(name, self._why(kind, cost), NONE)
        own = Markup("{}").format(Figure(instructions, places=0))
        step = cost.step
        shown = Markup("<b>{}</b>").format(_by(step)) if step else Markup("<span>{}</span>").format(own)
        if cost.replanned:
            shown += Markup(' <span class="replanned" title="another plan">◆<i> another plan</i></span>')
        if cost.since is None or name in self.references:
            below: object = own if step else ""
        else:
            below = Figure(cost.since, form="times")
        return Markup('<td class="num {}" data-name="{}" data-value="{}">{} <small>{}</small></td>').format(
            _tone(step), name, _size(step) if step else instructions, shown, below
        )

    def _why(self, kind: KindCosts, cost: Cost) -> str:
        key = (kind.workload, kind.kind, cost.server)
        every = self.comparison.changes
        return next((each.reason for each in every if (each.workload, each.kind, each.server) == key), "")


def heat(comparison: CountComparison) -> Heat | None:
    """Make the table of a count against its first server; None for fewer versions than are worth one."""
    servers = comparison.document.servers
    versions = {(server.family, server.version) for server in servers}
    if len(versions) < VERSIONS_MIN or comparison.base != servers[0].label:
        return None
    return Heat(comparison)


def _size(step: CountChange) -> float:
    return step.ratio.estimate if step.ratio else 1.0


def _extent(step: CountChange | None) -> float:
    return abs(math.log(_size(step))) if step else 0.0


def _by(step: CountChange) -> Figure:
    assert step.ratio is not None  # it was counted
    return factor(step.ratio, PLACES)


def _tone(step: CountChange | None) -> str:
    return f"{step.verdict.value} x{sum(_extent(step) >= least for least in STRENGTHS)}" if step else ""
