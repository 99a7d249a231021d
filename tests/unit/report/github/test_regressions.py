"""Losses in the history that still stand, and what changed with them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import date

import pytest
from msgspec import structs

from shootout import numbers
from shootout.analysis import history
from shootout.model.history import ChangePoint, Regression
from shootout.model.verdict import Acknowledgement, Comparison, Interval, MetricComparison
from shootout.report.github import regressions
from tests.support import builders
from tests.unit.analysis.test_acknowledgements import known
from tests.unit.analysis.test_history import runs

pytest_plugins = ["tests.support.report.github.github_server"]

LOSS = (*[-2] * 8, *[-9] * 5)  # percent, beside the anchor
PERCENT = f"{numbers.SPACE}%"


@functools.cache
def measured() -> tuple[Comparison, ...]:
    return tuple(runs(*LOSS))


@functools.cache
def lost() -> Regression:
    (regression,) = regressions.unrecovered(history.series(measured()), measured())
    return regression


def a_change(first_bad: int, before: float, after: float, *, confirmed: bool = True) -> ChangePoint:
    runs = {"last_good": f"r{first_bad - 1:03}", "first_bad": f"r{first_bad:03}"}
    return ChangePoint(**runs, before=before, after=after, confirmed=confirmed)


def unrecovered(
    comparisons: Sequence[Comparison], *changes: ChangePoint, accepted: Sequence[Acknowledgement] = ()
) -> tuple[Regression, ...]:
    """The regressions left by these changes in the runs' history."""
    (series,) = history.series(comparisons[:1])
    points = tuple(structs.replace(series.points[0], run=one.header.run) for one in comparisons)
    changed = structs.replace(series, points=points, changes=changes)
    return regressions.unrecovered([changed], comparisons, accepted)


def test_a_loss_in_the_history_stands() -> None:
    assert (lost().last_good, lost().first_bad, lost().newest) == ("r008", "r009", "r013")
    assert lost().after / lost().before == pytest.approx(0.93, abs=0.01)
    assert lost().changed == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], None),
        ([a_change(3, 1.0, 0.9)], ("r003", 1.0, 0.9)),
        ([a_change(3, 1.0, 0.9, confirmed=False)], None),
        ([a_change(3, 1.0, 0.985)], None),  # within the margin of 2 %
        ([a_change(3, 0.9, 1.0)], None),  # a gain
        ([a_change(3, 1.0, 0.9), a_change(6, 0.9, 0.99)], None),  # made up for
        ([a_change(3, 1.0, 0.9), a_change(6, 0.9, 0.95)], ("r003", 1.0, 0.95)),  # half of it
        ([a_change(3, 1.0, 0.9), a_change(6, 0.9, 0.99, confirmed=False)], ("r003", 1.0, 0.9)),
        ([a_change(3, 1.0, 0.9), a_change(6, 0.9, 0.8)], ("r003", 1.0, 0.8)),  # and another one
        ([a_change(3, 1.0, 0.9), a_change(6, 0.9, 1.1), a_change(9, 1.1, 1.0)], ("r009", 1.1, 1.0)),
    ],
)
def test_a_loss_stands_until_a_confirmed_level_makes_up_for_it(
    changes: list[ChangePoint], expected: tuple[str, float, float] | None
) -> None:
    losses = [(loss.first_bad, loss.before, loss.after) for loss in unrecovered(measured(), *changes)]
    assert losses == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("changes", "acknowledged"),
    [
        ([a_change(3, 1.0, 0.9)], True),  # though the newest run's verdict may be inconclusive
        ([a_change(3, 1.3, 1.17)], True),  # though still faster than the anchor
        ([a_change(3, 1.0, 0.8)], False),  # too large
        ([a_change(3, 1.0, 0.9), a_change(6, 0.9, 0.81)], False),  # together
        ([a_change(3, 1.0, 0.8), a_change(6, 0.8, 0.9)], True),  # what is left
    ],
)
def test_a_loss_is_acknowledged_by_its_step(changes: list[ChangePoint], acknowledged: bool) -> None:
    accepted = known(workload="*", at_most=0.12, expires=date.max)
    assert not any(each.acknowledged for each in measured()[-1].cells)
    (loss,) = unrecovered(measured(), *changes, accepted=[accepted])
    assert loss.acknowledged == (accepted if acknowledged else None)
    (loss,) = unrecovered(measured(), *changes, accepted=[known(workload="*", expires=date.min)])
    assert loss.acknowledged is None


def built(comparison: Comparison, **changes: object) -> Comparison:
    """The same run, with records of its servers; the head's with `changes`."""
    servers = (builders.a_server(lost().anchor), builders.a_server(lost().server, **changes))
    return structs.replace(comparison, header=structs.replace(comparison.header, servers=servers))


def test_what_changed_with_it_is_named() -> None:
    good, bad = measured()[:8], measured()[8:]
    change = a_change(9, 1.0, 0.9)
    settings = builders.a_server().settings
    for changes, expected in (
        ({}, ()),
        ({"build": "f" * 64}, ("b: different build of b",)),
        ({"build": "f" * 64, "version": "9"}, ("b: version b → 9",)),
        ({"settings": settings[1:]}, ("b: buffer_pool_bytes 536870912 → –",)),
    ):
        made = [*(built(each) for each in good), *(built(each, **changes) for each in bad)]
        (loss,) = unrecovered(made, change)
        assert loss.changed == expected
        assert loss.conditions == (expected if "settings" in changes else ())  # not the server's


def test_builds_are_named_by_their_commits() -> None:
    good, bad = (
        [built(each, build=digit * 64, commit=digit * 40) for each in part]
        for digit, part in (("1", measured()[:8]), ("2", measured()[8:]))
    )
    commits = {"good_commit": "1" * 40, "bad_commit": "2" * 40}
    change = structs.replace(a_change(9, 1.0, 0.9), **commits)
    (loss,) = unrecovered([*good, *bad], change)
    assert loss.changed == ("b: commit 111111111111 → 222222222222",)
    assert (loss.good_commit, loss.bad_commit) == ("1" * 40, "2" * 40)
    assert loss.options["--threads"] == str(loss.threads)


def working(comparison: Comparison, base: float, head: float, name: str = "rows_read") -> Comparison:
    """The same run with this much of some work per transaction on the two servers."""
    none = Interval(estimate=0.0, low=0.0, high=0.0)
    figure = MetricComparison(name=name, base=base, head=head, difference=none, ratio=None, p_value=1.0)
    cells = tuple(structs.replace(each, metrics=(figure,)) for each in comparison.cells)
    return structs.replace(comparison, cells=cells)


def test_the_work_that_changed_is_held_against_the_anchors() -> None:
    change = a_change(9, 1.0, 0.9)
    same = [working(each, 1.0 + number, 2.0 + 2 * number) for number, each in enumerate(measured())]
    assert unrecovered(same, change)[0].changed == ()
    more = [*same[:8], *(working(each, 5.0, 20.0) for each in measured()[8:])]
    assert unrecovered(more, change)[0].changed == (f"rows read: +100{PERCENT} per transaction",)
    background = [working(each, 5.0, 10.0 + number, "fsyncs") for number, each in enumerate(measured())]
    assert unrecovered(background, change)[0].changed == ()
