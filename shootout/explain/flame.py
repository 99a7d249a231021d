"""A differential flame graph as inline SVG that adapts to any width; a script adds zoom and search.

A frame's width is the mean CPU time of base and head on its call path, so that paths of either are there and
callees fit below their callers. Its colour is the difference where the interval excludes zero: chance colours
no child otherwise than its parent. Such a frame shows its name even if it is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from shootout.explain import functions, report
from shootout.explain.call_paths import CallPaths
from shootout.model.verdict import Interval
from shootout.numbers import SPACE
from shootout.report import characters, figures

WIDTH_MIN = 0.003  # of the graph; narrower frames are left out
HEIGHT = 18  # of a frame, pixels
NAMED_MIN = 3.0  # percent of the graph; narrower frames show no name until they are zoomed into
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
    def certain(self) -> bool:
        return self.difference.low > 0 or self.difference.high < 0


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
        made.append(
            Frame(
                name=tree.functions[tree.function[node]] if node else "all",
                depth=depth,
                left=left,
                width=float(shares[node]),
                base=float(contrasts.base[at]),
                head=float(contrasts.head[at]),
                difference=contrasts.interval(at, confidence),
            )
        )
        for child in sorted(children.get(node, ()), key=lambda node: tree.functions[tree.function[node]]):
            placed.append((child, depth + 1, left))
            left += float(shares[child])
    return sorted(made, key=lambda frame: (frame.depth, frame.left))


def drawing(frames: Sequence[Frame]) -> Markup:
    """The graph, the outermost callers at the top."""
    depth = 1 + max(frame.depth for frame in frames)
    whole = max(frames[0].base, frames[0].head)
    pinned_last = sorted(
        frames, key=lambda frame: frame.depth > 0 and frame.certain
    )  # scripts: the whole first
    parts = "".join(_frame(frame, whole) for frame in pinned_last)
    return Markup(
        f'<svg class="flame" width="100%" height="{depth * HEIGHT}" role="img" '
        f'aria-label="Differential flame graph; the table below it has the numbers">{parts}</svg>'
    )


def _frame(frame: Frame, whole: float) -> str:
    share = frame.difference.estimate / whole
    strength = sum(abs(share) >= step for step in STRENGTHS) if frame.certain else 0
    direction = "same" if not strength else f"{'more' if share > 0 else 'less'} s{strength}"
    name = escape(characters.visible(frame.name))
    head, base = figures.amount(frame.head, "s"), figures.amount(frame.base, "s")
    title = f"{name}: {head} instead of {base}, {report.difference(frame.difference)}"
    if 100 * frame.width < NAMED_MIN:
        direction += " narrow pinned" if strength else " narrow"
    place = 'x="3"' if frame.left < 0.7 or not strength else 'x="100%" text-anchor="end"'
    return (
        f'<svg class="{direction}" x="{frame.left:.3%}" y="{frame.depth * HEIGHT}" width="{frame.width:.3%}" '
        f'height="{HEIGHT - 1}"><title>{title}</title><rect width="100%" height="100%"/>'
        f'<text {place} y="13">{name}</text></svg>'
    )


LEGEND = (
    ("more s3", "more of a transaction's CPU time in the head"),
    ("less s3", "less"),
    ("same", f"neither for certain, or less than {STRENGTHS[0]:.1%} of it".replace("%", f"{SPACE}%")),
)
