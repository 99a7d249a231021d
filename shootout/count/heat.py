"""The table of what each kind of statement costs by version, for three versions or more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from markupsafe import Markup

from shootout.answer import Figure, Mark, Table, Topic, factor
from shootout.count import by_version
from shootout.count.by_version import Cost, KindCosts
from shootout.count.evidence import counted
from shootout.count.values import CountChange, CountComparison
from shootout.figures import NONE
from shootout.model.run import ServerRecord
from shootout.model.verdict import Verdict
from shootout.numbers import share
from shootout.report.site.breaks import breakable

VERSIONS_MIN = 3  # two stand side by side in a table of changes
STRENGTHS = (0.05, 0.15, 0.3)  # sizes of change at which a colour gets stronger
SPARK_SIZE = (96, 24)  # pixels
CAPTION = "The kind with the largest change of a step first"
PLACES = 1  # of a change in percent: many stand side by side


@dataclass(frozen=True)
class Heat:
    """A table of kinds and servers, coloured by the size of each step."""

    comparison: CountComparison

    @cached_property
    def servers(self) -> tuple[ServerRecord, ...]:
        """Servers by family and version."""
        return by_version.ordered(self.comparison.document.servers)

    @cached_property
    def kinds(self) -> tuple[KindCosts, ...]:
        """The kind with the largest step first."""
        return by_version.costs(self.comparison.document)

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The server of each family that its others are compared with."""
        return tuple(by_version.references(self.servers).values())

    @property
    def headline(self) -> str:
        """How many steps of a version cost instructions, and the largest."""
        steps = [(kind, step) for kind in self.kinds for step in _steps(kind)]
        worse = [(kind, step) for kind, step in steps if step.verdict is Verdict.REGRESSED]
        better = sum(step.verdict is Verdict.IMPROVED for _, step in steps)
        said = f"From version to version, {len(worse)} of {len(steps)} steps execute more, {better} fewer."
        if worse:
            kind, most = max(worse, key=lambda one: _size(one[1]))
            said += f" The largest: {kind.kind}, {_by(most)} in {most.server}."
        return said

    @property
    def topic(self) -> Topic:
        """The table; terminal and Markdown have the largest step of each kind."""
        document = self.comparison.document
        marks = "◆ marks a version that plans the statement in another way than the one before. "
        said = (
            "Instructions of each kind of statement, and their change from the version before; below it, "
            f"relative to {' and '.join(self.references)}. {marks if document.plans else ''}"
            f"A colour means a certain change of {share(document.bar)} or more."
        )
        largest = (
            (kind, max(_steps(kind), key=lambda step: abs(math.log(_size(step))), default=None))
            for kind in self.kinds
        )
        rows = tuple(
            (kind.kind, kind.workload, most.server, counted(most.base), counted(most.head),
             _by(most), Mark(most.verdict))
            for kind, most in largest
            if most is not None
        )  # fmt: skip
        columns = ("kind", "workload", "largest step", "before", "instructions", "change", "verdict")
        return Topic(
            f"{len(self.kinds)} kinds of statement by version",
            (said,),
            tables=(Table(columns, rows, CAPTION),),
            drawing=self,
        )

    def __html__(self) -> str:
        """The markup."""
        names = Markup("").join(
            Markup('<th scope="col" class="num">{}</th>').format(breakable(server.label))
            for server in self.servers
        )
        rows = Markup("\n").join(
            Markup(
                '<tr><th scope="row" class="text">{} <small>{}</small></th>'
                '<td class="course" data-value="{}">{}</td>{}</tr>'
            ).format(
                breakable(kind.kind), breakable(kind.workload), kind.largest, self._spark(kind),
                Markup("").join(self._cell(kind, cost) for cost in kind.costs),
            )
            for kind in self.kinds
        )  # fmt: skip
        return Markup(
            '<div class="scroll tall" tabindex="0" role="region" '
            'aria-label="Kinds of statement by version">'
            '<table class="sortable heat steps"><caption><span>{}</span></caption><thead><tr>'
            '<th scope="col">kind</th><th scope="col">course</th>{}</tr></thead>'
            "<tbody>{}</tbody></table></div>"
        ).format(CAPTION, names, rows)

    def _cell(self, kind: KindCosts, cost: Cost) -> Markup:
        """The step of a version; below it, what it is relative to the reference."""
        name, instructions = cost.server, cost.instructions
        if instructions is None:
            said = Markup('<td class="num lacks" data-name="{}" title="{}">{}</td>')
            return said.format(name, self._why(kind, cost), NONE)
        own = Markup("{}").format(Figure(instructions, places=0))
        step = cost.step if cost.step and cost.step.ratio else None
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
        """Say why a server has no count of a kind."""
        key = (kind.workload, kind.kind, cost.server)
        every = self.comparison.changes
        return next((each.reason for each in every if (each.workload, each.kind, each.server) == key), "")

    def _spark(self, kind: KindCosts) -> Markup:
        """A line for each family: its versions, instructions as logarithms."""
        width, height = SPARK_SIZE
        lines = Markup("").join(
            Markup('<polyline class="s{}" points="{}"/>').format(number, points)
            for number, points in enumerate(self._lines(kind))
        )
        return Markup(
            '<svg class="spark" viewBox="0 0 {0} {1}" width="{0}" height="{1}" aria-hidden="true">{2}</svg>'
        ).format(width, height, lines)

    def _lines(self, kind: KindCosts) -> Iterator[str]:
        width, height = SPARK_SIZE
        logs = {cost.server: math.log(cost.instructions) for cost in kind.costs if cost.instructions}
        if not logs:
            return
        low, span = min(logs.values()), max(max(logs.values()) - min(logs.values()), 0.02)
        last = max(1, len(self.servers) - 1)
        places = {server.label: width * at / last for at, server in enumerate(self.servers)}
        for _, servers in groupby(self.servers, key=lambda server: server.family):
            yield " ".join(
                f"{places[server.label]:.0f},{height * (0.95 - 0.9 * (logs[server.label] - low) / span):.1f}"
                for server in servers
                if server.label in logs
            )


def of(comparison: CountComparison) -> Heat | None:
    """Make the table of a count against its first server; None for fewer versions than are worth one."""
    servers = comparison.document.servers
    versions = {(server.family, server.version) for server in servers}
    if len(versions) < VERSIONS_MIN or comparison.base != servers[0].label:
        return None
    return Heat(comparison)


def _steps(kind: KindCosts) -> Iterator[CountChange]:
    """The steps that were counted."""
    return (cost.step for cost in kind.costs if cost.step is not None and cost.step.ratio is not None)


def _size(step: CountChange) -> float:
    return step.ratio.estimate if step.ratio else 1.0


def _by(step: CountChange) -> Figure:
    assert step.ratio is not None  # it was counted
    return factor(step.ratio, PLACES)


def _tone(step: CountChange | None) -> str:
    """The classes of style.css for a cost: its verdict, and how large the change is."""
    if step is None:
        return ""
    size = abs(math.log(_size(step)))
    return f"{step.verdict.value} x{sum(size >= least for least in STRENGTHS)}"
