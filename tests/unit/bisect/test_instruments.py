"""Bisections by counts, which are what the tests say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from shootout.bisect import measure
from shootout.commands.bisect import CAPABILITY
from shootout.count import instrument as counting
from shootout.count.instrument import Callgrind, Counted
from shootout.errors import InputError
from shootout.measure.plan import Plan
from shootout.model.run import Observe
from shootout.parser import Parser
from shootout.writers import markdown
from tests.support.bisect.builders import a_bisection, written
from tests.unit.bisect.test_counts import counted
from tests.unit.bisect.test_measure import a_question


@dataclass
class Cycles(Callgrind):
    """Writes no documents; remembers them."""

    ratios: Mapping[str, float]  # to the base, by label; 1 for others
    name: str = "cycles"
    stored: str = "cycles"
    title: str = "cycles"
    profile: str = "count"
    seen: tuple[Counted, ...] = ()

    def check(self, plan: Plan) -> None:
        if "v30" in plan.servers and "v31" in plan.servers:
            raise InputError("v31 cannot be counted")

    def measure(self, plan: Plan, results: Path, observe: Observe) -> None:
        _, *heads = plan.servers
        self.seen += (counted({label: self.ratios.get(label, 1.0) for label in heads}),)

    def counted(self, results: Path, base: str) -> dict[str, Counted]:
        return {str(number): document for number, document in enumerate(self.seen)}

    def differences(self, results: Path, older: str, newer: str) -> tuple[str, ...]:
        return ()


def offered(monkeypatch: pytest.MonkeyPatch, **ratios: float) -> Cycles:
    """Have this be the instrument."""
    instrument = Cycles(ratios)
    monkeypatch.setattr(counting, "CALLGRIND", instrument)
    return instrument


def parser() -> Parser:
    declared = Parser(allow_abbrev=False)
    CAPABILITY.command(declared)
    return declared


def test_the_instrument_is_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    instrument = offered(monkeypatch)
    assert parser().parse_args(["--cycles"]).instrument is instrument
    assert parser().parse_args([]).instrument is None


def test_an_instrument_finds_the_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    instrument = offered(monkeypatch, v17=1.02, **{f"v{number}": 1.02 for number in range(18, 31)})
    question = replace(a_question(30), instrument=instrument)
    path = measure.bisect(question, tmp_path, lambda progress: None)
    judged = CAPABILITY.judge(path)
    assert judged.exit_code == 1
    assert [judged.value[key] for key in ("answer", "first", "instrument")] == ["step", "v17", "cycles"]
    assert len(instrument.seen) <= 1 + 5
    assert "more cycles" in markdown.write(judged)
    listing = CAPABILITY.listing(tmp_path, lambda reason: None)
    assert listing is not None
    assert [page.path for page in listing.pages] == [CAPABILITY.page(path)]
    assert "shootout cycles --servers" in markdown.write(judged)


def test_what_an_instrument_cannot_measure_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    question = replace(a_question(31), instrument=offered(monkeypatch))
    with pytest.raises(InputError, match="v31 cannot be counted"):
        measure.bisect(question, tmp_path, lambda progress: None)
    assert not [*tmp_path.iterdir()]


def test_a_bisection_by_an_instrument_that_is_gone_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, a_bisection(instrument="cycles"))
    with pytest.raises(InputError, match="bisected by 'cycles'"):
        CAPABILITY.judge(path)
    reasons: list[str] = []
    assert CAPABILITY.listing(tmp_path, reasons.append) is None
    assert len(reasons) == 1
