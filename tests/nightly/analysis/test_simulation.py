"""Whole gates in simulation keep the bounds that docs/results.md states: a few of each kind.

`make bench-verdict ARGS="--parts simulated"` makes more, with more kinds of noise.
"""

from __future__ import annotations

import numpy as np
import pytest

from lab.verdict.simulated import (
    CELLS,
    EXPLAINED,
    GATE,
    Noise,
    alarming,
    gates,
    normal,
    share,
    two_modes,
    wild,
    with_loss,
)
from shootout.model.verdict import Verdict


@pytest.mark.parametrize(
    ("profile", "spread", "noise", "of_rounds"),
    [
        ("gate", 0.04, normal, EXPLAINED[0]),
        ("gate", 0.08, wild, EXPLAINED[1]),
        ("quick", 0.04, two_modes, EXPLAINED[3]),
    ],
)
def test_a_server_against_itself_rarely_alarms(
    profile: str, spread: float, noise: Noise, of_rounds: list[float]
) -> None:
    """In 5 of 100 gates before confirmation, as is asked, and some more where starts end early by chance."""
    before, after, failing = alarming(
        list(gates(150, [0.0] * CELLS, spread, noise, profile, of_rounds=of_rounds))
    )
    assert before <= 0.09
    assert after <= 0.025
    assert failing <= 0.0125


def test_what_rounds_explain_is_found_more_often() -> None:
    """A loss of 3 % among starts that differ by 3 %, judged without and with their rounds."""
    without, with_rounds = (
        share(
            [
                each.after[0].verdict is Verdict.REGRESSED
                for each in gates(80, with_loss(0.03), 0.03, profile="quick", of_rounds=of_rounds)
            ]
        )
        for of_rounds in (0.0, 1.0)
    )
    assert with_rounds >= without + 0.05


def test_a_known_noise_floor_makes_false_alarms_rarer() -> None:
    before, after, _ = alarming(list(gates(150, [0.0] * CELLS, 0.04, profile="quick", known=True)))
    assert before <= 0.04
    assert after <= 0.01


def test_a_loss_as_large_as_the_margin_is_rarely_called_equivalent() -> None:
    """Starts end as soon as the interval is narrow, so when it can lie within the margin. Asked are 2.5 %."""
    loss = 1 - 1 / (1 + GATE.policy.margin)
    found = [cell.verdict for gate in gates(40, [loss] * CELLS, 0.01) for cell in gate.after]
    assert share([verdict is Verdict.EQUIVALENT for verdict in found]) <= 0.05


def test_what_a_gate_says_it_could_have_seen_it_sees() -> None:
    """Gates that pass name a loss; in others one of their cells has lost so much, and the others nothing."""
    passed = [gate.after[0].detectable for gate in gates(20, [0.0] * CELLS, 0.015)]
    named = float(np.median([each for each in passed if each is not None]))
    flagged = [gate.after[0].verdict is Verdict.REGRESSED for gate in gates(120, with_loss(named), 0.015)]
    assert 0.72 <= share(flagged) <= 0.92


def test_a_loss_is_found_and_the_interval_of_what_was_flagged_covers_it() -> None:
    """A flagged cell was chosen for being large; fresh starts take part of that back."""
    cells = [gate.after[0] for gate in gates(100, with_loss(0.03), 0.02)]
    flagged = [cell.ratio for cell in cells if cell.verdict is Verdict.REGRESSED]
    assert len(flagged) >= 0.7 * len(cells)
    assert share([ratio.low <= 0.97 <= ratio.high for ratio in flagged]) >= 0.9
