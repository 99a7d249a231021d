import json
import math
import os
from pathlib import Path

import pytest
from msgspec import structs

from shootout import cli, numbers
from shootout.analysis import ledger
from shootout.document import ledgers
from shootout.model.plan import Policy
from shootout.model.run import Finding
from shootout.model.verdict import Verdict
from shootout.report import listings
from shootout.runner import disk, doctor, interference, machine, preflight
from tests.nightly.analysis.test_power import a_share
from tests.support import builders
from tests.support.analysis.builders import an_entry

pytest_plugins = ["tests.support.runs"]


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("loss", doctor.CHANGES)
def test_the_power_is_that_of_the_rule(loss: float, spread: float) -> None:
    """By simulation of the rule, beside the noise floor of A/A cells with this spread."""
    bar = max(math.log1p(0.02), 1.5 * 1.96 * spread / math.sqrt(doctor.STARTS))
    flagged = a_share(-math.log1p(-loss), spread, doctor.STARTS, Policy(), 1, bar=bar)
    assert doctor.power(loss, ledger.Noise(spread), "any", Policy()) == pytest.approx(flagged, abs=0.1)


def test_power_without_noise_is_that_of_the_margin() -> None:
    assert [doctor.power(loss, ledger.Noise(0.0), "any", Policy()) for loss in (0.01, 0.03)] == [0, 1]


def test_noise_is_told_for_each_kind_of_cell() -> None:
    entries = [an_entry(run="r1"), an_entry(run="r2"), an_entry(run="r2", spread=0.03, threads=8)]
    four, eight = doctor.noise(entries, Policy())
    assert [(each.threads, each.runs) for each in (four, eight)] == [(4, 2), (8, 1)]
    assert [four.spread, eight.spread] == pytest.approx([0.01, 0.03])
    assert four.power["0.05"] > eight.power["0.05"]
    assert [*four.power.values()] == sorted(four.power.values())


@pytest.mark.parametrize(
    ("spreads", "said"),
    [
        ([], "no A/A cells measured yet: "),
        ([0.001, 0.01], "fit to see losses of 3 % in 10 minutes; 1 disturbance, marked ! below"),
        ([0.001, 0.2], "unfit: at least one run in five would miss a loss of 10 %; 1 disturbance"),
    ],
)
def test_a_summary_comes_first(spreads: list[float], said: str) -> None:
    entries = [an_entry(spread=spread, threads=number) for number, spread in enumerate(spreads, 1)]
    disturbed = Finding(code="c", what="w", found="f", why="y", fit=False)
    report = doctor.Report(
        runner=builders.a_runner(),
        findings=(disturbed, structs.replace(disturbed, fit=True)),
        noise=doctor.noise(entries, Policy()),
        false_alarms=ledger.false_alarms_of_gates(entries, Policy(), ""),
        aa_cells_wanting=0,
        budget_min=10.0,
    )
    first = listings.doctor(report).headline
    assert first.startswith(said)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "SECONDS", 0.2)
    monkeypatch.setattr(disk, "SECONDS", 0.1)


@pytest.mark.usefixtures("hasty")
def test_what_is_unfit_comes_with_its_reason_and_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preflight, "SPACE_MIN_BYTES", 1 << 60)
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path / "not" / "yet")]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    where = next(number for number, line in enumerate(lines) if line.startswith("! free space"))
    assert lines[where].endswith(" GiB")
    assert lines[where + 1].startswith("Each server of a run has a copy of the data")
    assert lines[where + 2] == "$ shootout cache clear"
    assert not (tmp_path / "not").exists()


@pytest.mark.usefixtures("hasty")
def test_the_doctor_tells_of_machine_and_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "processor" in text
    assert "no A/A cells measured yet" in text
    entries = [an_entry(), an_entry(), an_entry(settings="durable", verdict=Verdict.REGRESSED)]
    ledgers.append(tmp_path / "results" / ledgers.FOLDER, machine.inspect(tmp_path).fingerprint, entries)
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    text = capsys.readouterr().out.replace(numbers.SPACE, " ")
    assert "false alarms: 0 in 2 A/A cells (0 % to 65.8 % of gates of 1 comparison)" in text
    assert "until 71 more A/A cells show no false alarm, only confirmed regressions" in text
    assert "detects −5 %" in text
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["noise"][0]["workload"] == "reads"
    assert found["aa_cells_wanting"] == 71
    (tmp_path / "policy.toml").write_text("false_alarms_max = 1.0\n")
    options = ["--out", str(tmp_path), "--data", str(tmp_path), "--policy", str(tmp_path / "policy.toml")]
    assert cli.main(["doctor", *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["aa_cells_wanting"] == 0
    findings = {finding["code"]: finding for finding in found["findings"]}
    assert findings.keys() >= {
        *("processor", "memory", "filesystem", "mount-options", "swap", "open-files", "free-space", "flush"),
        *("stolen", "busy-processes", "tasks", "cpu-limit"),
    }
    assert findings["user"]["fit"] == (os.geteuid() != 0)
    assert all(finding["why"] for finding in findings.values() if not finding["fit"])
    assert list(tmp_path.glob(".*")) == []
