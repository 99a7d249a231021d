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
        shown = {}
        for series in every:
            curve = by_server.get(series.label)
            if curve is not None and (values := _values(curve, name)) is not None:
                shown[series] = values
        if shown:
            width_s = _bin_width_s(shown.values())
            lines = [_line(series, values, width_s) for series, values in shown.items()]
            label = f"{title} over minutes of load, one line per server"
            drawn.append(Drawn(_chart(lines), label, title, every))
    return tuple(drawn)


def _values(curve: Curve, name: str) -> NDArray[np.float64] | None:
    match name:
        case "throughput":
            return curve.tps
        case "latency":
            return 1000 * curve.latency_s
    scale = 1e-6 if name in IN_MB else 1.0
    return next((scale * values for gauge, values in curve.gauges.items() if gauge == name), None)


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
    return Line(
        series,
        points,
        intervals=ranges if len(known) > len(bins) else (),
        marked=False,
        width=1.25,
        dashed=False,
    )


def _chart(lines: Sequence[Line]) -> Chart:
    """Over minutes of load; every so many points have a readout."""
    times = sorted({x for line in lines for x, _ in line.points})
    read = {*times[:: max(1, len(times) // READOUTS_MAX)]}
    sparse = [
        replace(line, points=tuple(point for point in line.points if point[0] in read), intervals=())
        for line in lines
    ]
    return Chart(
        Axis(title="minutes of load"),
        Axis(from_zero=True),
        tuple(lines),
        readouts=readouts(sparse, lambda x: f"{numbers.number(x, 2)} min", numbers.number),
    )
