"""What the compare page shows: any two servers of a run, any two runs of a runner.

A page from file:// may not fetch anything, but it may load scripts: what can be chosen from lies in one small
script beside each run, loaded when it is asked for. The first choice is a table without any script.
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
from shootout.report.judgement_cache import Judged
from shootout.report.site.names import run_folder

DATA = "ratios.js"  # in a run's folder
NAME_MAX = 300  # characters of a name in it
SERVER_COLUMNS = (
    "run", "workload", "dataset", "threads", "base", "server", "ratio", "ratio_low", "ratio_high", "verdict",
)  # fmt: skip

MIRRORED = {Verdict.REGRESSED: Verdict.IMPROVED, Verdict.IMPROVED: Verdict.REGRESSED}


@dataclass(frozen=True)
class Pair:
    """A cell of one server beside another's."""

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
        """From the one to the other."""
        return history.between(self.then, self.now)

    @property
    def beyond(self) -> bool:
        """Whether the interval leaves out no change at all."""
        return self.change.low > 1 or self.change.high < 1


@dataclass(frozen=True)
class ComparePage:
    """The choice there is, and the first of it."""

    runs: tuple[Judged, ...]  # the newest first
    whole: frozenset[str]  # of which every two servers can be compared
    others: tuple[CellComparison, ...]  # of the newest run

    @property
    def newest(self) -> Judged:
        """The run whose servers are shown first."""
        return self.runs[0]

    @property
    def servers(self) -> tuple[str, str] | None:
        """The first two that were compared."""
        both = ((c.base.server, c.cell.server) for c in self.newest.gist.cells if c.cell != c.base)
        return next(both, None)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The cells of these two."""
        return () if self.servers is None else tuple(_pairs(self.newest, self.others, *self.servers))

    @property
    def before(self) -> Judged | None:
        """The run that the newest is compared with first: the one before on the same runner, if it can be."""
        newest = self.newest
        earlier = (run for run in self.runs[1:] if not set(run.runners).isdisjoint(newest.runners))
        return next((run for run in earlier if next(_steps(run, newest), None)), None)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The cells that both have."""
        return () if self.before is None else tuple(_steps(self.before, self.newest))

    @property
    def choice(self) -> list[dict[str, Any]]:
        """What can be chosen: every run, and where its script is from the site's top."""
        return [
            {
                "run": run.id,
                "name": f"{wording.moment(run.outline.started)}, {_name(run.outline.profile_name)}",
                "runners": run.runners,
                "script": f"{run_folder(run.id)}/{DATA}",
                "servers": run.id in self.whole,
            }
            for run in self.runs
        ]

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """Every two servers of the newest run, as lines of SERVER_COLUMNS."""
        gist = self.newest.gist
        return [
            (
                gist.header.run, c.cell.workload, c.cell.dataset, c.cell.threads, c.base.server,
                c.cell.server,
                *((c.ratio.estimate, c.ratio.low, c.ratio.high) if c.ratio else (None,) * 3), c.verdict.value,
            )
            for c in (*gist.cells, *self.others)
            if c.cell != c.base
        ]  # fmt: skip


def script(run: Comparison, others: Sequence[CellComparison]) -> str:
    """A run for the compare page: a call that hands over its ratios. Names are numbers into a list."""
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
    # A script file is no place for markup; yet whoever pastes it into a page shall not be surprised.
    text = msgspec.json.encode(value).decode().replace("<", "\\u003c")
    return f"shootout.loaded({text});\n"


def _line(header: RunHeader, c: CellComparison, number: Callable[[str], int]) -> list[object]:
    """Workload, dataset, threads, server, base, runner, verdict; ratio, low and high where there are."""
    ratio = [_round(each) for each in (c.ratio.estimate, c.ratio.low, c.ratio.high)] if c.ratio else []
    runner = header.part(c.cell).runner.fingerprint
    return [*_place(c.cell, number), number(c.base.server), number(runner), c.verdict.value, *ratio]


def _place(cell: Cell, number: Callable[[str], int]) -> tuple[int, int, int, int]:
    return number(cell.workload), number(cell.dataset), cell.threads, number(cell.server)


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _name(text: str) -> str:
    shown = wording.visible(text[:NAME_MAX])
    return f"{shown}…" if len(text) > NAME_MAX else shown


def _pairs(run: Judged, others: Iterable[CellComparison], base: str, head: str) -> Iterator[Pair]:
    """Cells of `head` beside `base`'s, in the run's order; mirrored where they were judged the other way."""
    tps = {c.cell: c.figures.tps for c in run.gist.cells if c.figures}
    for c in (*run.gist.cells, *others):
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


def _steps(then: Judged, now: Judged) -> Iterator[Step]:
    """Cells that were measured beside the same anchor and on the same runner in both runs."""

    def key(run: Judged, c: CellComparison) -> tuple[Cell, Cell, str]:
        return c.cell, c.base, run.gist.header.part(c.cell).runner.fingerprint

    before = {key(then, c): c.ratio for c in then.gist.cells if c.ratio}
    for c in now.gist.cells:
        ratio = before.get(key(now, c))
        if c.ratio is not None and ratio is not None:
            yield Step(cell=c.cell, anchor=c.base.server, then=ratio, now=c.ratio)
