from __future__ import annotations

import pytest
from msgspec import structs

from shootout.analysis import compare, remaining
from shootout.model.plan import Load
from shootout.model.run import EndRecord
from shootout.model.verdict import Comparison, Verdict
from tests.support.analysis.builders import a_document, starts_of, with_profile

END = EndRecord(finished="", elapsed_s=600.0, interrupted=False)


def a_comparison(
    change_percent: float,
    *noise: float,
    end: EndRecord | None = END,
    load: Load | None = None,
    **sampling: float,
) -> Comparison:
    document = structs.replace(a_document(starts_of(change_percent, noise)), end=end)
    profile = document.header.profile
    sampling_ = structs.replace(profile.sampling, **sampling)
    return compare.compare(with_profile(document, load=load or profile.load, sampling=sampling_))


def test_a_cell_that_is_nearly_decided_needs_some_more_starts() -> None:
    comparison = a_comparison(-5, -6, 6, -4, 4, 0)
    assert comparison.cells[-1].verdict is Verdict.INCONCLUSIVE
    found = remaining.remaining(comparison)
    assert found is not None
    assert (found.cells, found.decided) == (1, 1)
    # Both servers took 10 starts in 10 minutes: two minutes for each more.
    assert found.minutes % 2 == pytest.approx(0)
    assert 2 <= found.minutes <= 2 * 15


def test_a_cell_on_the_margin_is_never_decided() -> None:
    found = remaining.remaining(a_comparison(-2, -4, 4, -3, 3, 0))
    assert found == remaining.Remaining(cells=1, decided=0, minutes=0.0)


@pytest.mark.parametrize(
    ("starts_max", "half_width"),
    [
        (5, 0.015),  # it has them all
        (6, 0.015),  # one more is not enough
        (12, 0.3),  # its interval is narrow enough
    ],
)
def test_a_cell_that_the_schedule_gives_too_few_starts_is_never_decided(
    starts_max: float, half_width: float
) -> None:
    noise = (-6, 6, -4, 4, 0)
    short = a_comparison(-5, *noise, starts_min=2, starts_max=starts_max, half_width=half_width)
    assert remaining.remaining(short) == remaining.Remaining(cells=1, decided=0, minutes=0.0)
    more = remaining.remaining(a_comparison(-5, *noise, starts_min=2))
    assert more is not None
    assert more.decided == 1


def test_what_other_metrics_leave_undecided_does_not_count() -> None:
    comparison = a_comparison(-5, -6, 6, -4, 4, 0, load=Load(rate=100.0))
    assert comparison.cells[-1].judged[0].metric == "latency_p95"
    undecided = structs.replace(comparison.cells[-1], verdict=Verdict.INCONCLUSIVE)
    cells = (comparison.cells[0], undecided)
    assert remaining.remaining(structs.replace(comparison, cells=cells)) is None


@pytest.mark.parametrize("end", [END, None])
def test_nothing_remains_where_all_is_decided_or_the_time_is_not_known(end: EndRecord | None) -> None:
    assert remaining.remaining(a_comparison(-20, -0.1, 0.1, end=end)) is None
    assert remaining.remaining(a_comparison(-6, -4, 4, -3, 3, 0, end=None)) is None
