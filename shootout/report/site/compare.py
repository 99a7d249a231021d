"""The compare page: any two servers of a run, any two runs of a runner.

A page opened from file:// cannot fetch data but can load scripts, so each run's ratios are in a small script
that is loaded when the run is selected. The initial selection is plain HTML tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shootout.analysis import history
from shootout.model.plan import Cell
from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, Comparison, Interval, Verdict
from shootout.report import wording
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site.downloads import about
from shootout.report.site.names import run_folder
from shootout.report.site.page import Page
from shootout.report.site.run import Run

DATA = "ratios.js"  # in a run's folder
NAME_MAX = 300  # characters of a name in it
SERVER_COLUMNS = (
    "run", "workload", "dataset", "threads", "base", "server", "ratio", "ratio_low", "ratio_high", "verdict",
)  # fmt: skip

MIRRORED = {Verdict.REGRESSED: Verdict.IMPROVED, Verdict.IMPROVED: Verdict.REGRESSED}


@dataclass(frozen=True)
class Pair:
    """One server's cell compared with another's."""

    cell: Cell
    base: str  # server
    ratio: Interval | None
    verdict: Verdict
    tps: Interval | None
    base_tps: Interval | None


@dataclass(frozen=True)
class Step:
    """A cell's ratio to the anchor in two runs."""

    cell: Cell
    anchor: str
    then: Interval
    now: Interval

    @property
    def change(self) -> Interval:
        """The newer ratio over the older one."""
        return history.between(self.then, self.now)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes a change of zero."""
        return self.change.low > 1 or self.change.high < 1


@dataclass(frozen=True)
class ComparePage(Page):
    """The selectable runs and servers, and the initial selection."""

    runs: tuple[JudgedRun, ...]  # newest first
    detailed: frozenset[str]  # runs in which any two servers can be compared
    others: tuple[CellComparison, ...]  # the newest run's pairs of non-base servers
    template = "compare"
    columns = SERVER_COLUMNS

    @property
    def path(self) -> str:
        """In the site's root."""
        return "compare.html"

    @property
    def run(self) -> Run:
        """The newest run, without its samples."""
        return Run.summary(self.newest)

    @property
    def newest(self) -> JudgedRun:
        """The run selected initially."""
        return self.runs[0]

    @property
    def servers(self) -> tuple[str, str] | None:
        """The first base and head of the newest run."""
        both = ((c.base.server, c.cell.server) for c in self.newest.comparison.cells if c.cell != c.base)
        return next(both, None)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The cells of both."""
        return () if self.servers is None else tuple(_pairs(self.newest, self.others, *self.servers))

    @property
    def before(self) -> JudgedRun | None:
        """The run initially compared with the newest: the last comparable one on the same runner."""
        newest = self.newest
        earlier = (run for run in self.runs[1:] if not set(run.runners).isdisjoint(newest.runners))
        return next((run for run in earlier if next(_steps(run, newest), None)), None)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The cells that both runs measured."""
        return () if self.before is None else tuple(_steps(self.before, self.newest))

    @property
    def choice(self) -> list[dict[str, Any]]:
        """Every run, and the path of its script from the site's root."""
        return [
            {
                "run": run.id,
                "name": f"{wording.moment(header.started)}, {_name(header.profile_name)}",
                "runners": run.runners,
                "script": f"{run_folder(run.id)}/{DATA}",
                "servers": run.id in self.detailed,
            }
            for run in self.runs
            for header in [run.comparison.header]
        ]

    @property
    def value(self) -> object:
        """The same pairs as in the CSV."""
        return {**about(self.newest.comparison.header), "pairs": self.rows}

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """One line per pair of servers in each block of the newest run."""
        newest = self.newest.comparison
        return [
            (
                newest.header.run, c.cell.workload, c.cell.dataset, c.cell.threads, c.base.server,
                c.cell.server,
                *((c.ratio.estimate, c.ratio.low, c.ratio.high) if c.ratio else (None,) * 3), c.verdict.value,
            )
            for c in (*newest.cells, *self.others)
            if c.cell != c.base
        ]  # fmt: skip


def script(run: Comparison, others: Sequence[CellComparison]) -> str:
    """A run's ratios as a JavaScript call; names are indexes into a list."""
    names: dict[str, int] = {}

    def number(name: str) -> int:
        return names.setdefault(_name(name), len(names))

    header = run.header
    value = {
        "run": header.run,
        "cells": [_line(header, c, number) for c in run.cells if c.cell != c.base],
        "others": [_line(header, c, number) for c in others],
        "tps": [
            [*_place(c.cell, number), _round(c.figures.tps.estimate)]
            for c in run.cells
            if c.figures is not None
        ],
    }
    value["names"] = list(names)
    # Markup is harmless in a script file, but not if somebody pastes the script into a page.
    text = msgspec.json.encode(value).decode().replace("<", "\\u003c")
    return f"shootout.loaded({text});\n"


def _line(header: RunHeader, c: CellComparison, number: Callable[[str], int]) -> list[object]:
    """Workload, dataset, threads, server, base, runner, verdict, and, if known, ratio, low and high."""
    ratio = [_round(each) for each in (c.ratio.estimate, c.ratio.low, c.ratio.high)] if c.ratio else []
    runner = header.part(c.cell).runner.fingerprint
    return [*_place(c.cell, number), number(c.base.server), number(runner), c.verdict.value, *ratio]


def _place(cell: Cell, number: Callable[[str], int]) -> tuple[int, int, int, int]:
    return number(cell.workload), number(cell.dataset), cell.threads, number(cell.server)


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _name(text: str) -> str:
    visible = wording.visible(text[:NAME_MAX])
    return f"{visible}…" if len(text) > NAME_MAX else visible


def _pairs(run: JudgedRun, others: Iterable[CellComparison], base: str, head: str) -> Iterator[Pair]:
    """Cells of `head` compared with `base` in the run's order, mirrored if judged the other way round."""
    tps = {c.cell: c.figures.tps for c in run.comparison.cells if c.figures}
    for c in (*run.comparison.cells, *others):
        if (c.base.server, c.cell.server) == (base, head):
            ratio, verdict = c.ratio, c.verdict
        elif (c.base.server, c.cell.server) == (head, base):
            ratio, verdict = mirrored(c)
        else:
            continue
        ours = msgspec.structs.replace(c.cell, server=head)
        theirs = msgspec.structs.replace(c.cell, server=base)
        yield Pair(ours, base, ratio, verdict, tps.get(ours), tps.get(theirs))


def mirrored(c: CellComparison) -> tuple[Interval | None, Verdict]:
    """The same comparison with base and head exchanged."""
    ratio = c.ratio and Interval(estimate=1 / c.ratio.estimate, low=1 / c.ratio.high, high=1 / c.ratio.low)
    return ratio, MIRRORED.get(c.verdict, c.verdict)


def _steps(then: JudgedRun, now: JudgedRun) -> Iterator[Step]:
    """Cells that both runs measured against the same anchor on the same runner."""

    def key(run: JudgedRun, c: CellComparison) -> tuple[Cell, Cell, str]:
        return c.cell, c.base, run.comparison.header.part(c.cell).runner.fingerprint

    before = {key(then, c): c.ratio for c in then.comparison.cells if c.ratio}
    for c in now.comparison.cells:
        ratio = before.get(key(now, c))
        if c.ratio is not None and ratio is not None:
            yield Step(cell=c.cell, anchor=c.base.server, then=ratio, now=c.ratio)
