"""A workload's throughput chart as a standalone image with its own text and colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from markupsafe import Markup
from scipy.optimize import isotonic_regression

from shootout.model.run import Runner
from shootout.model.verdict import Verdict
from shootout.paths import TEMPLATES
from shootout.report import wording
from shootout.report.site import charts
from shootout.report.site.charts import Series
from shootout.report.site.run import CellSet, Run
from shootout.report.site.svg import Drawing, symbols

LABEL_GAP = 18.0  # between servers' names, CSS pixels
OWN_ROLES = ("--paper", "--ink", "--ink-soft", "--line", "--axis")


@dataclass(frozen=True)
class Frame:
    """The position of the plot area in the image, CSS pixels."""

    left: int
    top: int
    width: int
    height: int
    right: int  # space for the servers' names
    bottom: int  # space for the axis labels


FRAME = Frame(left=64, top=34, width=726, height=380, right=170, bottom=46)


@dataclass(frozen=True)
class Color:
    """A custom property of the style sheet with its colours in both schemes."""

    role: str
    light: str
    dark: str


@dataclass(frozen=True)
class Label:
    """A server's name at the end of its line."""

    series: Series
    end: tuple[float, float]  # of the line
    y: float


@dataclass(frozen=True)
class Picture:
    """The image of one workload."""

    run: Run
    set: CellSet
    frame = FRAME

    @cached_property
    def plot(self) -> Markup:
        """The chart without servers' names, for a viewport that is its plot area."""
        return Markup(f"{symbols()}{self._drawing.plot}")

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Labels of the lines, ordered by the height of the lines' ends."""
        x, y = self._drawing.x, self._drawing.y
        found = []
        for label in self.set.servers:
            points = [
                (c.cell.threads, c.figures.tps.estimate)
                for c in self.set.cells
                if c.cell.server == label and c.figures
            ]
            if points:
                threads, tps = max(points)
                end = FRAME.left + FRAME.width * x(threads), FRAME.top + FRAME.height * (1 - y(tps))
                found.append((end, self.run.series[label]))
        found.sort(key=lambda each: each[0][1])
        rows = spread([y for (_, y), _ in found], LABEL_GAP, FRAME.top, FRAME.top + FRAME.height)
        return tuple(Label(series=one, end=end, y=row) for (end, one), row in zip(found, rows, strict=True))

    @property
    def notes(self) -> tuple[str, ...]:
        """Machine, time and conditions of the measurement, and failures."""
        header = self.run.document.header
        runners = {
            runner.fingerprint: runner for c in self.set.cells for runner in [header.part(c.cell).runner]
        }
        machines = " and ".join(map(_machine, runners.values()))
        datasets = [wording.dataset(each) for each in self.run.datasets if each.key == self.set.dataset]
        settings = ", ".join(dict.fromkeys(server.settings_name for server in header.servers))
        starts = {c.figures.starts for c in self.set.cells if c.figures}
        counted = f"{min(starts)} to {max(starts)}" if len(starts) > 1 else f"{max(starts, default=0)}"
        conditions = wording.conditions(header, self.set.workload)
        how = [*datasets, f"settings {settings}", *([conditions] if conditions else []), f"starts: {counted}"]
        failed = [
            f"{c.cell.server} with {wording.threads(c.cell.threads)}"
            for c in self.set.cells
            if c.verdict is Verdict.FAILED
        ]
        return (
            f"{machines}; {wording.moment(header.started)}; shootout {header.shootout}",
            "; ".join(how),
            *([f"Failed: {', '.join(failed)}"] if failed else []),
        )

    @property
    def colors(self) -> tuple[Color, ...]:
        """The colours that it uses."""
        used = {*OWN_ROLES, *(label.series.color for label in self.labels)}
        return tuple(color for color in palette() if color.role in used)

    @cached_property
    def _drawing(self) -> Drawing:
        return Drawing(charts.throughput(self.set.with_change_intervals, tuple(self.run.series.values()), {}))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions from `low` to `high`, at least `gap` apart if there is room, closest to those wanted.

    Minimises the sum of squared distances by isotonic regression (Barlow and Brunk 1972). `wanted` must be
    sorted.
    """
    if not wanted:
        return []
    last = len(wanted) - 1
    steps = min(gap, (high - low) / max(1, last)) * np.arange(last + 1)
    rising = isotonic_regression(np.asarray(wanted) - steps).x
    return [float(place) for place in np.clip(rising, low, high - steps[last]) + steps]


def _machine(runner: Runner) -> str:
    cpus = "1 CPU" if runner.cpus == 1 else f"{runner.cpus} CPUs"
    return f"{runner.cpu}, {cpus}{f', virtual ({runner.virtual})' if runner.virtual else ''}"


@cache
def palette() -> tuple[Color, ...]:
    """The style sheet's colours."""
    sheet = (TEMPLATES / "style.css").read_text("utf-8")
    found = re.findall(r"(--[\w-]+): light-dark\((#\w+), (#\w+)\);", sheet)
    return tuple(Color(role=role, light=light, dark=dark) for role, light, dark in found)
