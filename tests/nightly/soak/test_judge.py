"""Findings of soaks: simulated curves without a difference, and with differences that must be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lab.curves import (
    SECONDS,
    curve,
    decided,
    dipping,
    disturbed,
    falling,
    in_turns,
    judged,
    leaking,
    sloping,
    stalled,
    stepping,
)
from shootout.model.verdict import Verdict
from shootout.soak import judge
from shootout.soak.curves import Curve

PAIRS = 120


@pytest.mark.parametrize("seconds", [judge.SECONDS_MIN, SECONDS, 3600])
def test_equal_servers_rarely_differ(seconds: int) -> None:
    generator = np.random.default_rng(seconds)
    pairs = PAIRS if seconds < 3600 else PAIRS // 4
    alarms = sum(
        bool(decided(judged(curve(generator, seconds), curve(generator, seconds)))) for _ in range(pairs)
    )
    assert alarms <= 0.05 * pairs


@pytest.mark.parametrize(
    ("spoilt", "kind", "least"),
    [
        (stalled, "stalls", 1.0),
        (leaking, "memory", 1.0),
        (dipping, "dips", 1.0),
        (falling, "level", 1.0),
        (stepping, "step", 0.9),
        (sloping, "slope", 0.8),
    ],
)
def test_ten_minutes_show_it(spoilt: Callable[[Curve], Curve], kind: str, least: float) -> None:
    generator = np.random.default_rng(2)
    hits = [
        judged(curve(generator), spoilt(curve(generator)), turns=kind == "step")[kind].verdict
        is Verdict.REGRESSED
        for _ in range(50)
    ]
    assert np.mean(hits) >= least


def test_disturbances_are_no_difference_and_seldom_hide_a_step() -> None:
    generator = np.random.default_rng(15)
    alarms, hits = [], []
    for _ in range(PAIRS):
        base, head = (disturbed(generator, each) for each in in_turns(generator, SECONDS))
        alarms += decided(judged(base, head, turns=True))
        hits += [judged(base, stepping(head), turns=True)["step"].verdict is Verdict.REGRESSED]
    assert len(alarms) <= 0.05 * PAIRS
    assert np.mean(hits) >= 0.5  # as they are: 0.03


def test_the_detectable_loss_is_found_in_four_of_five() -> None:
    generator = np.random.default_rng(12)
    hits = []
    for _ in range(200):
        base, head = in_turns(generator, SECONDS)
        loss = judge.detectable(base, head, SECONDS, 0.95)
        midway = np.where(np.arange(SECONDS) < SECONDS // 2, 1.0, 1 - loss)
        hits.append(judged(base, replace(head, tps=head.tps * midway), turns=True)["step"].verdict)
    assert 0.7 <= np.mean([each is Verdict.REGRESSED for each in hits]) <= 0.9
