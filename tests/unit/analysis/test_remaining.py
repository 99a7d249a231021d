from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from shootout.analysis import compare, remaining, stats
from shootout.model.plan import Load, Policy
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


NEARLY = (-1.44, 1.44, 0.72, -0.72)  # equivalent, once the interval is narrow enough
LONG: dict[str, Any] = {"starts_max": 24, "half_width": 0.004}


def test_a_cell_that_is_nearly_decided_needs_some_more_starts() -> None:
    comparison = a_comparison(0, *NEARLY, **LONG)
    assert comparison.cells[-1].verdict is Verdict.INCONCLUSIVE
    found = remaining.remaining(comparison)
    assert found is not None
    assert (found.cells, found.decided) == (1, 1)
    # Both servers took 8 starts in 10 minutes: two and a half minutes for each more.
    assert found.minutes % 2.5 == pytest.approx(0)
    assert 2.5 <= found.minutes <= 2.5 * 20


@pytest.mark.parametrize(
    ("change_percent", "noise", "sampling"),
    [
        (-2, (-4, 4, -3, 3, 0), LONG),  # on the margin
        (-45, (-90, 90), LONG),  # two starts tell too little
        (-30, (-60, 60, 0), LONG),  # the change may be anything
        (0, NEARLY, {"starts_max": 4, "half_width": 0.004}),  # it has them all
        (0, NEARLY, {"starts_max": 6, "half_width": 0.004}),  # two more are not enough
        (0, NEARLY, {"starts_max": 24, "half_width": 0.3, "starts_min": 2}),  # its interval is narrow enough
    ],
)
def test_nothing_is_promised_of_a_cell_that_may_stay_undecided(
    change_percent: float, noise: tuple[float, ...], sampling: dict[str, Any]
) -> None:
    comparison = a_comparison(change_percent, *noise, **sampling)
    assert comparison.cells[-1].verdict is Verdict.INCONCLUSIVE
    assert remaining.remaining(comparison) is None


def test_nothing_is_promised_of_a_run_that_takes_no_more_starts() -> None:
    comparison = a_comparison(0, *NEARLY, **LONG)
    (metric,) = comparison.cells[-1].judged
    confirmed = structs.replace(comparison.cells[-1], judged=(structs.replace(metric, confirmed=False),))
    over = structs.replace(comparison, cells=(comparison.cells[0], confirmed))
    assert remaining.remaining(over) is None


def test_four_of_five_predictions_hold() -> None:
    """Simulated cells, judged by Student's interval as they are predicted."""
    rng, margin, policy, held = np.random.default_rng(1), math.log1p(0.02), Policy(), []
    for change in (0.0, 0.01, 0.02, 0.03, 0.05, 0.1) * 12:
        for spread in (0.003, 0.01, 0.02, 0.04):
            logs = rng.normal(-change, spread, 24)
            if _is_decided(logs[:4], margin):
                continue
            starts = remaining.starts_needed(logs[:4].tolist(), 24, margin, policy, comparisons=7)
            held += [] if starts is None else [_is_decided(logs[:starts], margin)]
    assert len(held) > 30
    assert np.mean(held) >= 0.8


def _is_decided(logs: NDArray[np.float64], margin: float) -> bool:
    effect = stats.over_starts(logs.tolist(), 0.95)
    changed = abs(effect.estimate) >= margin and 7 * effect.p_value < 0.01
    return changed or (-margin <= effect.low and effect.high <= margin)


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
