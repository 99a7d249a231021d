"""The curves of a soak."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shootout import numbers
from shootout.answer import Drawn
from shootout.chart import Axis, Chart, Line, Series, readouts
from shootout.soak.curves import Curve, curves
from shootout.soak.values import Gauge, SoakDocument

POINTS_MAX = 600  # of a line; with more seconds, each point stands for several, with a band around it
READOUTS_MAX = 100
GAUGES: dict[Gauge, str] = {
    "memory": "resident memory, MB",
    "disk": "data on disk, MB",
    "dirty_pages": "dirty pages",
    "checkpoint_age": "checkpoint age, MB",
    "history_list": "history list length",
    "others": "CPUs that other processes used",
}
IN_MB = ("memory", "disk", "checkpoint_age")
CHARTS: dict[str, str] = {"throughput": "transactions / s", "latency": "95 % latency, ms"}
CHARTS |= {str(name): title for name, title in GAUGES.items()}


def drawn_of(document: SoakDocument) -> tuple[Drawn, ...]:
    """Draw a chart of each curve that a server has."""
    by_server = curves(document.header, document.slices)
    every = tuple(Series(label, number) for number, label in enumerate(document.header.servers))
    drawn = []
    for name, title in CHARTS.items():
        found = ((each, _values(by_server[each.label], name)) for each in every if each.label in by_server)
        if shown := {series: values for series, values in found if values is not None}:
            width_s = _bin_width_s(shown.values())
            lines = [_line(series, values, width_s) for series, values in shown.items()]
            label = f"{title} over minutes of load, one line per server"
            drawn.append(Drawn(_chart(lines), label, title, every))
    return tuple(drawn)


def _values(curve: Curve, name: str) -> NDArray[np.float64] | None:
    every = {"throughput": curve.tps, "latency": 1000 * curve.latency_s}
    every |= {str(gauge): (1e-6 if gauge in IN_MB else 1.0) * each for gauge, each in curve.gauges.items()}
    return every.get(name)


def _bin_width_s(every: Collection[NDArray[np.float64]]) -> int:
    """The width of all servers' bins, so that their points have the same times; most bins have a value."""
    known = max(int((~np.isnan(values)).sum()) for values in every)
    return -(-max(map(len, every)) // min(POINTS_MAX, max(known, 1)))


def _line(series: Series, values: NDArray[np.float64], width_s: int) -> Line:
    """A curve by second or, if it is long, by several seconds at once: their mean, least and most."""
    known = np.flatnonzero(~np.isnan(values))
    places = known // width_s
    bins = np.split(known, np.flatnonzero(np.diff(places)) + 1) if len(known) else []
    points = tuple(
        ((float(taken[0] // width_s) + 0.5) * width_s / 60, float(values[taken].mean())) for taken in bins
    )
    ranges = tuple((float(values[taken].min()), float(values[taken].max())) for taken in bins)
    intervals = ranges if len(known) > len(bins) else ()
    return Line(series, points, intervals=intervals, marked=False, width=1.25, dashed=False)


def _chart(lines: Sequence[Line]) -> Chart:
    """Over minutes of load; every so many points have a readout."""
    times = sorted({x for line in lines for x, _ in line.points})
    read = {*times[:: max(1, len(times) // READOUTS_MAX)]}
    points = (tuple(point for point in line.points if point[0] in read) for line in lines)
    sparse = [replace(line, points=each, intervals=()) for line, each in zip(lines, points, strict=True)]
    read_out = readouts(sparse, lambda x: f"{numbers.number(x, 2)} min", numbers.number)
    return Chart(Axis(title="minutes of load"), Axis(from_zero=True), tuple(lines), readouts=read_out)
