"""Charts as inline SVG that adapts to any width without scripts; text keeps its size.

The viewport is the plot area, with positions in percent; axis labels overflow it. Elements that must stretch
are in a nested viewport of UNIT × UNIT; their strokes keep their width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from markupsafe import Markup, escape

from shootout import characters, figures, numbers
from shootout.chart import MARKERS, Axis, Chart, Line, Series
from shootout.model.verdict import Interval
from shootout.report.site.breaks import breakable

UNIT = 1000
DASHES = {"dot": "2 3", "dash": "6 4", "longdash": "10 4", "dashdot": "7 3 2 3"}
TICKS = 6
PADDING = 0.05  # beyond the outermost values, as a share of an axis
SYMBOL_RADIUS = 4.5  # this and the following: CSS pixels
SYMBOLS = {  # path data; a circle is none
    "diamond": "M0.0 -4.5L4.5 -0.0L0.0 4.5L-4.5 0.0z",
    "square": "M-3.8 -3.8L3.8 -3.8L3.8 3.8L-3.8 3.8z",
    "triangle-up": "M0.0 -4.5L3.9 2.2L-3.9 2.3z",
    "cross": "M-1.6 -4.5L1.6 -4.5L1.6 -1.6L4.5 -1.6L4.5 1.6L1.6 1.6L1.6 4.5L-1.6 4.5L-1.6 1.6L-4.5 1.6"
    "L-4.5 -1.6L-1.6 -1.6z",
    "x": "M2.1 -4.3L4.3 -2.1L2.2 0.0L4.3 2.1L2.1 4.3L0.0 2.2L-2.1 4.3L-4.3 2.1L-2.2 0.0L-4.3 -2.1"
    "L-2.1 -4.3L0.0 -2.2z",
    "star": "M0.0 -4.5L1.2 -1.6L4.3 -1.4L1.9 0.6L2.6 3.6L0.0 2.0L-2.6 3.6L-1.9 0.6L-4.3 -1.4L-1.2 -1.6z",
    "pentagon": "M0.0 -4.5L4.3 -1.4L2.6 3.6L-2.6 3.6L-4.3 -1.4z",
}
BAND = 0.18  # opacity of a band around a line
WIDTH = 300  # of the plot area, as labels of x assume
CHARACTER = 7.0
NAMED = range(2, 13)  # so many lines have their names at their ends, with room for each
NAME_MAX = 22  # characters of such a name
NAME_HEIGHT = 0.07  # of the plot area
FOCUSABLE = ' tabindex="0" role="img"'
_STEPS = (1, 2, 2.5, 5, 10)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Span:
    """The positions, from 0 to 1, of an axis' values."""

    low: float  # low and high of a logarithmic axis: logarithms to base 10
    high: float
    log: bool = False

    @classmethod
    def covering(cls, axis: Axis, values: Sequence[float]) -> Span:
        """The span of an axis: its own ends, or fitted to the values."""
        if axis.ends:
            low, high = map(math.log10, axis.ends) if axis.log else axis.ends
        else:
            places = [math.log10(value) for value in values if value > 0] if axis.log else values
            low, high = min(places, default=0.0), max(places, default=1.0)
            low = min(low, 0.0) if axis.from_zero else low - PADDING * (high - low)
            high += PADDING * (high - low)
        if high <= low:  # a single value is in the middle, zero at the bottom
            low, high = (low, low + 1) if axis.from_zero else (low - 0.5, low + 0.5)
        return cls(low, high, axis.log)

    def __call__(self, value: float) -> float:
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Drawing:
    chart: Chart

    @cached_property
    def x(self) -> Span:
        return Span.covering(self.chart.x, [x for line in self.chart.lines for x, _ in line.points])

    @cached_property
    def y(self) -> Span:
        values = [y for line in self.chart.lines for _, y in line.points if y is not None]
        return Span.covering(
            self.chart.y,
            [*values, *(end for line in self.chart.lines for ends in line.intervals for end in ends)],
        )

    @cached_property
    def plot(self) -> Markup:
        return Markup(
            f'<g aria-hidden="true">{self._stretched}{"".join(self._symbols())}{"".join(self._labels())}</g>'
        )

    @cached_property
    def readouts(self) -> Markup:
        """Vertical stripes with the exact values at each x as titles; the first is focusable."""
        at = [self.x(x) for x, _ in self.chart.readouts]
        edges = [0.0, *((a + b) / 2 for a, b in pairwise(at)), 1.0]
        stripes = [
            f'<rect x="{left:.2%}" width="{right - left:.2%}" height="100%"{"" if number else FOCUSABLE}>'
            f"<title>{escape(characters.visible(text))}</title></rect>"
            for number, ((left, right), (_, text)) in enumerate(
                zip(pairwise(edges), self.chart.readouts, strict=False)
            )
        ]
        return Markup(f'<g class="readouts">{"".join(stripes)}</g>' if stripes else "")

    @property
    def _stretched(self) -> str:
        parts = [
            *self._bands(),
            *(
                f'<path class="grid" d="M0 {_down(self.y(value)):.1f}H{UNIT}"/>'
                for value, _ in _ticks(self.chart.y, self.y)
            ),
            f'<path class="axis" d="M0 {UNIT}H{UNIT}"/>',
            *self._rules(),
            *(_of(line.series, "".join(self._line(line))) for line in self.chart.lines),
        ]
        box = f'viewBox="0 0 {UNIT} {UNIT}" preserveAspectRatio="none"'
        return f'<svg class="lines" {box}>{"".join(parts)}</svg>'

    def _bands(self) -> Iterator[str]:
        for band in self.chart.bands:
            top, floor = _down(self.y(band.high)), _down(self.y(band.low))
            size = f'y="{top:.1f}" width="{UNIT}" height="{floor - top:.1f}"'
            yield f'<rect {size} style="fill:{color_of(band.color)}"/>'

    def _rules(self) -> Iterator[str]:
        for rule in self.chart.rules:
            where = (
                f"M{UNIT * self.x(rule.at):.1f} 0V{UNIT}"
                if rule.vertical
                else f"M0 {_down(self.y(rule.at)):.1f}H{UNIT}"
            )
            dash = f";stroke-dasharray:{DASHES['dot']}" if rule.dotted else ""
            yield f'<path d="{where}" style="stroke:{color_of(rule.color)};stroke-width:{rule.width}{dash}"/>'

    def _line(self, line: Line) -> Iterator[str]:
        pieces = self._pieces(line)
        color = line.series.color
        ends = [
            (UNIT * self.x(x), _down(self.y(low)), _down(self.y(high)))
            for (x, _), (low, high) in zip(line.points, line.intervals, strict=False)
        ]
        if len(ends) > 1 and not line.whiskers:
            d = _path([*((x, high) for x, _, high in ends), *((x, low) for x, low, _ in reversed(ends))])
            yield f'<path class="band" d="{d}z" style="fill:{color_of(f"{color}/{BAND}")}"/>'
        elif ends:
            d = "".join(f"M{x:.1f} {low:.1f}V{high:.1f}" for x, low, high in ends)
            yield f'<path d="{d}" style="stroke:{color_of(color)};stroke-width:1.5"/>'
        if line.filled:
            for piece in pieces:
                d = f"{_path(piece)}V{UNIT}H{piece[0][0]:.1f}z"
                yield f'<path d="{d}" style="fill:{color_of(f"{color}/0.14")}"/>'
        if line.width:
            pattern = DASHES.get(line.series.dash) if line.dashed else None
            dash = f";stroke-dasharray:{pattern}" if pattern else ""
            faded = color if line.opacity == 1 else f"{color}/{line.opacity}"
            style = f"stroke:{color_of(faded)};stroke-width:{line.width}{dash}"
            yield f'<path d="{"".join(map(_path, pieces))}" style="{style}"/>'
        if line.dots:  # zero-length strokes, whose round caps are dots
            d = "".join(f"M{x:.1f} {y:.1f}h0" for piece in pieces for x, y in piece)
            style = f"stroke:{color_of(color)};stroke-width:{line.dots:g}"
            yield f'<path class="dots" d="{d}" style="{style}"/>'

    def _symbols(self) -> Iterator[str]:
        """The elements that keep their shape: symbols of points."""
        for line in self.chart.lines:
            if line.marked:
                symbols = "".join(
                    f'<use href="#mark-{line.series.marker}" x="{self.x(x):.2%}" y="{1 - self.y(y):.2%}"/>'
                    for x, y in line.points
                    if y is not None
                )
                yield _of(line.series, f'<g style="fill:{color_of(line.series.color)}">{symbols}</g>')

    def names(self) -> Iterator[str]:
        """The names of lines beside their last points, and what leads there."""
        ends = []
        for line in self.chart.lines:
            if line.series.label and (shown := [(x, y) for x, y in line.points if y is not None]):
                x, y = shown[-1]
                ends.append((1 - self.y(y), self.x(x), line.series))
        ends.sort(key=lambda end: end[0])
        for place, (y, x, one) in zip(_spread([y for y, *_ in ends], NAME_HEIGHT), ends, strict=True):
            leader = f'x1="{x:.2%}" y1="{y:.2%}" x2="100%" y2="{place:.2%}"'
            stroke = f'<line {leader} style="stroke:{color_of(one.color)}"/>'
            name = escape(characters.visible(one.label))
            yield _of(one, f'{stroke}<text x="100%" dx="5" y="{place:.2%}" dy="4">{name}</text>')

    def _labels(self) -> Iterator[str]:
        chart = self.chart
        for value, label in _ticks(chart.y, self.y):
            yield f'<text x="0" dx="-8" y="{1 - self.y(value):.2%}" dy="4" text-anchor="end">{label}</text>'
        if chart.x.slanted:
            yield from self._slanted()
        else:
            for x, label in _apart((self.x(value), label) for value, label in _ticks(chart.x, self.x)):
                side = "middle" if len(label) <= 6 or 0.1 <= x <= 0.9 else "start" if x < 0.1 else "end"
                yield f'<text x="{x:.2%}" y="100%" dy="18" text-anchor="{side}">{label}</text>'
        if chart.x.title:
            yield f'<text x="50%" y="100%" dy="38" text-anchor="middle">{escape(chart.x.title)}</text>'
        if chart.y.title:
            yield f'<text x="0" dx="-8" y="0" dy="-12">{escape(chart.y.title)}</text>'
        for rule in chart.rules:
            if rule.label:
                yield f'<text x="{self.x(rule.at):.2%}" dx="4" y="100%" dy="-6">{rule.label}</text>'

    def _slanted(self) -> Iterator[str]:
        for value, label in _ticks(self.chart.x, self.x):
            text = f'<text transform="rotate(-48)" text-anchor="end">{label}</text>'
            place = f'class="slanted" x="{self.x(value):.2%}" y="100%"'
            yield f'<svg {place}><g transform="translate(4 14)">{text}</g></svg>'
        for value, name in self.chart.x.groups:
            yield (
                f'<text class="group" x="{self.x(value):.2%}" y="100%" dy="60" text-anchor="middle">'
                f"{escape(characters.visible(name))}</text>"
            )

    def _pieces(self, line: Line) -> list[Points]:
        """The line's parts between missing values, in units of the nested viewport."""
        pieces: list[list[tuple[float, float]]] = [[]]
        for x, y in line.points:
            if y is not None:
                pieces[-1].append((UNIT * self.x(x), _down(self.y(y))))
            elif pieces[-1]:
                pieces.append([])
        return [piece for piece in pieces if piece]


def chart(chart: Chart, named: bool = False) -> Markup:
    """A chart as an inline SVG element, styled by its page; `named`: with names at the ends of lines."""
    drawing = Drawing(chart)
    names = f'<g class="names" aria-hidden="true">{"".join(drawing.names())}</g>' if named else ""
    return Markup(f'<svg class="plot">{drawing.plot}{names}{drawing.readouts}</svg>')


def has_names(chart: Chart | None) -> bool:
    """Whether the names of its lines fit beside them: in place of a legend, where a page is wide enough."""
    names = [line.series.label for line in chart.lines if line.series.label] if chart else []
    return len(names) in NAMED and max(map(len, names)) <= NAME_MAX


def ratio_axis(ratios: Sequence[Interval], margin: float) -> Span:
    """An axis for the intervals in a table's rows, with room for the margin."""
    low = min([ratio.low for ratio in ratios] + [1 - 2 * margin])
    high = max([ratio.high for ratio in ratios] + [1 + 2 * margin])
    return Span(low - PADDING * (high - low), high + PADDING * (high - low))


@dataclass(frozen=True)
class Forest:
    """Changes with intervals: a row has a name, a note, a ratio, and the verdict that lends it colour."""

    rows: tuple[tuple[str, str, Interval, str], ...]

    def __html__(self) -> str:
        axis = ratio_axis([ratio for _, _, ratio, _ in self.rows], 0.0)
        rows = (
            Markup('<li><span>{} <small>{}</small></span>{}<b class="{}">{}</b></li>').format(
                breakable(name), note, whisker(ratio, axis, tone), tone, figures.change(ratio)
            )
            for name, note, ratio, tone in self.rows
        )
        return Markup('<ul class="forest">{}</ul>').format(Markup("").join(rows))


def whisker(ratio: Interval, at: Span, tone: str, margin: float = 0.0) -> Markup:
    """A ratio's interval on an axis with a line at 1, and the margin as a band around that."""

    def bar(low: float, high: float) -> str:
        return f'x="{at(low):.2%}" width="{at(high) - at(low):.2%}"'

    return Markup(
        f'<svg class="whisker {tone}" width="100%" height="22" aria-hidden="true">'
        f'<rect class="margin" {bar(1 - margin, 1 + margin)} height="22"/>'
        f'<line class="zero" x1="{at(1):.2%}" x2="{at(1):.2%}" y1="0" y2="22"/>'
        f'<rect class="range" {bar(ratio.low, ratio.high)} y="8" height="6" rx="3"/>'
        f'<circle cx="{at(ratio.estimate):.2%}" cy="11" r="4.5"/></svg>'
    )


def color_of(role: str) -> str:
    """`--series-1/0.2` as CSS."""
    name, _, opacity = role.partition("/")
    return f"color-mix(in srgb,var({name}) {float(opacity):.0%},transparent)" if opacity else f"var({name})"


def _of(one: Series, parts: str) -> str:
    """Parts of a chart that a reader may pick and unpick with their series."""
    return f'<g data-series="{one.number}">{parts}</g>'


def _down(share: float) -> float:
    return UNIT * (1 - share)


def _path(points: Points) -> str:
    return "M" + "L".join([f"{x:.1f} {y:.1f}" for x, y in points])


def symbols() -> Markup:
    """Definitions of the points' symbols, which a page's other SVG elements reference by id."""
    shapes = [
        f'<path id="mark-{name}" d="{SYMBOLS[name]}"/>'
        if name in SYMBOLS
        else f'<circle id="mark-{name}" r="{SYMBOL_RADIUS}"/>'
        for name in MARKERS
    ]
    return Markup(f"<defs>{''.join(shapes)}</defs>")


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places from 0 to 1, moved apart to this distance, each as little as its neighbours allow."""
    down, up = [*places], [*places]
    for at in range(1, len(places)):
        down[at] = max(down[at], down[at - 1] + gap)
        up[-at - 1] = min(up[-at - 1], up[-at] - gap)
    last = len(places) - 1
    return [
        min(max((low + high) / 2, at * gap), 1 - (last - at) * gap)
        for at, (low, high) in enumerate(zip(up, down, strict=True))
    ]


def _apart(ticks: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    labels: list[tuple[float, str]] = []
    for x, label in ticks:
        if all(abs(x - at) > (CHARACTER * (len(label) + len(text)) / 2 + 8) / WIDTH for at, text in labels):
            labels.append((x, label))
    return labels


def _ticks(axis: Axis, span: Span) -> Iterator[tuple[float, str]]:
    if axis.ticks:
        yield from ((value, escape(characters.visible(label))) for value, label in axis.ticks)
        return
    if axis.log:
        decades = range(math.floor(span.low), math.ceil(span.high) + 1)
        values = (10.0**decade * digit for decade in decades for digit in (1, 2, 5))
        yield from ((value, _short(value)) for value in values if 0 <= span(value) <= 1)
        return
    rough = (span.high - span.low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in _STEPS if step * power >= rough * (1 - 1e-9))
    first, last = math.ceil(span.low / step), math.floor(span.high / step)
    yield from ((number * step, _short(number * step)) for number in range(first, last + 1))


def _short(value: float) -> str:
    """A tick's number in brief: 12 k for 12 000."""
    for power, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= power:
            return f"{value / power:.4g}{numbers.SPACE}{unit}".replace("-", numbers.MINUS)
    return f"{value:.4g}".replace("-", numbers.MINUS)
