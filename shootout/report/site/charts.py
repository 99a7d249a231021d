"""Charts as Plotly figures in plain values; site.js gives them fonts and the page's colours.

A colour is written as the style sheet's custom property, `--series-1`, or with an opacity, `--series-1/0.2`.
"""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, get_args

import numpy as np

from shootout._engine import Histogram
from shootout.analysis import scaling
from shootout.model.plan import Policy
from shootout.model.run import Samples, ServerRecord
from shootout.model.value import Family
from shootout.model.verdict import CellComparison, Interval, ScalingLaw
from shootout.report.wording import visible

Figure = dict[str, Any]

MARKERS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "pentagon")
DASHES = ("dot", "solid", "dash", "longdash", "dashdot", "solid", "dash", "longdash")
SHADES = 6  # of a family's hue
BAND = 0.18  # opacity of a band around a line
BANDS_MAX = 4  # lines with such bands; those of more lines would hide them
LAW_POINTS = 40  # of a scaling law's curve
BINS_PER_DECADE = 24  # of the latency distribution: each bin 10 % wide, coarser than the histogram's own


@dataclass(frozen=True)
class Series:
    """How one server looks in every chart of a run: number 0 is the base."""

    label: str
    number: int
    shade: str = ""  # role of its colour, where that is not its number's

    @property
    def name(self) -> str:
        """The label as text in a chart, where Plotly would read tags."""
        return html.escape(visible(self.label))

    @property
    def color(self) -> str:
        """Role of its colour."""
        return self.shade or f"--series-{self.number % len(MARKERS)}"

    @property
    def marker(self) -> str:
        """Symbol of its points; of servers of one colour each has its own."""
        return MARKERS[(self.number + self.number // len(MARKERS)) % len(MARKERS)]

    @property
    def dash(self) -> str:
        """Pattern of its line; where families have hues, only the base's is broken."""
        return "solid" if self.shade and self.number else DASHES[self.number % len(DASHES)]


def looks(servers: Sequence[ServerRecord]) -> dict[str, Series]:
    """How each server looks, by label; the base comes first.

    Where there are more servers than colours, each family has a hue, and each of its servers a shade of it,
    from the first that was named to the last.
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


@dataclass(frozen=True)
class RatioAxis:
    """A shared axis for the intervals of a table's rows, in shares of its width."""

    low: float
    high: float

    @classmethod
    def over(cls, ratios: Sequence[Interval], margin: float) -> RatioAxis:
        """Wide enough for all of them, the margin, and some air."""
        low = min([ratio.low for ratio in ratios] + [1 - 2 * margin])
        high = max([ratio.high for ratio in ratios] + [1 + 2 * margin])
        air = 0.05 * (high - low)
        return cls(low=low - air, high=high + air)

    def at(self, ratio: float) -> str:
        """Where a ratio lies, as a percentage for SVG and CSS."""
        return f"{(ratio - self.low) / (self.high - self.low):.2%}"

    def span(self, low: float, high: float) -> str:
        """How wide a stretch is."""
        return f"{(high - low) / (self.high - self.low):.2%}"


def throughput(
    cells: Sequence[CellComparison],
    series: Sequence[Series],
    laws: Mapping[str, ScalingLaw],
) -> Figure:
    """Transactions per second over threads: for each server a line, a band (its interval), a ring (its peak).

    A thin line is the server's scaling law.
    """
    counts = sorted({c.cell.threads for c in cells})
    opacity = BAND if len(series) <= BANDS_MAX else BAND / 3
    data: list[dict[str, Any]] = []
    for one in series:
        points = [
            (c.cell.threads, c.figures.tps)
            for c in sorted(cells, key=lambda c: c.cell.threads)
            if c.cell.server == one.label and c.figures
        ]
        if not points:
            continue
        x = [count for count, _ in points]
        data.append(
            {
                "x": x + x[::-1],
                "y": [tps.high for _, tps in points] + [tps.low for _, tps in points[::-1]],
                "fill": "toself",
                "fillcolor": f"{one.color}/{opacity:.2g}",
                "mode": "none",
                "hoverinfo": "skip",
            }
        )
        if one.label in laws and len(counts) > 1:
            data.append(_law(laws[one.label], counts, one))
        data.append(_line(x, [tps.estimate for _, tps in points], one))
        if len(points) > 1:
            peak, tps = max(points, key=lambda point: point[1].estimate)
            data.append(
                {
                    "x": [peak],
                    "y": [tps.estimate],
                    "mode": "markers",
                    "marker": {"symbol": "circle-open", "size": 17, "color": one.color},
                    "hoverinfo": "skip",
                }
            )
    return _over_threads(data, counts, "transactions / s")


def over_threads(
    cells: Sequence[CellComparison],
    series: Sequence[Series],
    of: Callable[[CellComparison], float | None],
    *,
    log: bool = False,
) -> Figure | None:
    """One figure over threads, a line for each server; None where none has it. Without `log` it is from 0."""
    data = []
    for one in series:
        points = [
            (c.cell.threads, value)
            for c in sorted(cells, key=lambda c: c.cell.threads)
            if c.cell.server == one.label and (value := of(c)) is not None and (value > 0 or not log)
        ]
        if points:
            data.append(_line([count for count, _ in points], [value for _, value in points], one))
    if not data:
        return None
    figure = _over_threads(data, sorted({c.cell.threads for c in cells}), "")
    if log:
        figure["layout"]["yaxis"] = {"type": "log", "tickformat": "~g", "dtick": "D2"}
    return figure


def through_servers(
    cells: Sequence[CellComparison], servers: Sequence[str], series: Mapping[int, Series]
) -> Figure:
    """Change of throughput from server to server, the first of which is the base: a line for each threads."""
    places = {label: place for place, label in enumerate(servers)}
    data = []
    for threads, one in series.items():
        changes = {places[c.cell.server]: c.ratio for c in cells if c.cell.threads == threads and c.ratio}
        if changes:
            points = [(0, 0.0), *((place, 100 * (changes[place].estimate - 1)) for place in sorted(changes))]
            line = _line([place for place, _ in points], [change for _, change in points], one)
            data.append({**line, "hovertemplate": "%{y:+.1f} %<extra>%{fullData.name}</extra>"})
    return {
        "data": data,
        "layout": {
            "xaxis": {
                "tickvals": list(places.values()),
                "ticktext": [html.escape(visible(label)) for label in servers],
                "range": [-0.25, len(servers) - 0.75],
            },
            "yaxis": {"title": {"text": "change, %"}},
            "hovermode": "x unified",
        },
    }


def _line(x: Sequence[int], y: Sequence[float], one: Series) -> dict[str, Any]:
    return {
        "x": list(x),
        "y": list(y),
        "name": one.name,
        "mode": "lines+markers",
        "line": {"color": one.color, "dash": one.dash, "width": 2.25},
        "marker": {"symbol": one.marker, "size": 9, "color": one.color},
        "hovertemplate": "%{y:,.4~s}<extra>%{fullData.name}</extra>",
    }


def _law(law: ScalingLaw, counts: Sequence[int], one: Series) -> dict[str, Any]:
    steps = [(counts[-1] / counts[0]) ** (step / LAW_POINTS) for step in range(LAW_POINTS + 1)]
    x = [counts[0] * step for step in steps]
    return {
        "x": x,
        "y": [scaling.Law(law.one, law.contention, law.coherency).throughput(count) for count in x],
        "mode": "lines",
        "line": {"color": f"{one.color}/0.6", "width": 1},
        "hoverinfo": "skip",
    }


def _over_threads(data: Sequence[dict[str, Any]], counts: Sequence[int], title: str) -> Figure:
    edge = 0.12  # powers of ten left and right of the points
    return {
        "data": list(data),
        "layout": {
            "xaxis": {
                "title": {"text": "threads"},
                "type": "log",
                "tickvals": list(counts),
                "ticktext": [str(count) for count in counts],
                "range": [math.log10(counts[0]) - edge, math.log10(counts[-1]) + edge],
            },
            "yaxis": {"title": {"text": title}, "rangemode": "tozero", "tickformat": "~s"},
            "hovermode": "x unified",
        },
    }


def ratios(comparison: CellComparison, policy: Policy, series: Series) -> Figure | None:
    """Each start's own change as a dot, the interval over all of them as a band."""
    ratio = comparison.ratio
    if ratio is None:
        return None
    low, estimate, high = ((end - 1) * 100 for end in (ratio.low, ratio.estimate, ratio.high))
    margin = policy.margin * 100
    changes = [(start - 1) * 100 for start in comparison.per_start]
    starts = list(range(1, len(changes) + 1))
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    band = {**across, "type": "rect", "line": {"width": 0}}
    return {
        "data": [
            {
                "x": starts,
                "y": changes,
                "mode": "markers",
                "marker": {"symbol": series.marker, "size": 11, "color": series.color},
                "name": series.name,
                "hovertemplate": "start %{x}: %{y:+.1f} %<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {
                "title": {"text": "start"},
                "tickvals": starts,
                "range": [0.5, max(len(starts), 1) + 0.5],
                "showgrid": False,
            },
            "yaxis": {
                "title": {"text": "change, %"},
                "range": _padded([low, high, margin, -margin, *changes]),
            },
            "shapes": [
                {**band, "y0": -margin, "y1": margin, "fillcolor": "--ink/0.07"},
                {**band, "y0": low, "y1": high, "fillcolor": f"{series.color}/0.16"},
                {**across, "y0": estimate, "y1": estimate, "line": {"color": series.color, "width": 2}},
                {**across, "y0": 0, "y1": 0, "line": {"color": "--ink-soft", "width": 1.25}},
            ],
        },
    }


def slices(samples: Sequence[tuple[Series, Sequence[tuple[int, Samples]]]]) -> Figure | None:
    """Throughput of every round, start after start, for each server."""
    data: list[dict[str, Any]] = []
    first: dict[int, int] = {}  # start → its place on the axis
    place = 0
    lengths: dict[int, int] = defaultdict(int)
    for _, starts in samples:
        for start, sample in starts:
            lengths[start] = max(lengths[start], len(sample.transactions))
    for start in sorted(lengths):
        first[start] = place
        place += lengths[start] + 1
    if not place:
        return None
    for one, starts in samples:
        x: list[int | None] = []
        y: list[float | None] = []
        where: list[str] = []
        for start, sample in starts:
            for round_, tps in enumerate(throughputs(sample)):
                x.append(first[start] + round_)
                y.append(tps)
                where.append(f"start {start}, round {round_ + 1}")
            x.append(None)
            y.append(None)
            where.append("")
        data.append(
            {
                "x": x,
                "y": y,
                "text": where,
                "name": one.name,
                "mode": "lines+markers",
                "line": {"color": one.color, "width": 1.25},
                "marker": {"symbol": one.marker, "size": 5, "color": one.color},
                "hovertemplate": "%{y:,.4~s} at %{text}<extra>%{fullData.name}</extra>",
            }
        )
    between = {
        "type": "line",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"color": "--line", "width": 1},
    }
    return {
        "data": data,
        "layout": {
            "xaxis": {
                "tickvals": [first[start] + (lengths[start] - 1) / 2 for start in first],
                "ticktext": [f"start {start}" for start in first],
                "range": [-1, place - 1],
                "showgrid": False,
                "ticks": "",
            },
            "yaxis": {"title": {"text": "transactions / s"}, "rangemode": "tozero", "tickformat": "~s"},
            "shapes": [{**between, "x0": at - 1, "x1": at - 1} for at in first.values() if at],
        },
    }


def latencies(histograms: Sequence[tuple[Series, Histogram]]) -> Figure | None:
    """Share of transactions by latency, in equal steps of its logarithm, for each server."""
    data: list[dict[str, Any]] = []
    for one, histogram in histograms:
        if not histogram.count:
            continue
        middles_ms, shares = _distribution(histogram)
        data.append(
            {
                "x": middles_ms,
                "y": shares,
                "name": one.name,
                "mode": "lines",
                "line": {"color": one.color, "shape": "hvh", "width": 1.75},
                "fill": "tozeroy",
                "fillcolor": f"{one.color}/0.14",
                "hovertemplate": "%{y:.2f} % at about %{x:.3~g} ms<extra>%{fullData.name}</extra>",
            }
        )
    if not data:
        return None
    return {
        "data": data,
        "layout": {
            "xaxis": {
                "title": {"text": "latency of a transaction, ms"},
                "type": "log",
                "tickformat": "~g",
                "dtick": "D2",
            },
            "yaxis": {"title": {"text": "transactions, %"}, "rangemode": "tozero"},
        },
    }


@lru_cache(8)  # a base's is drawn beside each of its heads
def _distribution(histogram: Histogram) -> tuple[list[float], list[float]]:
    """The middles of equal steps of the logarithm, and the percentage of values in each."""
    middles_s, counts = np.fromiter(chain.from_iterable(histogram.buckets()), float).reshape(-1, 2).T
    bins = np.floor(np.log10(middles_s) * BINS_PER_DECADE).astype(int) - 1
    # An empty bin at both ends brings the outline down to zero.
    shares = 100 * np.bincount(bins - bins.min() + 1, counts, bins.max() - bins.min() + 3) / histogram.count
    middles = np.arange(bins.min(), bins.max() + 3) + 0.5
    return (10 ** (middles / BINS_PER_DECADE) * 1000).tolist(), shares.tolist()


def throughputs(sample: Samples) -> tuple[float | None, ...]:
    """Transactions per second of each round; None where no time was counted."""
    rounds = zip(sample.transactions, sample.window_s, strict=True)
    return tuple(transactions / window_s if window_s else None for transactions, window_s in rounds)


def _padded(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    air = 0.08 * (high - low)
    return [low - air, high + air]


@dataclass(frozen=True)
class Line:
    """A server's throughputs, by threads."""

    series: Series
    points: tuple[tuple[int, Interval], ...]


def beside_cpus(lines: Sequence[Line], cpus: int | None) -> Figure | None:
    """Throughput over threads on a logarithmic axis, with the number of CPUs marked; None without a point."""
    drawn = [line for line in lines if line.points]
    if not drawn:
        return None
    counts = sorted({threads for line in drawn for threads, _ in line.points})
    figure = _over_threads([trace for line in drawn for trace in _band(line)], counts, "transactions / s")
    layout = figure["layout"]
    layout["yaxis"] = {"title": layout["yaxis"]["title"], "type": "log", "dtick": "D2", "tickformat": "~s"}
    if cpus is not None:
        low, high = layout["xaxis"]["range"]
        at = math.log10(cpus)
        layout["xaxis"]["range"] = [min(low, at), max(high, at)]
        layout["shapes"] = [
            {
                **{"type": "line", "layer": "below", "xref": "x", "x0": cpus, "x1": cpus},
                **{"yref": "paper", "y0": 0, "y1": 1, "line": {"color": "--ink-soft", "width": 1}},
            }
        ]
        # Plotly takes an annotation's place on a logarithmic axis as its logarithm, a shape's as it is.
        layout["annotations"] = [
            {
                **{
                    "text": "1 CPU" if cpus == 1 else f"{cpus} CPUs",
                    "showarrow": False,
                    "x": at,
                    "xref": "x",
                },
                **{"y": 0, "yref": "paper", "xanchor": "left", "yanchor": "bottom"},
            }
        ]
    return figure


def _band(line: Line) -> tuple[Figure, Figure]:
    """A line, and the band of its intervals below it; on a logarithmic axis nothing is at or below zero."""
    x = [threads for threads, _ in line.points]
    ends = [max(tps.high, tps.estimate) for _, tps in line.points]
    ends += [max(tps.low, tps.estimate / 10) for _, tps in line.points[::-1]]
    band = {
        "x": x + x[::-1],
        "y": ends,
        "fill": "toself",
        "fillcolor": f"{line.series.color}/{BAND}",
        "mode": "none",
        "hoverinfo": "skip",
    }
    return band, _line(x, [tps.estimate for _, tps in line.points], line.series)
