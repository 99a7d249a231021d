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
    others: float = 0.005,
    **sampling: float,
) -> Comparison:
    """A cell, and A/A cells whose starts differ by `others`."""
    document = structs.replace(a_document(starts_of(change_percent, noise)), end=end)
    profile = document.header.profile
    sampling_ = structs.replace(profile.sampling, **sampling)
    found = compare.compare(with_profile(document, load=load or profile.load, sampling=sampling_))
    control = structs.replace(found.cells[-1], per_start=(1 - others, 1 + others) * 2, judged=())
    return structs.replace(found, aa_controls=(control,) * 4)


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


@pytest.mark.parametrize(("others", "controls"), [(0.03, 4), (0.005, 2)])
def test_nothing_is_promised_where_starts_differ_much_or_by_an_unknown_amount(
    others: float, controls: int
) -> None:
    comparison = a_comparison(0, *NEARLY, others=others, **LONG)
    known = structs.replace(comparison, aa_controls=comparison.aa_controls[:controls])
    assert remaining.remaining(known) is None


def test_nothing_is_promised_of_a_run_that_takes_no_more_starts() -> None:
    comparison = a_comparison(0, *NEARLY, **LONG)
    (metric,) = comparison.cells[-1].judged
    confirmed = structs.replace(comparison.cells[-1], judged=(structs.replace(metric, confirmed=False),))
    over = structs.replace(comparison, cells=(comparison.cells[0], confirmed))
    assert remaining.remaining(over) is None


def test_four_of_five_predictions_hold() -> None:
    """Simulated runs of seven cells, judged by Student's interval, as they are predicted; no noisy one."""
    rng, margin, policy = np.random.default_rng(1), math.log1p(0.02), Policy()
    held: dict[float, list[bool]] = {}
    for spread in (0.005, 0.01, 0.02, 0.04, 0.08) * 8:
        made = int(rng.integers(3, 7))
        run = rng.normal(-rng.choice((0.0, 0.01, 0.02, 0.03, 0.05, 0.1), (7, 1)), spread, (7, 24))
        if not remaining.is_quiet(run[:, :made].tolist()):
            continue
        for logs in run:
            if not _is_decided(logs[:made], margin):
                starts = remaining.starts_needed(logs[:made].tolist(), 24, margin, policy, comparisons=8)
                held.setdefault(spread, []).extend(
                    [] if starts is None else [_is_decided(logs[:starts], margin)]
                )
    every = [each for of_spread in held.values() for each in of_spread]
    assert len(every) > 30
    assert np.mean(every) >= 0.8
    assert held.keys() <= {0.005, 0.01, 0.02}


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
