"""Charts of runs, of their cells and workloads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shootout import figures, numbers
from shootout._engine import Histogram
from shootout.chart import MARKERS, Axis, Band, Chart, Line, Point, Rule, Series, readouts
from shootout.document.packed import BINS_PER_DECADE
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.run import Samples, ServerRecord
from shootout.model.verdict import CellComparison, CellFigures, Interval

COLOURS = len(MARKERS)

T = TypeVar("T")


def looks(runs: Iterable[Sequence[ServerRecord]]) -> dict[str, int]:
    """Number all measured servers of a site; a number has a colour and a pattern. `runs`: the oldest first.

    A run numbers its new servers by family and version; later runs change no look. Servers of one run have
    different colours as far as these suffice, grey last.
    """
    found: dict[str, int] = {}
    for servers in runs:
        here = [server for server in servers if not server.absent]
        for server in sorted(here, key=lambda server: (server.family, version(server), server.label)):
            if server.label not in found:
                near = {found[other.label] % COLOURS for other in here if other.label in found}
                colours = {*range(1, COLOURS)} - near or {0} - near or range(COLOURS)
                free = (n for n in count(1) if n not in found.values() and n % COLOURS in colours)
                found[server.label] = next(free)
    return found


def version(server: ServerRecord) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", server.version)[:3]))


def throughput(cells: Sequence[CellComparison], series: Iterable[Series]) -> Chart | None:
    of_series = {one: points(cells, one.label, lambda figures: figures.tps) for one in series}
    return curves(of_series, Axis(title="transactions / s", from_zero=True))


def curves(
    of_series: Mapping[Series, Sequence[tuple[int, Interval]]], y: Axis, cpus: int | None = None
) -> Chart | None:
    """Intervals over threads, with the number of CPUs marked if it is given; None without points."""
    lines = [
        Line(
            one,
            tuple((threads, tps.estimate) for threads, tps in points),
            # A logarithmic axis cannot show values of zero or less.
            tuple((max(tps.low, tps.estimate / 10) if y.log else tps.low, tps.high) for _, tps in points),
        )
        for one, points in of_series.items()
    ]
    return _over_threads(lines, y, cpus)


def over_threads(
    cells: Sequence[CellComparison],
    series: Iterable[Series],
    figure: Callable[[CellFigures], float | None],
    *,
    log: bool = False,
) -> Chart | None:
    """One figure over threads, a line per server; None if no cell has it. Starts at zero unless `log`."""
    lines = [
        Line(one, tuple(point for point in points(cells, one.label, figure) if point[1] > 0 or not log))
        for one in series
    ]
    return _over_threads(lines, Axis(log=log, from_zero=not log))


def points(
    cells: Iterable[CellComparison], server: str, figure: Callable[[CellFigures], T | None]
) -> list[tuple[int, T]]:
    figures = {c.cell.threads: c.figures for c in cells if c.cell.server == server and c.figures}
    return [
        (threads, value) for threads in sorted(figures) if (value := figure(figures[threads])) is not None
    ]


def _over_threads(lines: Iterable[Line], y: Axis, cpus: int | None = None) -> Chart | None:
    shown = tuple(line for line in lines if line.points)
    counts = sorted({x for line in shown for x, _ in line.points})
    if not counts:
        return None
    edge = 10**0.12  # left and right of the points
    low, high = counts[0] / edge, counts[-1] * edge
    rules: tuple[Rule, ...] = ()
    if cpus is not None:
        low, high = min(low, cpus), max(high, cpus)
        rules = (Rule(cpus, "--ink-soft", label=figures.counted(cpus, "CPU")),)
    x = Axis(title="threads", log=True, ticks=_ticks(counts), ends=(low, high))
    texts = readouts(shown, lambda count: figures.threads(int(count)), numbers.number)
    return Chart(x, y, shown, rules, readouts=texts)


def _ticks(places: Iterable[float]) -> tuple[tuple[float, str], ...]:
    return tuple((place, f"{place:g}") for place in places)


def per_start(
    comparison: CellComparison, numbered: Sequence[int], policy: Policy, series: Series
) -> Chart | None:
    """Each start's change as a point, by its number; the interval over all starts as a band."""
    ratio = comparison.ratio
    if ratio is None:
        return None
    low, estimate, high = ((end - 1) * 100 for end in (ratio.low, ratio.estimate, ratio.high))
    margin = policy.margin_of(THROUGHPUT, comparison.cell.workload) * 100
    changes = [(start - 1) * 100 for start in comparison.per_start]
    line = Line(series, tuple(zip(map(float, numbered), changes, strict=True)), width=0)
    return Chart(
        Axis(title="start", ticks=_ticks(numbered), ends=(0.5, max(numbered, default=1) + 0.5)),
        Axis(title="change, %", ends=padded([low, high, margin, -margin, *changes])),
        (line,),
        rules=(
            Rule(estimate, series.color, vertical=False, width=2),
            Rule(0, "--ink-soft", vertical=False, width=1.25),
        ),
        bands=(Band(-margin, margin, "--ink/0.07"), Band(low, high, f"{series.color}/0.16")),
        readouts=readouts([line], lambda start: f"start {start:.0f}", _percent),
    )


def slices(samples: Sequence[tuple[Series, Sequence[tuple[int, Samples]]]]) -> Chart | None:
    """Throughput of every round in order of starts, one line per server."""
    rounds: defaultdict[int, int] = defaultdict(int)
    for _, starts in samples:
        for start, sample in starts:
            rounds[start] = max(rounds[start], len(sample.transactions))
    if not rounds:
        return None
    *edges, width = accumulate((rounds[start] + 1 for start in sorted(rounds)), initial=0)
    first = dict(zip(sorted(rounds), edges, strict=True))  # start → its first x
    lines = []
    for one, starts in samples:
        points: list[Point] = []
        for start, sample in starts:
            points += [(first[start] + number, tps) for number, tps in enumerate(throughputs(sample))]
            points.append((first[start] + rounds[start], None))
        lines.append(Line(one, tuple(points), marked=False, dashed=False, dots=5, width=1.25))
    names = {
        at + number: f"start {start}, round {number + 1}"
        for start, at in first.items()
        for number in range(rounds[start])
    }
    middles = tuple((at + (rounds[start] - 1) / 2, f"start {start}") for start, at in first.items())
    return Chart(
        Axis(title="rounds", ticks=middles, ends=(-1, width - 1)),
        Axis(title="transactions / s", from_zero=True),
        tuple(lines),
        rules=tuple(Rule(at - 1, "--line") for at in first.values() if at),
        readouts=readouts(lines, lambda x: names[int(x)], numbers.number),
    )


def latencies(histograms: Sequence[tuple[Series, Histogram]]) -> Chart | None:
    """Share of transactions by latency, in bins of equal logarithmic width, one line per server."""
    lines, bins = [], []
    for one, histogram in histograms:
        if histogram.count:
            edges_ms, shares = _distribution(histogram)
            outline = _pairs(edges_ms.repeat(2)[1:-1], shares.repeat(2))
            lines.append(Line(one, outline, marked=False, dashed=False, width=1.75, filled=True))
            bins.append(Line(one, _pairs(np.sqrt(edges_ms[:-1] * edges_ms[1:]), shares)))
    if not lines:
        return None
    return Chart(
        Axis(title="latency of a transaction, ms", log=True),
        Axis(title="transactions, %", from_zero=True),
        tuple(lines),
        readouts=readouts(
            bins,
            lambda ms: f"about {numbers.number(ms)}{numbers.SPACE}ms",
            lambda share: f"{numbers.number(share, 2)}{numbers.SPACE}%",
        ),
    )


@lru_cache(8)  # the page of each head draws the base's, too
def _distribution(histogram: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bin edges of equal logarithmic width, in ms, and the percentage of values in each bin."""
    middles_s, counts = np.fromiter(chain.from_iterable(histogram.buckets()), float).reshape(-1, 2).T
    bins = np.floor(np.log10(middles_s) * BINS_PER_DECADE).astype(int) - 1
    # Empty bins at both ends bring the outline down to zero.
    shares = 100 * np.bincount(bins - bins.min() + 1, counts, bins.max() - bins.min() + 3) / histogram.count
    edges = np.arange(bins.min(), bins.max() + 4)
    return 10 ** (edges / BINS_PER_DECADE) * 1000, shares


def _pairs(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Point, ...]:
    return tuple(zip(x.tolist(), y.tolist(), strict=True))


def throughputs(sample: Samples) -> tuple[float | None, ...]:
    rounds = zip(sample.transactions, sample.window_s, strict=True)
    return tuple(transactions / window_s if window_s else None for transactions, window_s in rounds)


def padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    padding = 0.08 * (high - low)
    return low - padding, high + padding


def _percent(change: float) -> str:
    return figures.percent(1 + change / 100)
