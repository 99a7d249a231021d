"""The cause of a cell's change in one sentence, with its interval and its share."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shootout import figures
from shootout.explain import wall_clock
from shootout.explain.functions import Change
from shootout.explain.judge import Explained
from shootout.model.verdict import Interval, Verdict
from shootout.numbers import SPACE
from shootout.report import differing, wording

FORWARDS = 0.1  # of a function's change with what it calls: with less of its own it only passes calls on


def main_cause(explained: Explained) -> str:
    """Name what explains most of the change: a setting that was tried, a plan, a wait, a layer or a function.

    Empty if nothing of it is certain, or all that is certain explains little.
    """
    return _setting(explained) or _plan(explained) or _time(explained)


def _setting(explained: Explained) -> str:
    """The setting that gives most of the change back, as measured beside the head without it."""
    whole = explained.ratio
    if whole is None or whole.estimate == 1:
        return ""
    back = Verdict.IMPROVED if whole.estimate < 1 else Verdict.REGRESSED
    given_back = [
        (1 - math.log(trial.to_base.estimate) / math.log(whole.estimate), setting, trial.to_base)
        for setting, trial in explained.tried.items()
        if trial.to_base is not None and trial.verdict is back
    ]
    part, setting, ratio = max(given_back, key=lambda each: each[0], default=(0.0, "", whole))
    if part < wording.LITTLE:
        return ""
    changes = f"{figures.change(ratio)} ({figures.change_range(ratio)}) instead of {figures.change(whole)}"
    return f"with {setting} on the head, {changes}{_part(part)}"


def _plan(explained: Explained) -> str:
    """The changed plans, without those of statements that take little of a certain change."""
    whole = explained.wall_clock[0].difference if explained.wall_clock else Interval.exactly(0)
    times = explained.statements if whole.excludes_zero else ()
    little = {each.kind for each in times if each.difference_s.estimate / whole.estimate < wording.LITTLE}
    changed = [change for change in explained.plans if change.changed and change.kind not in little]
    more = f"; {len(changed) - 1} more changed" if len(changed) > 1 else ""
    return f"plan of {differing.plan(changed[0])}{more}" if changed else ""


def _time(explained: Explained) -> str:
    """The wait with most of the response time's change; if CPU time has more, the layer or the function.

    A layer goes first unless a function has as much; then its function, if it has a share worth naming.
    """
    response, *spent = explained.wall_clock or (None,)
    most = response and _largest(spent, response)
    if response and most and most.name not in (wall_clock.ON_CPU, wall_clock.ELSEWHERE):
        return f"{_sized(most, response)} of {_whole(response)} of response time per transaction"
    cpu = explained.cpu
    if cpu is None:
        return ""
    own = {change.name: change.difference.estimate for change in explained.functions}
    located = (
        change
        for change in explained.narrowed
        if own.get(change.name, 0.0) / change.difference.estimate >= FORWARDS
    )
    largest = (_largest(explained.parts, cpu), _largest([*explained.named, *located], cpu))
    found = sorted(filter(None, largest), key=lambda change: -abs(change.difference.estimate))
    if not found:
        return ""
    first, *others = found
    where = "".join(f"; {_sized(other, cpu)}" for other in others if other.name != first.name)
    return f"{_sized(first, cpu)} of {_whole(cpu)} of server CPU time per transaction{where}"


def _largest(changes: Iterable[Change], whole: Change) -> Change | None:
    """The change that goes furthest in the whole's direction, certainly, and explains enough of it."""
    sign = math.copysign(1.0, whole.difference.estimate)
    certain = [
        change
        for change in changes
        if sign * change.difference.low > 0 < sign * change.difference.high
        and change.difference.estimate / whole.difference.estimate >= wording.LITTLE
    ]
    return max(certain, key=lambda change: sign * change.difference.estimate, default=None)


def _sized(change: Change, whole: Change) -> str:
    size = figures.difference(change.difference)
    return f"{change.name} {size}{_part(change.difference.estimate / whole.difference.estimate)}"


def _whole(whole: Change) -> str:
    return figures.difference(Interval.exactly(whole.difference.estimate)).partition(" (")[0]


def _part(part: float) -> str:
    return f", {100 * part:.0f}{SPACE}%"
