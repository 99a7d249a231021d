import json
from pathlib import Path

import pytest

from shootout.document import journal
from shootout.runner import disk, interference
from tests.support.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "SECONDS", 0.2)
    monkeypatch.setattr(disk, "SECONDS", 0.1)


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
