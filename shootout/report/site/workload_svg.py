"""A workload's throughput as a picture to be shown elsewhere: it brings its words and colours along."""

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
from shootout.report.site.svg import Frame, axes, drawing

FRAME = Frame(width=960, height=450, left=64, right=170, top=14, bottom=46)
LABEL_GAP = 18.0  # from one server's name to the next, CSS pixels
OWN_ROLES = ("--paper", "--ink", "--ink-soft", "--line", "--axis")


@dataclass(frozen=True)
class Color:
    """What a role of the style sheet looks like."""

    role: str
    light: str
    dark: str


@dataclass(frozen=True)
class Label:
    """A server's name beside the end of its line."""

    series: Series
    end: tuple[float, float]  # the line's
    y: float


@dataclass(frozen=True)
class Picture:
    """All that the picture of one workload shows."""

    run: Run
    set: CellSet

    @cached_property
    def drawing(self) -> Markup:
        """The chart without the servers' names."""
        return drawing(self._figure, FRAME)

    @property
    def frame(self) -> Frame:
        """The chart's size."""
        return FRAME

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The servers that have a line, from the fastest at its end to the slowest."""
        x, y = axes(self._figure, FRAME)
        found = []
        for label in self.set.servers:
            points = [
                (c.cell.threads, c.figures.tps.estimate)
                for c in self.set.cells
                if c.cell.server == label and c.figures
            ]
            if points:
                threads, tps = max(points)
                found.append((y(tps), x(threads), self.run.series[label]))
        found.sort(key=lambda each: each[0])
        rows = spread([height for height, _, _ in found], LABEL_GAP, FRAME.top, FRAME.height - FRAME.bottom)
        return tuple(
            Label(series=one, end=(right, height), y=row)
            for (height, right, one), row in zip(found, rows, strict=True)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Where, when and how it was measured, and what failed."""
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
        """Those of the roles in it."""
        shown = {*OWN_ROLES, *(label.series.color for label in self.labels)}
        return tuple(color for color in palette() if color.role in shown)

    @cached_property
    def _figure(self) -> charts.Figure:
        return charts.throughput(self.set.beside_base, tuple(self.run.series.values()), {})


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places between both ends, `gap` or more apart where there is room: as near to those wanted as can be.

    Nearness counts in squares, so this is isotonic regression (Barlow and Brunk 1972). `wanted` is sorted.
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
