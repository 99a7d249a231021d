"""The page of a runner."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from msgspec import structs

from shootout.model.history import LedgerEntry
from shootout.model.verdict import Verdict
from shootout.report.judged_runs import JudgedRun
from shootout.report.site import runner
from tests.support.report.site.pages import check_figures


def test_a_runners_page_has_its_noise_and_its_false_alarms(weekly: Path) -> None:
    text = " ".join((weekly / "runner-5e7c0f2a91d4.html").read_text("utf-8").split())
    check_figures(text)
    alarms = "1 false alarm in 20 A/A cells, servers compared with themselves: "
    assert f"{alarms}4.4 % to 74.0 % of runs like the newest would raise one" in text
    assert "4.2 % of CPU time was stolen by other guests while measuring." in text
    assert "Runs on this runner" in text
    assert "noise floor" in text


def test_a_noise_floor_is_that_of_the_rule(weeks: list[JudgedRun]) -> None:
    entries = tuple(
        LedgerEntry(
            format=2,
            run=str(start), runner="5e7c0f2a91d4", workload="w", dataset="d", threads=count, starts=6,
            verdict=Verdict.EQUIVALENT, spreads={"throughput": count / 1000},
        )
        for count in (1, 8)
        for start in (1, 2)
    )  # fmt: skip
    (page,) = runner.pages([dataclasses.replace(weeks[0], aa_entries=entries)])
    for kind in page.kinds:  # two thirds of what a change must rise above, by the rule of verdicts.py
        bar = 1.96 * kind.noise.spread / math.sqrt(6)
        assert kind.floor == pytest.approx(1 - math.exp(-bar), rel=1e-3)


def test_false_alarms_with_other_settings_are_those_of_other_gates(weeks: list[JudgedRun]) -> None:
    (page,) = runner.pages(weeks[::-1])
    alarm = next(entry for entry in weeks[0].aa_entries)
    alarm = structs.replace(alarm, settings="other", verdict=Verdict.REGRESSED)
    other = dataclasses.replace(weeks[0], aa_entries=(*weeks[0].aa_entries, alarm))
    (again,) = runner.pages([*weeks[:0:-1], other])
    assert again.false_alarms == page.false_alarms
