"""What the templates see of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from shootout import charts, curves, wording
from shootout.charts import Scale, Series
from shootout.model import (
    Block,
    Cell,
    CellComparison,
    Comparison,
    CurveComparison,
    Dataset,
    DatasetKind,
    FailureRecord,
    RunDocument,
    Samples,
    ServerRecord,
    Verdict,
    Warning,
)
from shootout.site.names import file_stem
from shootout.site.settings import SettingRow, grouped

MACHINE = "the machine"


@dataclass(frozen=True)
class Run:
    """A run's document and its comparison, joined for reading."""

    document: RunDocument
    comparison: Comparison

    @property
    def id(self) -> str:
        """Unique, sorts by time."""
        return self.document.header.run

    @property
    def folder(self) -> str:
        """Where its pages lie in the site."""
        return f"runs/{file_stem(self.id)}"

    @cached_property
    def headlines(self) -> tuple[wording.Headline, ...]:
        """What it says, one sentence for each head."""
        return wording.headlines(self.comparison)

    @property
    def conditions(self) -> str:
        """How the load differs from the usual."""
        return wording.conditions(self.document.header)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The servers that are held against a base."""
        return wording.heads(self.comparison)

    def bases(self, head: str) -> tuple[str, ...]:
        """What that head is held against; one server, unless it was missing in a block."""
        return tuple(dict.fromkeys(c.base.server for c in self.judged if c.cell.server == head))

    @cached_property
    def judged(self) -> tuple[CellComparison, ...]:
        """All cells that ask for a verdict, worst first; a base that failed is one of them."""
        asked = [c for c in self.comparison.cells if c.cell != c.base or c.verdict is not Verdict.UNJUDGED]
        return wording.worst_first(asked)

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        """How many cells have each verdict, the worst first; all of them, also where there are none."""
        return {verdict: sum(c.verdict is verdict for c in self.judged) for verdict in wording.WORST_FIRST}

    @cached_property
    def workloads(self) -> tuple[str, ...]:
        """In the run's order."""
        return tuple(dict.fromkeys(c.cell.workload for c in self.comparison.cells))

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """From few to many."""
        return tuple(sorted({c.cell.threads for c in self.comparison.cells}))

    @cached_property
    def series(self) -> dict[str, Series]:
        """How each server looks in charts, the base first."""
        held_against = Counter(c.base.server for c in self.judged)
        labels = sorted(
            (s.label for s in self.document.header.servers), key=lambda label: -held_against[label]
        )
        return {label: Series(label, number) for number, label in enumerate(labels)}

    @cached_property
    def servers(self) -> dict[str, ServerRecord]:
        """By label."""
        return {server.label: server for server in self.document.header.servers}

    @cached_property
    def scale(self) -> Scale:
        """One axis for the intervals of all cells."""
        return Scale.over([c.ratio for c in self.judged if c.ratio], self.comparison.policy.margin)

    @cached_property
    def cells(self) -> dict[Cell, CellComparison]:
        """By cell."""
        return {c.cell: c for c in self.comparison.cells}

    @cached_property
    def sets(self) -> tuple[CellSet, ...]:
        """Workload by workload (and dataset, where there are several)."""
        keys = dict.fromkeys((c.cell.workload, c.cell.dataset) for c in self.comparison.cells)
        return tuple(CellSet(run=self, workload=workload, dataset=dataset) for workload, dataset in keys)

    @cached_property
    def datasets(self) -> tuple[Dataset, ...]:
        """Those that the blocks ran on."""
        header = self.document.header
        ran_on = {block.dataset for block in header.blocks}
        known = (header.profile.dataset.of(kind) for kind in get_args(DatasetKind))
        return tuple(dataset for dataset in known if dataset.key in ran_on)

    @cached_property
    def curves(self) -> tuple[CurveRow, ...]:
        """The scaling curves that are compared, with the peaks of their laws."""
        return tuple(
            CurveRow(
                curve=each,
                peak=self._peak(each.workload, each.dataset, each.server),
                base_peak=self._peak(each.workload, each.dataset, each.base),
            )
            for each in self.comparison.curves
        )

    def _peak(self, workload: str, dataset: str, server: str) -> float | None:
        tps = {
            cell.threads: each.figures.tps.estimate
            for cell, each in self.cells.items()
            if (cell.workload, cell.dataset, cell.server) == (workload, dataset, server) and each.figures
        }
        law = curves.law(dict(sorted(tps.items())))
        return None if law is None or law.peak_threads is None else round(law.peak_threads)

    @cached_property
    def settings(self) -> tuple[tuple[str, tuple[SettingRow, ...]], ...]:
        """Every setting of any server, by what is to be said of it."""
        return grouped(self.document.header.servers)

    @cached_property
    def told_of_servers(self) -> frozenset[Warning]:
        """The servers' warnings in the form in which their cells repeat them."""
        return frozenset(
            Warning(code=warning.code, text=f"{server.label}: {warning.text}")
            for server in self.document.header.servers
            for warning in server.warnings
        )

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """All warnings of the run, each once: of the machine, the servers, and the cells."""
        header = self.document.header
        cells: dict[Warning, list[CellComparison]] = {}
        for c in self.comparison.cells:
            for warning in c.warnings:
                if warning not in self.told_of_servers:
                    cells.setdefault(warning, []).append(c)
        return (
            *(Doubt(about=MACHINE, warning=warning) for warning in header.runner.warnings),
            *(Doubt(about=s.label, warning=warning) for s in header.servers for warning in s.warnings),
            *(Doubt(about=_places(found), warning=warning) for warning, found in cells.items()),
        )

    def block(self, cell: Cell) -> Block:
        """The block that the cell was measured in."""
        return next(block for block in self.document.header.blocks if cell in block.cells)

    def samples(self, cell: Cell) -> tuple[tuple[int, Samples], ...]:
        """What was measured, start by start."""
        key = self.block(cell).key
        return tuple(
            (record.start, samples)
            for record in self.document.starts
            if record.block == key
            for samples in record.samples
            if samples.server == cell.server
        )

    def failures(self, cell: Cell) -> tuple[FailureRecord, ...]:
        """Why it could not be measured (any further)."""
        return tuple(failure for failure in self.document.failures if failure.cell == cell)


@dataclass(frozen=True)
class Doubt:
    """A warning and what it is about."""

    about: str
    warning: Warning


@dataclass(frozen=True)
class CurveRow:
    """A scaling curve, and where the laws of both servers have their peaks, in threads."""

    curve: CurveComparison
    peak: float | None
    base_peak: float | None


@dataclass(frozen=True)
class CellSet:
    """The cells of one workload on one dataset: a row of the matrix for each head, and one chart."""

    run: Run
    workload: str
    dataset: str

    @cached_property
    def cells(self) -> tuple[CellComparison, ...]:
        """All of them, bases too."""
        return tuple(
            c
            for c in self.run.comparison.cells
            if (c.cell.workload, c.cell.dataset) == (self.workload, self.dataset)
        )

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """From few to many."""
        return tuple(sorted({c.cell.threads for c in self.cells}))

    def at(self, server: str, threads: int) -> CellComparison | None:
        """The cell of one server; None where it is not in the run."""
        cell = Cell(workload=self.workload, dataset=self.dataset, server=server, threads=threads)
        return self.run.cells.get(cell)

    @property
    def chart(self) -> charts.Figure:
        """Throughput over threads."""
        return charts.throughput(self.cells, tuple(self.run.series.values()))


def _places(cells: Sequence[CellComparison]) -> str:
    """Cells by name, or counted where they are many."""
    if len(cells) > 3:
        return f"{len(cells)} cells"
    named = (f"{c.cell.workload}, {wording.threads(c.cell.threads)}, {c.cell.server}" for c in cells)
    return "; ".join(named)
