import json
import math
import os
from pathlib import Path

import pytest

from shootout import cli, numbers
from shootout.analysis import ledger
from shootout.document import journal, ledgers
from shootout.model.plan import Policy
from shootout.model.verdict import Verdict
from shootout.runner import disk, doctor, interference, machine, preflight
from tests.analysis.builders import an_entry
from tests.analysis.test_power import a_share
from tests.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.runs"]


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("loss", doctor.CHANGES)
def test_the_power_is_that_of_the_rule(loss: float, spread: float) -> None:
    """By simulation of the rule, beside the noise floor of A/A cells with this spread."""
    bar = max(math.log1p(0.02), 1.5 * 1.96 * spread / math.sqrt(doctor.STARTS))
    flagged = a_share(-math.log1p(-loss), spread, doctor.STARTS, Policy(), 1, bar=bar)
    assert doctor.power(loss, ledger.Noise(spread), 0.02, Policy()) == pytest.approx(flagged, abs=0.1)


def test_power_without_noise_is_that_of_the_margin() -> None:
    assert [doctor.power(loss, ledger.Noise(0.0), 0.02, Policy()) for loss in (0.01, 0.03)] == [0, 1]


def test_noise_is_told_for_each_kind_of_cell() -> None:
    entries = [an_entry(run="r1"), an_entry(run="r2"), an_entry(run="r2", spread=0.03, threads=8)]
    four, eight = doctor.noise(entries, Policy())
    assert [(each.threads, each.runs) for each in (four, eight)] == [(4, 2), (8, 1)]
    assert [four.spread, eight.spread] == pytest.approx([0.01, 0.03])
    assert four.power["0.05"] > eight.power["0.05"]
    assert [*four.power.values()] == sorted(four.power.values())


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "SECONDS", 0.2)
    monkeypatch.setattr(disk, "SECONDS", 0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_the_doctor_tells_of_machine_and_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "processor" in text
    assert "no A/A cells measured on this runner yet" in text
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


@pytest.mark.real
@pytest.mark.usefixtures("hasty")
def test_calibrating_fills_the_ledger_with_runs_no_longer_than_the_profiles(lab: Lab, tmp_path: Path) -> None:
    profile = tmp_path / "short.toml"
    profile.write_text(lab.profile.read_text().replace("budget_s = 600.0", "budget_s = 4.0"))
    options = ("--profile", str(profile), "--workloads", "oltp_point_select", "--threads", "1,2")
    out = ("--out", str(tmp_path), "--budget", "0.3", "--json")
    done = lab.run(SHOOTOUT, "doctor", "--calibrate", BASE, *options, *out)
    assert done.returncode == 0, done.stderr
    documents = [journal.read(path) for path in journal.find(tmp_path / "results")]
    assert documents[0].header.profile.sampling.budget_s == 4.0
    assert {start.block for start in documents[0].starts} == {"oltp_point_select-t1"}  # as many as fit
    assert [each.header.profile.dataset.seed for each in documents] == [*range(1, len(documents) + 1)]
    runs = [noise["runs"] for noise in json.loads(done.stdout)["noise"]]
    starts = [start for document in documents for start in document.starts]
    measured = [each for start in starts for each in (*start.samples, start.aa_control) if each]
    busy = not all(each.steady for each in measured)  # may leave a run without two steady starts
    assert runs == [len(documents)] or busy
    assert lab.left() == ([], [])
