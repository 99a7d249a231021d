"""Curves of soaks with known faults, and their judgements."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np

from shootout.model.verdict import Verdict
from shootout.soak.curves import Curve
from shootout.soak.judge import compare
from shootout.soak.values import Finding

SECONDS = 600
Generator = np.random.Generator


def curve(generator: Generator, seconds: int = SECONDS, shifts: float = 0.5) -> Curve:
    """Autocorrelated noise of 4 %, so many shifts of about 2 % in ten minutes; memory that fills a pool."""
    steps = (0.8 * generator.standard_normal(seconds + 50)).tolist()
    noise = 0.04 * np.array([*accumulate(steps, lambda level, step: 0.6 * level + step)])[50:]
    for _ in range(generator.poisson(shifts * seconds / 600)):
        noise[generator.integers(seconds) :] += generator.normal(0, 0.02)
    pool = 7e8 * -np.expm1(-np.arange(seconds) / 120)
    jumps = np.cumsum(1e5 * generator.standard_normal(seconds) * (generator.random(seconds) < 0.05))
    return Curve(1000 * np.exp(noise), np.full(seconds, 0.01), {"memory": 2e8 + pool + jumps})


def stalled(healthy: Curve) -> Curve:
    """Three seconds in each 45."""
    often = np.arange(len(healthy.tps)) % 45 > 41
    return replace(healthy, tps=np.where(often, 3.0, healthy.tps))


def sloping(healthy: Curve) -> Curve:
    """One percent in each minute."""
    return replace(healthy, tps=healthy.tps * 0.99 ** (np.arange(len(healthy.tps)) / 60))


def judged(base: Curve, head: Curve, turns: bool = False) -> dict[str, Finding]:
    return {each.kind: each for each in compare(base, head, 0.95, turns)}


def decided(findings: dict[str, Finding]) -> list[str]:
    return [kind for kind, each in findings.items() if each.verdict in (Verdict.REGRESSED, Verdict.IMPROVED)]


def in_turns(generator: Generator, seconds: int) -> tuple[Curve, Curve]:
    """Two servers on a shared machine, whose speed walks by tens of percents in the minutes of both."""
    drift = np.cumsum(0.01 * generator.standard_normal(seconds))
    base, head = (curve(generator, seconds, shifts=0) for _ in range(2))
    return replace(base, tps=base.tps * np.exp(drift)), replace(head, tps=head.tps * np.exp(drift))


def leaking(healthy: Curve) -> Curve:
    """One megabyte in each second."""
    return replace(healthy, gauges={"memory": healthy.gauges["memory"] + 1e6 * np.arange(len(healthy.tps))})


def dipping(healthy: Curve) -> Curve:
    """By 30 %, for four of thirty seconds."""
    return replace(healthy, tps=np.where(np.arange(len(healthy.tps)) % 30 < 4, 0.7, 1.0) * healthy.tps)


def falling(healthy: Curve) -> Curve:
    """By 30 %, after three quarters of the load."""
    early = np.arange(len(healthy.tps)) < 0.75 * len(healthy.tps)
    return replace(healthy, tps=np.where(early, 1.0, 0.7) * healthy.tps)


def stepping(healthy: Curve) -> Curve:
    """By 12 %, after a third of the load."""
    early = np.arange(len(healthy.tps)) < len(healthy.tps) / 3
    return replace(healthy, tps=np.where(early, 1.0, 0.88) * healthy.tps)


def disturbed(generator: Generator, healthy: Curve) -> Curve:
    """Twice in each minute, for some seconds, by up to 70 %: the disk of a shared machine."""
    tps = healthy.tps.copy()
    for at in np.flatnonzero(generator.random(len(tps)) < 1 / 30):
        tps[at : at + generator.integers(2, 8)] *= generator.uniform(0.3, 0.8)
    return replace(healthy, tps=tps)
