"""What the templates see of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

from msgspec import structs

from shootout.model.history import ChangePoint
from shootout.model.plan import THROUGHPUT, Block, Cell, Dataset
from shootout.model.run import FailureRecord, RunDocument, Runner, Samples, ServerRecord, Warning
from shootout.model.value import DatasetKind
from shootout.model.verdict import CellComparison, Comparison, Interval, ScalingLaw, Verdict
from shootout.report import wording
from shootout.report.site import charts, names
from shootout.report.site.charts import RatioAxis, Series
from shootout.report.site.settings import SettingRow, grouped

MACHINE = "the machine"
LAWS_MAX = 4  # servers, in a chart with their scaling laws


@dataclass(frozen=True)
class Run:
    """A run's document and its comparison, joined for reading."""

    document: RunDocument
    comparison: Comparison
    changes: Mapping[Cell, ChangePoint] = field(default_factory=dict)  # what history knew of its cells then

    @property
    def id(self) -> str:
        """Unique, sorts by time."""
        return self.document.header.run

    @cached_property
    def folder(self) -> str:
        """Where its pages lie in the site."""
        return names.run_folder(self.id)

    def once(self, about: Hashable, made: Callable[[], str]) -> str:
        """What many of its pages have in common is made for the first of them; `about`: all that it shows."""
        if about not in self._common:
            self._common[about] = made()
        return self._common[about]

    @cached_property
    def _common(self) -> dict[Hashable, str]:
        return {}

    @cached_property
    def headline(self) -> wording.Headline:
        """What it says of all heads together."""
        return wording.overall(self.comparison)

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

    @property
    def decided_otherwise(self) -> bool:
        """Whether another metric than throughput decided any of its cells."""
        found = map(wording.decisive, self.judged)
        return any(each is not None and each[0] != THROUGHPUT for each in found)

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        """How many cells have each verdict, the worst first; all of them, also where there are none."""
        return tally(self.judged)

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """From few to many."""
        return tuple(sorted({c.cell.threads for c in self.comparison.cells}))

    @cached_property
    def series(self) -> dict[str, Series]:
        """How each server looks in charts, the base first."""
        held_against = Counter(c.base.server for c in self.judged)
        servers = sorted(self.document.header.servers, key=lambda server: -held_against[server.label])
        return charts.looks(servers)

    @cached_property
    def servers(self) -> dict[str, ServerRecord]:
        """By label."""
        return {server.label: server for server in self.document.header.servers}

    @cached_property
    def scale(self) -> RatioAxis:
        """One axis for the intervals of all cells."""
        found = [decisive[1] for c in self.judged if (decisive := wording.decisive(c))]
        return RatioAxis.over(found, self.comparison.policy.margin)

    @cached_property
    def cells(self) -> dict[Cell, CellComparison]:
        """By cell."""
        return {c.cell: c for c in self.comparison.cells}

    @cached_property
    def sets(self) -> tuple[CellSet, ...]:
        """Workload by workload (and dataset, where there are several)."""
        keys: dict[tuple[str, str], list[CellComparison]] = {}
        for c in self.comparison.cells:
            keys.setdefault((c.cell.workload, c.cell.dataset), []).append(c)
        several = Counter(workload for workload, _ in keys)
        return tuple(
            CellSet(
                run=self,
                workload=workload,
                dataset=dataset,
                cells=tuple(cells),
                alone=several[workload] == 1,
            )
            for (workload, dataset), cells in keys.items()
        )

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Those that measured it: one, unless it is merged from shards."""
        header = self.document.header
        blocks: dict[str, list[Block]] = {runner.fingerprint: [] for runner in header.runners}
        for block in header.blocks:
            part = header.part(block.cells[0])
            if part is not header or not header.parts:  # of a merged run a block may be missing
                blocks[part.runner.fingerprint].append(block)
        return tuple(
            Machine(
                runner=runner,
                cells=sum(len(block.cells) for block in blocks[runner.fingerprint]),
                workloads=tuple(dict.fromkeys(block.workload for block in blocks[runner.fingerprint])),
            )
            for runner in header.runners
        )

    def history(self, c: CellComparison) -> str | None:
        """The page of its workload's history, from the site's top; None where the cell adds nothing to it."""
        if c.ratio is None or c.figures is None:
            return None
        runner = self.document.header.part(c.cell).runner
        return names.history_page(runner.fingerprint, c.cell.workload, c.cell.dataset)

    def histories(self, cells: Iterable[CellComparison]) -> dict[str, str]:
        """The history pages that these cells add to, by the fingerprint of the machine."""
        part = self.document.header.part
        found = ((part(c.cell).runner.fingerprint, self.history(c)) for c in cells)
        return {runner: page for runner, page in found if page is not None}

    def set_of(self, cell: Cell) -> CellSet:
        """The cells that share the cell's workload and dataset."""
        return next(s for s in self.sets if (s.workload, s.dataset) == (cell.workload, cell.dataset))

    @cached_property
    def datasets(self) -> tuple[Dataset, ...]:
        """Those that the blocks ran on."""
        header = self.document.header
        ran_on = {block.dataset for block in header.blocks}
        known = (header.profile.dataset.of(kind) for kind in get_args(DatasetKind))
        return tuple(dataset for dataset in known if dataset.key in ran_on)

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
        return (*self.common_doubts, *self.doubts_of(self.comparison.cells))

    @cached_property
    def common_doubts(self) -> tuple[Doubt, ...]:
        """Those of the machine and the servers."""
        header = self.document.header
        return (
            *(Doubt(about=MACHINE, warning=warning) for warning in header.runner.warnings),
            *(Doubt(about=s.label, warning=warning) for s in header.servers for warning in s.warnings),
        )

    def doubts_of(self, cells: Iterable[CellComparison]) -> tuple[Doubt, ...]:
        """The warnings of these cells, each once, without what is said of their servers."""
        found: dict[Warning, list[CellComparison]] = {}
        for c in cells:
            for warning in c.warnings:
                if warning not in self.told_of_servers:
                    found.setdefault(warning, []).append(c)
        return tuple(Doubt(about=_places(places), warning=warning) for warning, places in found.items())

    @cached_property
    def summed_doubts(self) -> tuple[Doubt, ...]:
        """All of them for a first look: those of cells summed."""
        return (*self.common_doubts, *self.summed_doubts_of(self.comparison.cells))

    def summed_doubts_of(self, cells: Iterable[CellComparison]) -> tuple[Doubt, ...]:
        """Of each kind of warning of these cells one, and how many of them have it."""
        kinds: dict[str, list[CellComparison]] = {}
        for c in cells:
            for code in dict.fromkeys(w.code for w in c.warnings if w not in self.told_of_servers):
                kinds.setdefault(code, []).append(c)
        found = []
        for code, having in kinds.items():
            said = [w for c in having for w in c.warnings if w.code == code and w not in self.told_of_servers]
            example = ", for instance" if len(set(said)) > 1 else ""
            found.append(Doubt(about=f"{_places(having)}{example}", warning=said[0]))
        return tuple(found)

    @cached_property
    def _blocks(self) -> dict[Cell, Block]:
        return {cell: block for block in self.document.header.blocks for cell in block.cells}

    def block(self, cell: Cell) -> Block:
        """The block that the cell was measured in."""
        return self._blocks[cell]

    @cached_property
    def _samples(self) -> dict[tuple[str, str], list[tuple[int, Samples]]]:
        found: dict[tuple[str, str], list[tuple[int, Samples]]] = {}
        for record in self.document.starts:
            for samples in record.samples:
                found.setdefault((record.block, samples.server), []).append((record.start, samples))
        return found

    def samples(self, cell: Cell) -> tuple[tuple[int, Samples], ...]:
        """What was measured, start by start."""
        return tuple(self._samples.get((self.block(cell).key, cell.server), ()))

    def failures(self, cell: Cell) -> tuple[FailureRecord, ...]:
        """Why it could not be measured (any further)."""
        return tuple(failure for failure in self.document.failures if failure.cell == cell)


@dataclass(frozen=True)
class Machine:
    """A machine and its part of a run."""

    runner: Runner
    cells: int
    workloads: tuple[str, ...]


@dataclass(frozen=True)
class Doubt:
    """A warning and what it is about."""

    about: str
    warning: Warning


@dataclass(frozen=True)
class CellSet:
    """The cells of one workload on one dataset: what a workload's page is about."""

    run: Run
    workload: str
    dataset: str
    cells: tuple[CellComparison, ...]  # bases too
    alone: bool  # the workload's only dataset

    @property
    def page(self) -> str:
        """Its file in the run's folder."""
        return names.workload_page(self.workload, "" if self.alone else self.dataset)

    @property
    def picture(self) -> str:
        """The file beside it that has its main chart alone."""
        return f"{self.page.removesuffix('.html')}.svg"

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """From few to many."""
        return tuple(sorted({c.cell.threads for c in self.cells}))

    @cached_property
    def servers(self) -> tuple[str, ...]:
        """Those that have cells here, in the order of charts."""
        here = {c.cell.server for c in self.cells}
        return tuple(label for label in self.run.series if label in here)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """Those that are held against a base here."""
        compared = {c.cell.server for c in self.cells if c.cell != c.base}
        return tuple(label for label in self.servers if label in compared)

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        """How many of its cells have each verdict."""
        return tally(c for c in self.cells if c.cell != c.base or c.verdict is not Verdict.UNJUDGED)

    def at(self, server: str, threads: int) -> CellComparison | None:
        """The cell of one server; None where it is not in the run."""
        cell = Cell(workload=self.workload, dataset=self.dataset, server=server, threads=threads)
        return self.run.cells.get(cell)

    @cached_property
    def laws(self) -> dict[str, ScalingLaw]:
        """The scaling laws that its servers follow, where they have one."""
        here = (self.workload, self.dataset)
        found = self.run.comparison.laws
        return {law.server: law for law in found if (law.workload, law.dataset) == here}

    @property
    def chart(self) -> charts.Figure:
        """Throughput over threads, with the scaling laws of few servers."""
        laws = self.laws if self.laws_shown else {}
        return charts.throughput(self.beside_base, tuple(self.run.series.values()), laws)

    @property
    def beside_base(self) -> tuple[CellComparison, ...]:
        """Its cells, each throughput with the interval of its change against the base, which has none then.

        The machine's mood moves all lines of a start up and down together: of two throughputs that were
        measured in turns the ratio is known far better than either, and it is what verdicts are about.
        """
        return tuple(map(_beside_base, self.cells)) if self.heads else self.cells

    @property
    def laws_shown(self) -> bool:
        """Whether the chart has room for them."""
        return bool(self.laws) and len(self.servers) <= LAWS_MAX

    @property
    def thumbnail(self) -> charts.Figure | None:
        """Throughput over threads, in small."""
        series = tuple(self.run.series.values())
        return charts.over_threads(
            self.cells, series, lambda c: c.figures.tps.estimate if c.figures else None
        )


def _beside_base(c: CellComparison) -> CellComparison:
    if c.figures is None or (c.ratio is None and c.cell != c.base):
        return c
    tps = c.figures.tps.estimate
    low, high = (c.ratio.low / c.ratio.estimate, c.ratio.high / c.ratio.estimate) if c.ratio else (1.0, 1.0)
    interval = Interval(estimate=tps, low=tps * low, high=tps * high)
    return structs.replace(c, figures=structs.replace(c.figures, tps=interval))


def tally(cells: Iterable[CellComparison]) -> dict[Verdict, int]:
    """How many cells have each verdict, the worst first; all of them, also where there are none."""
    counts = Counter(c.verdict for c in cells)
    return {verdict: counts[verdict] for verdict in wording.WORST_FIRST}


def _places(cells: Sequence[CellComparison]) -> str:
    """Cells by name, or counted where they are many."""
    if len(cells) > 3:
        return f"{len(cells)} cells"
    named = (f"{c.cell.workload}, {wording.threads(c.cell.threads)}, {c.cell.server}" for c in cells)
    return "; ".join(named)
