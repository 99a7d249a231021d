"""Charts of runs, of their cells and workloads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import TypeVar, get_args

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from shootout import figures, numbers
from shootout._engine import Histogram
from shootout.chart import MARKERS, Axis, Band, Chart, Line, Point, Rule, Series, readouts
from shootout.document.packed import BINS_PER_DECADE
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.run import Samples, ServerRecord
from shootout.model.value import Family
from shootout.model.verdict import CellComparison, CellFigures, Interval

SHADES = 6  # of a family's hue

T = TypeVar("T")


def series_of(servers: Sequence[ServerRecord]) -> dict[str, Series]:
    """Each server's series by label, the base first.

    With more servers than colours, each family has a hue; its servers are shades of it in the given order.
    """
    families = get_args(Family) if len(servers) > len(MARKERS) else ()
    shades: dict[str, str] = {}
    for family in families:
        members = [server.label for server in servers if server.family == family]
        for place, label in enumerate(members):
            shades[label] = f"--{family}-{1 + int((place + 0.5) * SHADES / len(members))}"
    return {
        server.label: Series(server.label, number, shades.get(server.label, ""))
        for number, server in enumerate(servers)
    }


# --- over threads ---------------------------------------------------------------------------------


def throughput(cells: Sequence[CellComparison], series: Sequence[Series]) -> Chart:
    """Throughput over threads: a line per server, with its interval as a band."""
    counts = sorted({c.cell.threads for c in cells})
    lines = [
        _with_intervals(one, tps)
        for one in series
        if (tps := points(cells, one.label, lambda figures: figures.tps))
    ]
    return _over_threads(lines, counts, Axis(title="transactions / s", from_zero=True))


def over_threads(
    cells: Sequence[CellComparison],
    series: Sequence[Series],
    figure: Callable[[CellFigures], float | None],
    *,
    log: bool = False,
) -> Chart | None:
    """One figure over threads, a line per server; None if no cell has it. Starts at zero unless `log`."""
    lines = []
    for one in series:
        shown = tuple(point for point in points(cells, one.label, figure) if point[1] > 0 or not log)
        if shown:
            lines.append(Line(one, shown))
    counts = sorted({c.cell.threads for c in cells})
    return _over_threads(lines, counts, Axis(log=log, from_zero=not log)) if lines else None


def throughput_and_cpus(
    of_series: Mapping[Series, Sequence[tuple[int, Interval]]], cpus: int | None
) -> Chart | None:
    """Throughput over threads, both logarithmic, with the number of CPUs marked; None without points."""
    lines = [
        # A logarithmic axis cannot show values of zero or less.
        _with_intervals(
            one, [(n, structs.replace(tps, low=max(tps.low, tps.estimate / 10))) for n, tps in points]
        )
        for one, points in of_series.items()
        if points
    ]
    if not lines:
        return None
    counts = sorted({threads for points in of_series.values() for threads, _ in points})
    return _over_threads(lines, counts, Axis(title="transactions / s", log=True), cpus)


def points(
    cells: Iterable[CellComparison], server: str, figure: Callable[[CellFigures], T | None]
) -> list[tuple[int, T]]:
    """One of a server's figures at each number of threads, ascending, where it is known."""
    figures = {c.cell.threads: c.figures for c in cells if c.cell.server == server and c.figures}
    return [
        (threads, value) for threads in sorted(figures) if (value := figure(figures[threads])) is not None
    ]


def _with_intervals(one: Series, points: Sequence[tuple[int, Interval]]) -> Line:
    return Line(
        one,
        tuple((threads, tps.estimate) for threads, tps in points),
        intervals=tuple((tps.low, tps.high) for _, tps in points),
    )


def _over_threads(lines: Sequence[Line], counts: Sequence[int], y: Axis, cpus: int | None = None) -> Chart:
    edge = 10**0.12  # left and right of the points
    low, high = counts[0] / edge, counts[-1] * edge
    rules: tuple[Rule, ...] = ()
    if cpus is not None:
        low, high = min(low, cpus), max(high, cpus)
        rules = (Rule(cpus, "--ink-soft", label="1 CPU" if cpus == 1 else f"{cpus} CPUs"),)
    x = Axis(title="threads", log=True, ticks=_ticks(counts), ends=(low, high))
    texts = readouts(lines, lambda count: figures.threads(int(count)), numbers.number)
    return Chart(x, y, tuple(lines), rules, readouts=texts)


def _ticks(numbers: Iterable[int]) -> tuple[tuple[float, str], ...]:
    return tuple((float(number), str(number)) for number in numbers)


# --- of a cell ------------------------------------------------------------------------------------


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
    """Transactions per second of each round; None if no time was counted."""
    rounds = zip(sample.transactions, sample.window_s, strict=True)
    return tuple(transactions / window_s if window_s else None for transactions, window_s in rounds)


def padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    padding = 0.08 * (high - low)
    return low - padding, high + padding


def _percent(change: float) -> str:
    return figures.percent(1 + change / 100)
