"""Flame graphs: which frames have names and colours."""

from __future__ import annotations

import re
from itertools import pairwise

from shootout.explain import flame
from shootout.explain.flame import Frame
from shootout.model.verdict import Interval


def a_frame(
    name: str, depth: int, left: float, width: float, difference: float, *, error: float = 1.0
) -> Frame:
    """The difference and half its interval in µs, of 1 000."""
    estimate, half = difference * 1e-6, error * 1e-6
    interval = Interval(estimate=estimate, low=estimate - half, high=estimate + half)
    return Frame(name, depth, left, width, 1e-3, 1e-3 + estimate, interval)


def named(frames: list[Frame]) -> dict[str, tuple[float, float]]:
    """From where to where the names of narrow frames reach, percent of the graph."""
    found = {}
    for left, width, inner in re.findall(
        r'<svg class="[^"]* pinned" x="([\d.]+)%" [^>]* width="([\d.]+)%".*?(<svg x=.*?</text>)',
        flame.drawing(frames),
    ):
        offset, room = (float(size) / 100 for size in re.findall(r'="(-?\d+)%"', inner)[:2])
        name = re.findall(r">([^<]+)<", inner)[0]
        found[name] = (float(left) + offset * float(width), float(left) + (offset + room) * float(width))
    return found


def test_narrow_frames_that_are_certain_are_named_where_no_other_name_is() -> None:
    found = named(
        [
            a_frame("all", 0, 0.0, 1.0, 100.0),
            a_frame("wide", 1, 0.0, 0.5, 20.0),
            a_frame("certain", 1, 0.5, 0.01, 40.0),
            a_frame("hides", 1, 0.51, 0.01, 30.0),  # the name of a larger difference is here
            a_frame("uncertain", 1, 0.6, 0.01, 10.0, error=20.0),
            a_frame("trivial", 1, 0.65, 0.01, 1.5),
            a_frame("next", 1, 0.7, 0.02, -10.0),
            a_frame("edge", 1, 0.98, 0.01, 10.0),
            a_frame("below", 2, 0.51, 0.01, 30.0),
        ]
    )
    assert {*found} == {"certain", "next", "edge", "below"}
    assert [round(end, 1) for end in found["certain"]] == [50.0, 70.0]
    assert [round(end, 1) for end in found["edge"]] == [94.0, 99.0]
    row = sorted(found[name] for name in ("certain", "next", "edge"))
    assert all(first[1] <= second[0] + 0.1 for first, second in pairwise(row))
