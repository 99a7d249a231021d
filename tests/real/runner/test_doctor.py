import json
import os
from pathlib import Path

import pytest

from shootout import cli, numbers
from shootout.document import ledgers
from shootout.model.verdict import Verdict
from shootout.runner import disk, interference, machine
from tests.support.analysis.builders import an_entry

pytest_plugins = ["tests.support.runs"]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "SECONDS", 0.2)
    monkeypatch.setattr(disk, "SECONDS", 0.1)


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
