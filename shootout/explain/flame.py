"""A differential flame graph as inline SVG that adapts to any width; a script adds zoom and search.

A frame's width is the mean CPU time of base and head on its call path, so that paths of either are there and
callees fit below their callers. Its colour is the difference where the interval excludes zero: chance colours
no child otherwise than its parent. A coloured frame shows its name if it is narrow, too, where no other is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from shootout import characters, figures
from shootout.explain import call_paths, functions
from shootout.explain.call_paths import CallPaths
from shootout.model.verdict import Interval
from shootout.numbers import SPACE

WIDTH_MIN = 0.003  # of the graph; narrower frames are left out
HEIGHT = 18  # of a frame, pixels
NAMED_MIN = 3.0  # percent of the graph; of narrower frames some show no name until they are zoomed into
ROOM_MIN = 0.05  # of the graph, for the name of such a frame
STRENGTHS = (0.003, 0.01, 0.03)  # differences as shares of a transaction at which a colour gets stronger


@dataclass(frozen=True)
class Frame:
    """A function on one call path; positions and widths are shares of the graph."""

    name: str
    depth: int
    left: float
    width: float
    base: float  # seconds per transaction, like the next two
    head: float
    difference: Interval

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def is_narrow(self) -> bool:
        return 100 * self.width < NAMED_MIN


@dataclass(frozen=True)
class Graph:
    """The graph of an explanation, with its legend."""

    paths: CallPaths
    confidence: float

    def __html__(self) -> str:
        """The markup."""
        swatch = Markup('<li><span class="swatch {}"></span>{}</li>')
        legend = Markup("").join(swatch.format(*each) for each in LEGEND)
        graph = drawing(frames(call_paths.aligned(self.paths), self.confidence))
        figure = '<figure class="flames" tabindex="0" aria-label="Flame graph">{}</figure>'
        return Markup('<ul class="legend flames">{}</ul>' + figure).format(legend, graph)


def frames(paths: CallPaths, confidence: float) -> list[Frame]:
    counts, tree = paths.by_subtree(), paths.tree
    weights = (counts * paths.units[:, :, None]).mean(axis=(0, 1))
    shares = weights / weights[0]
    kept = np.flatnonzero(shares >= WIDTH_MIN)
    contrasts = functions.contrasts(counts[:, :, kept], paths.units)
    children: dict[int, list[int]] = {}
    index = {node: at for at, node in enumerate(kept.tolist())}
    for node in kept.tolist()[1:]:
        children.setdefault(tree.parents[node], []).append(node)
    placed = [(0, 0, 0.0)]
    made = []
    while placed:
        node, depth, left = placed.pop()
        at = index[node]
        name = tree.functions[tree.function[node]] if node else "all"
        base, head = float(contrasts.base[at]), float(contrasts.head[at])
        difference = contrasts.interval(at, confidence)
        made.append(Frame(name, depth, left, float(shares[node]), base, head, difference))
        for child in sorted(children.get(node, ()), key=lambda node: tree.functions[tree.function[node]]):
            placed.append((child, depth + 1, left))
            left += float(shares[child])
    return sorted(made, key=lambda frame: (frame.depth, frame.left))


def drawing(frames: Sequence[Frame]) -> Markup:
    """The graph, the outermost callers at the top."""
    depth = 1 + max(frame.depth for frame in frames)
    whole = max(frames[0].base, frames[0].head)
    rooms = _rooms(frames, whole)
    pinned_last = sorted(frames, key=rooms.__contains__)  # scripts: the whole first
    parts = "".join(_frame(frame, whole, rooms.get(frame)) for frame in pinned_last)
    return Markup(
        f'<svg class="flame" width="100%" height="{depth * HEIGHT}" role="img" '
        f'aria-label="Differential flame graph; the table below it has the numbers">{parts}</svg>'
    )


def _rooms(frames: Sequence[Frame], whole: float) -> dict[Frame, tuple[float, float]]:
    """Find where in their rows the names of narrow coloured frames fit, the largest differences first."""
    taken: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for frame in frames:
        if not frame.is_narrow:
            taken[frame.depth].append((frame.left, frame.right))
    rooms: dict[Frame, tuple[float, float]] = {}
    narrow = (frame for frame in frames if frame.is_narrow and _strength(frame, whole))
    for frame in sorted(narrow, key=lambda frame: -abs(frame.difference.estimate)):
        row, high = taken[frame.depth], frame.left + ROOM_MIN
        room = (frame.left, high) if high <= 1 else (frame.right - ROOM_MIN, frame.right)
        if all(room[1] <= left or right <= room[0] for left, right in row):
            row.append(room)
            rooms[frame] = room
    for frame, (low, high) in rooms.items():
        if low == frame.left:  # up to the next name
            rooms[frame] = low, min((left for left, _ in taken[frame.depth] if left >= high), default=1.0)
    return rooms


def _strength(frame: Frame, whole: float) -> int:
    share = abs(frame.difference.estimate) / whole
    return sum(share >= step for step in STRENGTHS) if frame.difference.excludes_zero else 0


def _frame(frame: Frame, whole: float, room: tuple[float, float] | None) -> str:
    strength = _strength(frame, whole)
    direction = (
        "same" if not strength else f"{'more' if frame.difference.estimate > 0 else 'less'} s{strength}"
    )
    name = escape(characters.visible(frame.name))
    head, base = figures.amount(frame.head, "s"), figures.amount(frame.base, "s")
    title = f"{name}: {head} instead of {base}, {figures.difference(frame.difference)}"
    if frame.is_narrow:
        direction += " narrow"
    text = f'<text x="3" y="13">{name}</text>'
    if room is not None:
        direction += " pinned"
        low, width = (room[0] - frame.left) / frame.width, (room[1] - room[0]) / frame.width
        place = 'x="3"' if room[0] == frame.left else 'x="100%" text-anchor="end"'
        text = f'<svg x="{low:.0%}" width="{width:.0%}"><text {place} y="13">{name}</text></svg>'
    return (
        f'<svg class="{direction}" x="{frame.left:.3%}" y="{frame.depth * HEIGHT}" width="{frame.width:.3%}" '
        f'height="{HEIGHT - 1}"><title>{title}</title><rect width="100%" height="100%"/>'
        f"{text}</svg>"
    )


LEGEND = (
    ("more s3", "more of a transaction's CPU time in the head"),
    ("less s3", "less"),
    ("same", f"neither for certain, or less than {STRENGTHS[0]:.1%} of it".replace("%", f"{SPACE}%")),
)
