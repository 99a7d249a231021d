"""Charts as plain values: axes, lines, bands. `report.site.svg` draws them.

A colour is a custom property of the style sheet, `--series-1`, or one with an opacity, `--series-1/0.2`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MARKERS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "pentagon")
DASHES = ("dot", "solid", "dash", "longdash", "dashdot")
NAME_MAX = 60  # characters of a name in a readout

Point = tuple[float, float | None]  # None interrupts the line


@dataclass(frozen=True)
class Series:
    """Appearance of one server in all charts: its number has a colour, a symbol and a pattern."""

    label: str
    number: int
    shade: str = ""  # a colour that overrides the number's

    @property
    def color(self) -> str:
        return self.shade or f"--series-{self.number % len(MARKERS)}"

    @property
    def marker(self) -> str:
        """The points' symbol; it differs between servers of the same colour."""
        return MARKERS[(self.number + self.number // len(MARKERS)) % len(MARKERS)]

    @property
    def dash(self) -> str:
        """The line's pattern; it differs between five servers of the same colour."""
        return DASHES[(self.number + self.number // len(MARKERS)) % len(DASHES)]


@dataclass(frozen=True)
class Axis:
    title: str = ""
    log: bool = False
    from_zero: bool = False
    ticks: tuple[tuple[float, str], ...] = ()  # empty: round numbers
    ends: tuple[float, float] | None = None  # as values; None: fitted to the lines
    slanted: bool = False  # its labels, of which every one is then shown
    groups: tuple[tuple[float, str], ...] = ()  # names below the labels, such as servers' families


@dataclass(frozen=True)
class Line:
    series: Series
    points: tuple[Point, ...]
    intervals: tuple[tuple[float, float], ...] = ()  # one per point, drawn as a band around the line
    whiskers: bool = False  # intervals are drawn as lines through the points instead
    marked: bool = True  # whether points have the series' symbol
    dots: float = 0.0  # diameter of a dot at each point, pixels
    width: float = 2.25
    dashed: bool = True  # with the series' pattern
    filled: bool = False  # down to zero
    opacity: float = 1.0


@dataclass(frozen=True)
class Rule:
    """A straight line across the chart at one value."""

    at: float
    color: str
    vertical: bool = True  # at a value of x
    width: float = 1.0
    dotted: bool = False
    label: str = ""


@dataclass(frozen=True)
class Band:
    """A stripe across the chart between two values of y."""

    low: float
    high: float
    color: str


@dataclass(frozen=True)
class Chart:
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    rules: tuple[Rule, ...] = ()
    bands: tuple[Band, ...] = ()
    readouts: tuple[tuple[float, str], ...] = ()  # x, ascending, with the exact values there


def readouts(
    lines: Iterable[Line], heading: Callable[[float], str], text: Callable[[float], str]
) -> tuple[tuple[float, str], ...]:
    """Write for each x a heading and under it the value of each line."""
    texts: defaultdict[float, list[str]] = defaultdict(list)
    for line in lines:
        for x, y in line.points:
            if y is not None:
                texts[x].append(f"{line.series.label[:NAME_MAX]}: {text(y)}")
    return tuple((x, "\n".join([heading(x), *texts[x]])) for x in sorted(texts))
