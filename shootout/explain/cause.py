"""The cause of a cell's change in one sentence, with its interval and its share."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shootout import figures
from shootout.explain import wall_clock
from shootout.explain.functions import Change
from shootout.explain.judge import Explained
from shootout.model.verdict import Interval
from shootout.numbers import SPACE
from shootout.report import differing, wording


def main_cause(explained: Explained) -> str:
    """Name what explains most of the change: a setting that was tried, a plan, a wait, or a function.

    Empty if nothing of it is certain.
    """
    return _setting(explained) or _plan(explained) or _time(explained)


def _setting(explained: Explained) -> str:
    """The setting that gives most of the change back, as measured."""
    whole = explained.ratio
    tried = [(setting, ratio) for setting, ratio in explained.tried.items() if ratio is not None]
    if whole is None or whole.estimate == 1 or not tried:
        return ""
    given_back = {
        setting: 1 - math.log(ratio.estimate) / math.log(whole.estimate) for setting, ratio in tried
    }
    setting, ratio = max(tried, key=lambda one: given_back[one[0]])
    if ratio.low <= whole.high and ratio.high >= whole.low:
        return ""
    changes = f"{figures.change(ratio)} ({figures.change_range(ratio)}) instead of {figures.change(whole)}"
    return f"with {setting} on the head, {changes}{_part(given_back[setting])}"


def _plan(explained: Explained) -> str:
    changed = [change for change in explained.plans if change.changed]
    more = f"; {len(changed) - 1} more changed" if len(changed) > 1 else ""
    return f"plan of {differing.plan(changed[0])}{more}" if changed else ""


def _time(explained: Explained) -> str:
    """The wait with most of the response time's change; if CPU time has more, the function and its part."""
    response, *spent = explained.wall_clock or (None,)
    most = response and _largest(spent, response)
    if response and most and most.name not in (wall_clock.ON_CPU, wall_clock.ELSEWHERE):
        return f"{_sized(most, response)} of {_whole(response)} of response time per transaction"
    cpu = explained.cpu
    if cpu is None or not (function := _largest([*explained.named, *explained.narrowed], cpu)):
        return ""
    part = _largest(explained.parts, cpu)
    where = f"; {_sized(part, cpu)}" if part and part.name != function.name else ""
    return f"{_sized(function, cpu)} of {_whole(cpu)} of server CPU time per transaction{where}"


def _largest(changes: Iterable[Change], whole: Change) -> Change | None:
    """The change that goes furthest in the whole's direction, and certainly goes there."""
    sign = math.copysign(1.0, whole.difference.estimate)
    certain = [
        change for change in changes if sign * change.difference.low > 0 < sign * change.difference.high
    ]
    return max(certain, key=lambda change: sign * change.difference.estimate, default=None)


def _sized(change: Change, whole: Change) -> str:
    size = figures.difference(change.difference)
    return f"{change.name} {size}{_part(change.difference.estimate / whole.difference.estimate)}"


def _whole(whole: Change) -> str:
    return figures.difference(Interval.exactly(whole.difference.estimate)).partition(" (")[0]


def _part(part: float) -> str:
    return f", {100 * part:.0f}{SPACE}%{', explains little' if part < wording.LITTLE else ''}"
