import json
import math
from pathlib import Path

import numpy as np
import pytest
from test_ledger import an_entry

from shootout import cli, doctor, ledger, machine
from shootout.model import Policy


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("loss", doctor.CHANGES)
def test_the_power_is_that_of_the_rule(loss: float, spread: float) -> None:
    """By simulation of the rule: estimate beyond the bar, interval beyond zero."""
    policy, margin, starts = Policy(), 0.02, doctor.STARTS
    rng = np.random.default_rng(3)
    logs = rng.normal(math.log1p(-loss), spread, (20_000, starts))
    means, errors = logs.mean(axis=1), logs.std(axis=1, ddof=1) / math.sqrt(starts)
    bar = max(math.log1p(margin), 1.5 * 1.96 * spread / math.sqrt(starts))
    flagged = float(np.mean((means <= -bar) & (means + 2.5706 * errors < 0)))
    assert doctor.power(loss, spread, margin, policy) == pytest.approx(flagged, abs=0.06)


def test_power_without_noise_is_that_of_the_margin() -> None:
    assert [doctor.power(loss, 0.0, 0.02, Policy()) for loss in (0.01, 0.03)] == [0, 1]


def test_noise_is_told_for_each_kind_of_cell() -> None:
    entries = [an_entry("r1"), an_entry("r2"), an_entry("r2", spread=0.03, threads=8)]
    four, eight = doctor.noise(entries, Policy())
    assert [(each.threads, each.runs) for each in (four, eight)] == [(4, 2), (8, 1)]
    assert [four.spread, eight.spread] == pytest.approx([0.01, 0.03])
    assert four.power["0.05"] > eight.power["0.05"]
    assert [*four.power.values()] == sorted(four.power.values())


def test_the_doctor_tells_of_machine_and_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "processor" in text
    assert "no A/A cell has been measured here yet" in text
    ledger.keep(
        tmp_path / "results" / ledger.FOLDER, machine.inspect(tmp_path).fingerprint, [an_entry(), an_entry()]
    )
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "false alarms: 0 in 2 A/A cells" in text
    assert "sees −5 %" in text
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["noise"][0]["workload"] == "reads"
    assert {finding["what"] for finding in found["findings"]} >= {"processor", "memory", "disk", "open files"}
