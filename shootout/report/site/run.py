"""A run as templates see it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

from msgspec import structs

from shootout.analysis import history
from shootout.chart import Chart, Series
from shootout.model.history import ChangePoint
from shootout.model.plan import THROUGHPUT, Cell, Dataset, block_key
from shootout.model.run import FailureRecord, RunDocument, Runner, Samples, ServerRecord, Warning
from shootout.model.value import DatasetKind
from shootout.model.verdict import CellComparison, Comparison, Interval, Verdict
from shootout.report import headlines, wording
from shootout.report.judged_runs import JudgedRun
from shootout.report.sections import Section
from shootout.report.site import charts, names
from shootout.report.site.settings import SettingRow, grouped
from shootout.report.site.standing import Standing
from shootout.report.site.svg import Span, ratio_axis

MACHINE = "the machine"


@dataclass(frozen=True)
class Run:
    document: RunDocument
    comparison: Comparison
    changes: Mapping[Cell, ChangePoint] = field(default_factory=dict)  # the latest up to this run
    sections: Mapping[Cell, tuple[Section, ...]] = field(default_factory=dict)  # by capabilities
    history_pages: Container[str] = ()  # paths of those that the site has
    reader: Comparison | None = None  # with the server that its readers know, if that is not the base
    looks: Mapping[str, int] = field(default_factory=dict)  # the site's, by server; empty: its own
    archived: bool = False  # it has one page, without those of its cells

    @classmethod
    def summary(cls, judged: JudgedRun) -> Run:
        header, end = judged.comparison.header, judged.comparison.end
        document = RunDocument(header=header, starts=(), failures=(), end=end)
        return cls(document, judged.comparison, archived=True)

    @property
    def id(self) -> str:
        return self.document.header.run

    @cached_property
    def folder(self) -> str:
        return names.run_folder(self.id)

    @cached_property
    def headline(self) -> headlines.Headline:
        return headlines.overall(self.comparison)

    @cached_property
    def standing(self) -> Standing | None:
        """How several heads stand beside the server that readers know; None with fewer."""
        if len(self.available_heads) < 2:
            return None
        comparison = self.reader or self.comparison
        (base, _), *_ = Counter(c.base.server for c in comparison.cells if c.cell != c.base).most_common(1)
        return Standing(comparison, base, self.series)

    @property
    def complete(self) -> bool:
        end = self.document.end
        return end is not None and not end.interrupted

    @cached_property
    def heads(self) -> tuple[str, ...]:
        return wording.heads(self.comparison)

    @property
    def available_heads(self) -> tuple[str, ...]:
        return tuple(label for label in self.series if label in self.heads)

    @cached_property
    def judged(self) -> tuple[CellComparison, ...]:
        return wording.worst_first([*filter(wording.needs_verdict, self.comparison.cells)])

    @property
    def measured(self) -> int:
        return len(wording.measured(self.judged))

    def has_page(self, c: CellComparison) -> bool:
        """Whether a cell has a page: one with a verdict; among many servers only if it likely changed."""
        if self.archived:
            return False
        if len(self.heads) > 1 and c.verdict in (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE):
            return bool(c.leaning or self.sections.get(c.cell))
        return c.verdict is not Verdict.UNJUDGED or not self.heads

    @property
    def decided_by_others(self) -> bool:
        """Whether a metric other than throughput decided any cell's verdict."""
        return any(c.judged and c.judged[0].metric != THROUGHPUT for c in self.judged)

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        return tally(self.judged)

    @cached_property
    def open_regressions(self) -> int:
        return sum(c.verdict is Verdict.REGRESSED and c.acknowledged is None for c in self.judged)

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({c.cell.threads for c in self.comparison.cells}))

    @cached_property
    def series(self) -> dict[str, Series]:
        """The look of each server that is here, by label, a base first."""
        heads_of = Counter(c.base.server for c in self.judged)
        looks = self.looks or charts.looks([self.available])
        labels = sorted((server.label for server in self.available), key=lambda label: -heads_of[label])
        return {label: Series(label, looks[label]) for label in labels}

    @cached_property
    def servers(self) -> dict[str, ServerRecord]:
        return {server.label: server for server in self.document.header.servers}

    @cached_property
    def scale(self) -> Span:
        """A common axis for the intervals of all cells."""
        ratios = [decisive[1] for c in self.judged if (decisive := wording.decisive(c))]
        policy = self.comparison.policy
        margins = (wording.margin(c, policy) for c in self.judged)
        return ratio_axis(ratios, max(margins, default=policy.margin))

    @property
    def margins(self) -> str:
        return wording.margins(self.judged, self.comparison.policy)

    @cached_property
    def cells(self) -> dict[Cell, CellComparison]:
        return {c.cell: c for c in self.comparison.cells}

    @cached_property
    def sets(self) -> tuple[CellSet, ...]:
        keys: defaultdict[tuple[str, str], list[CellComparison]] = defaultdict(list)
        for c in self.comparison.cells:
            keys[c.cell.workload, c.cell.dataset].append(c)
        datasets = Counter(workload for workload, _ in keys)
        return tuple(
            CellSet(self, workload, dataset, tuple(cells), alone=datasets[workload] == 1)
            for (workload, dataset), cells in keys.items()
        )

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """The machines that measured it: one, unless the run was merged from shards."""
        header = self.document.header
        cells: dict[str, list[Cell]] = {runner.fingerprint: [] for runner in header.runners}
        for c in self.comparison.cells:
            if (runner := header.runner_of(c.cell)) is not None:
                cells[runner.fingerprint].append(c.cell)
        return tuple(Machine(runner, tuple(cells[runner.fingerprint])) for runner in header.runners)

    def history(self, c: CellComparison) -> str | None:
        """The path of the history page that the cell adds to, from the site's root; None if to none."""
        if c.ratio is None or c.figures is None:
            return None
        page = names.history_page(history.key_of(self.document.header, c))
        return page if page in self.history_pages else None

    def histories(self, cells: Iterable[CellComparison]) -> dict[str, str]:
        """The history pages that these cells add to, by the runner's fingerprint."""
        pages = ((self.document.header.runner_of(c.cell), self.history(c)) for c in cells)
        return {runner.fingerprint: page for runner, page in pages if runner and page}

    def set_named(self, workload: str, dataset: str) -> CellSet:
        return next(s for s in self.sets if (s.workload, s.dataset) == (workload, dataset))

    @cached_property
    def datasets(self) -> tuple[Dataset, ...]:
        header = self.document.header
        ran_on = {block.dataset for block in header.blocks}
        dumped = any(key.startswith("dump-") for key in ran_on)
        datasets = (header.profile.dataset.of_kind(kind) for kind in get_args(DatasetKind))
        return tuple(data for data in datasets if data.key in ran_on or (data.kind == "dump" and dumped))

    @cached_property
    def settings(self) -> tuple[tuple[str, tuple[SettingRow, ...]], ...]:
        return grouped(self.available)

    @cached_property
    def available(self) -> tuple[ServerRecord, ...]:
        """The servers whose settings are known: all but optional ones that are not here."""
        return tuple(server for server in self.document.header.servers if not server.absent)

    @cached_property
    def shared_warnings(self) -> tuple[WarningEntry, ...]:
        header = self.document.header
        return (
            *(WarningEntry(MACHINE, warning) for warning in header.runner.warnings),
            *(
                WarningEntry(server.label, warning)
                for server in header.servers
                for warning in server.warnings
            ),
        )

    def own_warnings(self, cells: Iterable[CellComparison]) -> dict[str, list[WarningEntry]]:
        """Each of these cells' warnings once, by code, less those that they repeat of their servers."""
        repeated = {f"{entry.about}: {entry.warning.text}" for entry in self.shared_warnings}
        places: defaultdict[Warning, list[Cell]] = defaultdict(list)
        for c in cells:
            for warning in c.warnings:
                if warning.text not in repeated:
                    places[warning].append(c.cell)
        by_code: defaultdict[str, list[WarningEntry]] = defaultdict(list)
        for warning, those in places.items():
            by_code[warning.code].append(WarningEntry(_places(those), warning, tuple(those)))
        return by_code

    def warning_summary(self, cells: Iterable[CellComparison]) -> tuple[WarningEntry, ...]:
        """One of these cells' own warnings for each code, with the number of cells that have it."""
        return tuple(
            WarningEntry(
                _places([*dict.fromkeys(cell for entry in entries for cell in entry.cells)])
                + (", for instance" if len(entries) > 1 else ""),
                entries[0].warning,
            )
            for entries in self.own_warnings(cells).values()
        )

    @cached_property
    def _samples(self) -> dict[tuple[str, str], list[tuple[int, Samples]]]:
        by_block: defaultdict[tuple[str, str], list[tuple[int, Samples]]] = defaultdict(list)
        for record in self.document.starts:
            for samples in record.samples:
                by_block[record.block, samples.server].append((record.start, samples))
        return by_block

    def samples(self, cell: Cell) -> tuple[tuple[int, Samples], ...]:
        return tuple(self._samples.get((block_key(cell.workload, cell.threads), cell.server), ()))

    def failures(self, cell: Cell) -> tuple[FailureRecord, ...]:
        return tuple(failure for failure in self.document.failures if failure.cell == cell)


@dataclass(frozen=True)
class Machine:
    """A machine and its part of a run: all of it, unless several machines measured shards."""

    runner: Runner  # as recorded in the run
    cells: tuple[Cell, ...]

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))


@dataclass(frozen=True)
class WarningEntry:
    about: str
    warning: Warning
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class CellSet:
    run: Run
    workload: str
    dataset: str
    cells: tuple[CellComparison, ...]  # including bases
    alone: bool  # whether the workload has no other dataset

    @property
    def page(self) -> str:
        return names.workload_page(self.workload, "" if self.alone else self.dataset)

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({c.cell.threads for c in self.cells}))

    @cached_property
    def servers(self) -> tuple[str, ...]:
        here = {c.cell.server for c in self.cells}
        return tuple(label for label in self.run.series if label in here)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        compared = {c.cell.server for c in self.cells if c.cell != c.base}
        return tuple(label for label in self.servers if label in compared.intersection(self.run.heads))

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        return tally(filter(wording.needs_verdict, self.cells))

    def at(self, server: str, threads: int) -> CellComparison | None:
        cell = Cell(workload=self.workload, dataset=self.dataset, server=server, threads=threads)
        return self.run.cells.get(cell)

    @property
    def chart(self) -> Chart | None:
        return charts.throughput(self.with_change_intervals, self.run.series.values())

    @property
    def with_change_intervals(self) -> tuple[CellComparison, ...]:
        """Its cells, with the intervals of the change against the base in place of the throughput's.

        Drift moves all servers together: the ratio is far more certain than either. Bases have no interval.
        """
        return tuple(map(_with_change_interval, self.cells)) if self.heads else self.cells


def _with_change_interval(c: CellComparison) -> CellComparison:
    if c.figures is None or (c.ratio is None and c.cell != c.base):
        return c
    tps = c.figures.tps.estimate
    low, high = (c.ratio.low / c.ratio.estimate, c.ratio.high / c.ratio.estimate) if c.ratio else (1.0, 1.0)
    interval = Interval(estimate=tps, low=tps * low, high=tps * high)
    return structs.replace(c, figures=structs.replace(c.figures, tps=interval))


def tally(cells: Iterable[CellComparison]) -> dict[Verdict, int]:
    """The number of cells by verdict, worst first, including zeros."""
    counts = Counter(c.verdict for c in cells)
    return {verdict: counts[verdict] for verdict in wording.WORST_FIRST}


def _places(cells: Sequence[Cell]) -> str:
    return f"{len(cells)} cells" if len(cells) > 3 else "; ".join(map(names.cell_text, cells))
