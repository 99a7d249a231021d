import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import change_points, compare, history, stats
from shootout.model.history import HistorySeries
from shootout.model.verdict import Comparison
from tests.support.analysis.builders import a_document, a_server, starts_of, with_header


def a_run(
    number: int,
    change_percent: float,
    fingerprint: str = "f",
    settings: tuple[str, str] = ("in-memory", "in-memory"),
) -> Comparison:
    servers = [a_server(label, settings_name=name) for label, name in zip("ab", settings, strict=True)]
    document = a_document(starts_of(change_percent, (-0.1, 0.1)), servers=servers)
    runner = structs.replace(document.header.runner, fingerprint=fingerprint)
    started = f"2026-01-{number:02}"
    return compare.compare(with_header(document, run=f"r{number:03}", started=started, runner=runner))


def runs(*changes_percent: float) -> list[Comparison]:
    noise = np.random.default_rng(1)
    return [a_run(i, change + float(noise.normal(0, 0.3))) for i, change in enumerate(changes_percent, 1)]


def only(comparisons: list[Comparison]) -> HistorySeries:
    (found,) = history.series(comparisons)
    return found


def test_a_change_names_the_last_good_and_the_first_bad_run() -> None:
    (change,) = only(runs(*[-5] * 8, *[-12] * 5)).changes
    assert (change.last_good, change.first_bad, change.confirmed) == ("r008", "r009", True)
    assert change.before == pytest.approx(math.exp(-0.05), abs=0.005)
    assert change.after == pytest.approx(math.exp(-0.12), abs=0.005)


def test_a_change_has_the_commits_around_it() -> None:
    def built(run: Comparison, commit: str) -> Comparison:
        servers = tuple(structs.replace(each, commit=commit) for each in run.header.servers)
        return structs.replace(run, header=structs.replace(run.header, servers=servers))

    found = runs(*[-5] * 8, *[-12] * 5)
    (change,) = only([built(run, f"{number:x}" * 40) for number, run in enumerate(found)]).changes
    assert change.commits == f"{'7' * 12}..{'8' * 12}"
    (change,) = only([built(run, "a" * 40) for run in found]).changes
    assert change.commits == ""


@pytest.mark.parametrize(
    ("percents", "expected"),
    [
        ([*[-5] * 10, -12], [("r010", "r011", False)]),  # suspected before it is a level
        ([*[-5] * 10, -12, -12], [("r010", "r011", False)]),
        ([2.7, 1.5, 1.8, -0.5, 1.4, -6.4, -5.7, -5.6, -7.2], [("r005", "r006", False)]),
        ([*[-5] * 6, -15, *[-5] * 6], []),  # a bad run that is over
        ([0, -20], []),  # too few
    ],
)
def test_what_may_be_a_change_is_suspected(percents: list[float], expected: list[object]) -> None:
    changes = only(runs(*percents)).changes
    assert [(each.last_good, each.first_bad, each.confirmed) for each in changes] == expected


def test_series_are_apart_by_runner_and_in_the_order_of_runs() -> None:
    found = history.series([a_run(2, 0), a_run(1, 0), a_run(3, 0, "g")])
    assert [(each.runner, [point.run for point in each.points]) for each in found] == [
        ("f", ["r001", "r002"]),
        ("g", ["r003"]),
    ]
    assert found[0].points[0].tps > 0


def test_series_are_apart_by_settings() -> None:
    """Else every other night of two matrices would be a change; runs of one upgrade share a profile."""
    settings = (("fast", "fast"), ("safe", "safe"), ("fast", "safe"))
    nights = [a_run(1 + night, -20 * (night % 3), settings=settings[night % 3]) for night in range(30)]
    series = [(each.settings, len(each.points), each.changes) for each in history.series(nights)]
    assert series == [("fast", 10, ()), ("safe", 10, ()), ("safe against fast", 10, ())]


def suspected_runs(level: list[float]) -> int:
    """By the definition: at most half of the values, all of them far on one side of the others' median."""
    for count in range(len(level) // 2, 0, -1):
        rest, newest = level[:-count], level[-count:]
        if len(rest) >= change_points.PIECE_MIN:
            centre = statistics.median(rest)
            spread = stats.MAD * statistics.median(abs(value - centre) for value in rest)
            far = max(history.SUSPICIOUS * spread, history.SUSPICIOUS_MIN)
            if min(newest) - centre > far or centre - max(newest) > far:
                return count
    return 0


@given(
    st.lists(st.integers(-9, 9).map(lambda value: value / 1000), max_size=25),
    st.lists(st.integers(-90, 90).map(lambda value: value / 1000), max_size=8),
    st.sampled_from((-0.05, 0.0, 0.05)),
)
def test_the_newest_values_are_suspected_by_the_definition(
    before: list[float], newest: list[float], moved: float
) -> None:
    level = [*before, *(moved + value for value in newest)]
    assert history._suspected_runs(level) == suspected_runs(level)


def test_no_runs_have_no_series() -> None:
    assert history.series([]) == ()
