"""Charts as inline SVG: what a page shows before its script draws them, where it cannot, and in small.

Reads the figures of shootout.charts, and of Plotly's format no more than is in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from shootout import numbers
from shootout.report.site.charts import Figure

DASHES = {"dot": "2 3", "dash": "6 4", "longdash": "10 4", "dashdot": "7 3 2 3"}
TICKS = 6
AIR = 0.05  # beyond the outermost values, as a share of an axis
_STEPS = (1, 2, 2.5, 5, 10)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Frame:
    """The size of a sketch, and the room beside its axes, in CSS pixels."""

    width: int = 600
    height: int = 280
    left: int = 52
    right: int = 12
    top: int = 10
    bottom: int = 42
    axes: bool = True  # whether they are drawn
    points_max: int = 400  # of a line with a marker at each of its points; with more only the line is drawn


PAGE = Frame()
THUMBNAIL = Frame(width=240, height=96, left=10, right=10, top=10, bottom=8, axes=False, points_max=1)


@dataclass(frozen=True)
class Axis:
    """From a figure's values to a place on the paper."""

    low: float  # these two: logarithms to base 10 where it is logarithmic
    high: float
    log: bool
    at: tuple[float, float]  # where the ends lie

    @cached_property
    def step(self) -> float:
        """How far a unit reaches."""
        return (self.at[1] - self.at[0]) / (self.high - self.low)

    def __call__(self, value: float) -> float:
        """The place of a value."""
        place = math.log10(value) if self.log else value
        return self.at[0] + (place - self.low) * self.step

    def every(self, values: Iterable[float]) -> list[float]:
        """The places of values."""
        at, low, step = self.at[0], self.low, self.step
        return [at + (value - low) * step for value in (map(math.log10, values) if self.log else values)]


def sketch(figure: Figure, frame: Frame = PAGE) -> Markup:
    """The figure as an SVG element without meaning of its own: the element around it carries the words."""
    size = f'viewBox="0 0 {frame.width} {frame.height}"'
    return Markup(f'<svg class="sketch" {size} aria-hidden="true">{drawing(figure, frame)}</svg>')


def drawing(figure: Figure, frame: Frame) -> Markup:
    """What is in that element."""
    layout = figure["layout"]
    x, y = axes(figure, frame)
    parts = [
        *(_scales(layout, x, y, frame) if frame.axes else ()),
        *(_shape(shape, x, y, frame) for shape in layout.get("shapes", ())),
        *(part for trace in figure["data"] for part in _trace(trace, x, y, frame.points_max)),
    ]
    return Markup("".join(parts))


def axes(figure: Figure, frame: Frame) -> tuple[Axis, Axis]:
    """Where the figure's values lie: from left to right, and from bottom to top."""
    layout = figure["layout"]
    x = _axis(layout["xaxis"], _values(figure, "x"), (frame.left, frame.width - frame.right))
    y = _axis(layout["yaxis"], _values(figure, "y"), (frame.height - frame.bottom, frame.top))
    return x, y


def marker(symbol: str, x: float, y: float, radius: float) -> Markup:
    """A point's symbol around a place, as an SVG element without colour."""
    return Markup(f'<path d="{_markers(symbol, [(x, y)], radius)}"/>')


def _markers(symbol: str, points: Points, radius: float) -> str:
    """One path for all of them: hundreds of elements take longer to write, to send and to show."""
    outline = _outline(symbol, radius)
    return "".join([f"M{x:.1f} {y:.1f}{outline}" for x, y in points])


@lru_cache
def _outline(symbol: str, radius: float) -> str:
    """From the place that it is around."""
    if symbol.startswith("circle"):
        half = f"a{radius:.3g} {radius:.3g} 0 0 0"
        return f"m{-radius:.3g} 0{half} {2 * radius:.3g} 0{half} {-2 * radius:.3g} 0z"
    corners = [(0.0, 0.0), *_SYMBOLS[symbol]]
    first, *others = [
        f"{(x - before_x) * radius:.3g} {(y - before_y) * radius:.3g}"
        for (before_x, before_y), (x, y) in pairwise(corners)
    ]
    return f"m{first}l{' '.join(others)}z"


def _polygon(corners: int, inner: float = 1.0) -> tuple[tuple[float, float], ...]:
    """Around the origin, the first corner on top; every second one at `inner`."""
    turns = [(2 * math.pi * number / corners, inner if number % 2 else 1.0) for number in range(corners)]
    return tuple((math.sin(turn) * reach, -math.cos(turn) * reach) for turn, reach in turns)


_CROSS = (
    (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
    (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
)  # fmt: skip
_SYMBOLS = {
    "square": ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    "diamond": _polygon(4),
    "triangle-up": _polygon(3),
    "cross": _CROSS,
    "x": tuple((0.71 * (x - y), 0.71 * (x + y)) for x, y in _CROSS),
    "star": _polygon(10, inner=0.45),
    "pentagon": _polygon(5),
}


def _values(figure: Figure, axis: str) -> list[float]:
    return [value for trace in figure["data"] for value in trace[axis] if value is not None]


def _axis(layout: dict[str, Any], values: Sequence[float], at: tuple[float, float]) -> Axis:
    log = layout.get("type") == "log"
    if "range" in layout:
        low, high = layout["range"]
    else:
        places = [math.log10(value) for value in values if value > 0] if log else [*values]
        low, high = min(places, default=0.0), max(places, default=1.0)
        low = min(low, 0.0) if layout.get("rangemode") == "tozero" else low - AIR * (high - low)
        high += AIR * (high - low)
    return Axis(low, high if high > low else low + 1, log, at)


def _scales(layout: Figure, x: Axis, y: Axis, frame: Frame) -> Iterator[str]:
    left, right, floor = frame.left, frame.width - frame.right, frame.height - frame.bottom
    for value, label in _ticks(layout["yaxis"], y):
        yield f'<path class="grid" d="M{left} {y(value):.1f}H{right}"/>'
        yield f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
    shown = -math.inf
    for value, label in _ticks(layout["xaxis"], x):
        if x(value) - shown > 8 * len(label) + 8:
            shown = x(value)
            yield f'<text x="{shown:.1f}" y="{floor + 16}" text-anchor="middle">{label}</text>'
    yield f'<path class="axis" d="M{left} {floor}H{right}"/>'
    if title := _title(layout["xaxis"]):
        middle = (left + right) / 2
        yield f'<text x="{middle:.0f}" y="{frame.height - 6}" text-anchor="middle">{title}</text>'
    if title := _title(layout["yaxis"]):
        middle = (frame.top + floor) / 2
        turned = f'transform="translate(12 {middle:.0f}) rotate(-90)" text-anchor="middle"'
        yield f"<text {turned}>{title}</text>"


def _title(layout: dict[str, Any]) -> str:
    return escape(layout.get("title", {}).get("text", ""))


def _ticks(layout: dict[str, Any], axis: Axis) -> Iterator[tuple[float, str]]:
    if "tickvals" in layout:
        labels = layout.get("ticktext") or [numbers.number(value, 0) for value in layout["tickvals"]]
        yield from zip(layout["tickvals"], map(escape, labels), strict=True)
        return
    if axis.log:
        decades = range(math.floor(axis.low), math.ceil(axis.high) + 1)
        values: Iterable[float] = (10.0**decade * digit for decade in decades for digit in (1, 2, 5))
        yield from ((value, _short(value)) for value in values if axis.low <= math.log10(value) <= axis.high)
        return
    rough = (axis.high - axis.low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in _STEPS if step * power >= rough * (1 - 1e-9))
    first, last = math.ceil(axis.low / step), math.floor(axis.high / step)
    yield from ((number * step, _short(number * step)) for number in range(first, last + 1))


def _short(value: float) -> str:
    """A tick's number: 12 k for 12 000."""
    for power, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= power:
            return f"{value / power:.4g}{numbers.SPACE}{unit}".replace("-", numbers.MINUS)
    return f"{value:.4g}".replace("-", numbers.MINUS)


def _shape(shape: dict[str, Any], x: Axis, y: Axis, frame: Frame) -> str:
    x0, x1 = _ends(shape, "x", x, (frame.left, frame.width - frame.right))
    y0, y1 = _ends(shape, "y", y, (frame.height - frame.bottom, frame.top))
    if shape["type"] == "rect":
        box = f'x="{x0:.1f}" y="{min(y0, y1):.1f}" width="{x1 - x0:.1f}" height="{abs(y1 - y0):.1f}"'
        return f'<rect {box} style="fill:{_color(shape["fillcolor"])}"/>'
    line = shape["line"]
    style = f"stroke:{_color(line['color'])};stroke-width:{line['width']}"
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" style="{style}"/>'


def _ends(shape: dict[str, Any], name: str, axis: Axis, paper: tuple[float, float]) -> tuple[float, float]:
    place: Callable[[float], float] = axis
    if shape.get(f"{name}ref") == "paper":
        place = Axis(0, 1, False, paper)
    return place(shape[f"{name}0"]), place(shape[f"{name}1"])


def _trace(trace: dict[str, Any], x: Axis, y: Axis, points_max: int) -> Iterator[str]:
    pieces = [[*zip(x.every(xs), y.every(ys), strict=True)] for xs, ys in _pieces(trace["x"], trace["y"])]
    if "fill" in trace:
        for piece in pieces:
            yield f'<path d="{_filled(piece, trace["fill"], y)}" style="fill:{_color(trace["fillcolor"])}"/>'
    if "lines" in trace["mode"]:
        line = trace["line"]
        dash = f";stroke-dasharray:{DASHES[line['dash']]}" if line.get("dash") in DASHES else ""
        style = f"fill:none;stroke:{_color(line['color'])};stroke-width:{line['width']}{dash}"
        yield f'<path d="{"".join(map(_path, pieces))}" style="{style}"/>'
    if "markers" in trace["mode"] and sum(map(len, pieces)) <= points_max:
        look = trace["marker"]
        color = _color(look["color"])
        style = f"fill:none;stroke:{color};stroke-width:1.5" if "open" in look["symbol"] else f"fill:{color}"
        points = [point for piece in pieces for point in piece]
        yield f'<path d="{_markers(look["symbol"], points, look["size"] / 2)}" style="{style}"/>'


def _pieces(
    x: Sequence[float | None], y: Sequence[float | None]
) -> Iterator[tuple[list[float], list[float]]]:
    """A trace's stretches between what is missing."""
    xs: list[float] = []
    ys: list[float] = []
    for a, b in zip(x, y, strict=True):
        if a is not None and b is not None:
            xs.append(a)
            ys.append(b)
        elif xs:
            yield xs, ys
            xs, ys = [], []
    if xs:
        yield xs, ys


def _path(points: Points) -> str:
    return "M" + "L".join([f"{x:.1f} {y:.1f}" for x, y in points])


def _filled(points: Points, fill: str, y: Axis) -> str:
    closing = f"V{y(0):.1f}H{points[0][0]:.1f}" if fill == "tozeroy" else ""
    return f"{_path(points)}{closing}z"


def _color(role: str) -> str:
    """`--series-1/0.2` in the style sheet's own words."""
    name, _, opacity = role.partition("/")
    return f"color-mix(in srgb,var({name}) {float(opacity):.0%},transparent)" if opacity else f"var({name})"
