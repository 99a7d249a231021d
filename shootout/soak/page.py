"""The pages of soaks: findings, and the curves that they come from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shootout import numbers
from shootout.chart import Axis, Chart, Line, Series, readouts
from shootout.model.verdict import Verdict
from shootout.paths import file_stem
from shootout.report.site.page import Listing, ListPage, Page
from shootout.soak import report
from shootout.soak.curves import Curve, curves
from shootout.soak.values import SoakComparison, SoakResult

FOLDER = "soaks"
POINTS_MAX = 600  # of a line; with more seconds, each point stands for several, with a band around it
READOUTS_MAX = 100
CHARTS: dict[str, str] = {"throughput": "transactions / s", "latency": "95 % latency, ms"}
CHARTS |= {str(name): title for name, title in report.GAUGES.items()}


@dataclass(frozen=True)
class SoakPage(Page):
    """One soak."""

    result: SoakResult
    template = "soak/page"

    @property
    def path(self) -> str:
        """Named after the soak."""
        return path_of(self.result.document.header.soak)

    @property
    def headline(self) -> str:
        """The result."""
        return report.headline(self.result)

    @property
    def conditions(self) -> str:
        """What was loaded, and how."""
        return report.conditions(self.result.document.header)

    @property
    def tables(self) -> Iterator[tuple[SoakComparison, list[tuple[report.Row, Verdict]]]]:
        """Each comparison with its lines and their verdicts."""
        for comparison in self.result.comparisons:
            yield comparison, [*report.rows(self.result, comparison)]

    def remarks(self, comparison: SoakComparison) -> list[str]:
        """What a comparison says beside its findings."""
        return [*report.remarks(comparison)]

    @property
    def footprints(self) -> Iterator[tuple[SoakComparison, list[tuple[str, ...]], str]]:
        """Each comparison with what its servers took differently, and what they did not."""
        for comparison in self.result.comparisons:
            if comparison.footprint:
                yield comparison, [*report.footprint(comparison)], report.unchanged(comparison)

    @cached_property
    def charts(self) -> list[tuple[str, str, Chart]]:
        """Id, title and chart of each curve that a server has."""
        by_server = curves(self.result.document.header, self.result.document.slices)
        charts = []
        for name, title in CHARTS.items():
            shown = {}
            for series in self.series:
                curve = by_server.get(series.label)
                if curve is not None and (values := _values(curve, name)) is not None:
                    shown[series] = values
            if shown:
                width_s = _bin_width_s(shown.values())
                lines = [_line(series, values, width_s) for series, values in shown.items()]
                charts.append((name, title, _chart(lines)))
        return charts

    @property
    def series(self) -> tuple[Series, ...]:
        """The servers' lines."""
        return tuple(
            Series(label, number) for number, label in enumerate(self.result.document.header.servers)
        )

    @property
    def failures(self) -> tuple[str, ...]:
        """Servers whose soak ended early, and why."""
        return tuple(f"{each.server}: {each.reason}" for each in self.result.document.failures)


@dataclass(frozen=True)
class SoakListPage(ListPage):
    """All soaks, the newest first."""

    every: tuple[SoakPage, ...]
    template = "soak/list"
    folder = FOLDER


def path_of(soak: str) -> str:
    """The page of a soak, from the site's root."""
    return f"{FOLDER}/{file_stem(soak)}.html"


def listing(results: Sequence[SoakResult]) -> Listing | None:
    """The pages of soaks, if there are any."""
    every = tuple(SoakPage(each) for each in results)
    return Listing("Soaks", SoakListPage(every), every) if every else None


def _values(curve: Curve, name: str) -> NDArray[np.float64] | None:
    match name:
        case "throughput":
            return curve.tps
        case "latency":
            return 1000 * curve.latency_s
    scale = 1e-6 if name in report.IN_MB else 1.0
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
