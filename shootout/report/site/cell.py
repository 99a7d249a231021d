"""The page of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from shootout import figures
from shootout.answer import Answer, Topic, beside, throughput
from shootout.figures import NOT_VISIBLE
from shootout.model.plan import Cell
from shootout.model.verdict import CellComparison
from shootout.report.site import cell_answer
from shootout.report.site.cell_answer import Evidence
from shootout.report.site.names import cell_stem
from shootout.report.site.page import RunPage
from shootout.report.site.run import CellSet, WarningEntry


@dataclass(frozen=True)
class CellPage(RunPage):
    comparison: CellComparison
    template = "cell"

    @property
    def file(self) -> str:
        return f"{cell_stem(self.cell)}.html"

    @property
    def cell(self) -> Cell:
        return self.comparison.cell

    @cached_property
    def answer(self) -> Answer:
        return cell_answer.answer(Evidence(self.run, self.comparison))

    @property
    def key(self) -> tuple[tuple[str, str, str], ...]:
        """The figures that readers ask for first: a name, the cell's, and the base's or what it rests on."""
        here, base, p_value = self.comparison.figures, self.comparison.base_figures, self.comparison.p_value
        if here is None:
            return ()
        rounds = figures.counted(here.rounds, "round")
        if p_value is not None:
            rounds += f", corrected p {'= ' if p_value >= 0.001 else ''}{figures.p_value(p_value)}"
        tps = (base and throughput(base.tps.estimate), throughput(here.tps.estimate))
        p95 = beside(1000 * base.latency.p95_s if base else None, 1000 * here.latency.p95_s)
        cpu = beside(_us(base.server_cpu_s) if base else None, _us(here.server_cpu_s))
        named = {"throughput, tps": tps, "95 % latency, ms": p95, "server CPU, µs / transaction": cpu}
        return (
            *(
                (name, str(mine or NOT_VISIBLE), (base and f"base {theirs or NOT_VISIBLE}") or "")
                for name, (theirs, mine) in named.items()
            ),
            ("evidence", figures.counted(here.starts, "start"), rounds),
        )

    @cached_property
    def warnings(self) -> tuple[WarningEntry, ...]:
        own = self.run.own_warnings([self.comparison])
        servers = (self.cell.server, self.comparison.base.server)
        return (
            *(WarningEntry("this cell", entry.warning) for entry in chain(*own.values())),
            *(entry for entry in self.run.shared_warnings if entry.about in servers),
        )

    @property
    def siblings(self) -> tuple[CellComparison, ...]:
        siblings = (c for c in self.set.cells if c.cell.server == self.cell.server)
        return tuple(sorted(siblings, key=lambda c: c.cell.threads))

    @cached_property
    def set(self) -> CellSet:
        return self.run.set_named(self.cell.workload, self.cell.dataset)

    @property
    def topics(self) -> tuple[tuple[str, Topic], ...]:
        """The parts of its answer, each with its place on the page."""
        return tuple(cell_answer.placed(self.answer.topics))


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e6
