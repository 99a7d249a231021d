"""A calibration on real servers, and the runs that use it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from msgspec import structs

from shootout import app
from shootout.analysis import ledger
from shootout.document import journal
from shootout.inputs.options import Selection
from shootout.measure import calibrate
from shootout.model.run import RunDocument
from shootout.runner import calibration, machine
from tests.runs import BASE, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.runs"]


@pytest.mark.real
def test_a_runner_is_calibrated_and_later_runs_use_it(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every placement and slice length is visited, and the run document records the best."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(lab.folder))
    for name, seconds in (("VISIT_S", 0.1), ("SETTLE_S", 0.02), ("WARMUP_S", 0.2)):
        monkeypatch.setattr(calibrate, name, seconds)
    for name, value in (("STARTS", 2), ("SWEEPS_MIN", 1), ("SLICES_S", (0.05,))):
        monkeypatch.setattr(calibrate, name, value)
    out = tmp_path / "out"
    selection = Selection.read(profile=str(lab.profile), servers=f"{BASE},{BASE}", budget="0.1")
    messages: list[str] = []
    stopped: dict[str, set[int]] = {}  # processes, by the block that was visited
    stop = machine.stop

    def noted(pid: int, now: bool) -> None:
        stopped.setdefault(messages[-1].rpartition(" ")[2], set()).add(pid)
        stop(pid, now)

    monkeypatch.setattr(machine, "stop", noted)
    left = calibrate.begin(
        app.plan(selection), out / "results", lambda progress: messages.append(progress.detail)
    )
    assert left == pytest.approx(4)  # two thirds of the budget
    assert {block: len(pids) for block, pids in stopped.items()} == {"oltp_read_write-t2": 4}  # of two starts
    runner = machine.inspect(tmp_path)
    found = calibration.read(out / "results" / ledger.FOLDER, runner.fingerprint)
    assert found is not None
    assert found.server == BASE
    slices = {trial.slice_s for trial in found.trials}
    assert slices == {0.02, 0.05}  # the profile's own is the usual one
    places = machine.placements(machine.cpus_of(runner.placement))
    assert {(trial.placement, trial.slice_s) for trial in found.trials} == set(product(places, slices))
    assert (found.trials[0].placement, found.trials[0].slice_s) == (next(iter(places)), 0.02)
    assert all(trial.spread > 0 and trial.visits >= 2 for trial in found.trials)
    assert lab.left() == ([], [])

    usual = next(iter(places))
    other = max(found.trials, key=lambda trial: (trial.placement != usual, trial.slice_s))
    calibration.write(out / "results" / ledger.FOLDER, structs.replace(found, best=other))
    measured = a_run(lab, lab.profile, out)
    assert measured.header.runner.placement == places[other.placement]
    assert measured.header.runner.calibration is not None
    assert all(each >= 0.05 for start in measured.starts for s in start.samples for each in s.window_s)
    pages = (out / "site").rglob("*.html")
    assert any("had the least noise in" in page.read_text() for page in pages)

    document_in(out).unlink()
    as_written = tmp_path / "as-written.toml"
    as_written.write_text(lab.profile.read_text().replace("[sampling]", "[sampling]\ncalibrated = false"))
    measured = a_run(lab, as_written, out)
    assert measured.header.runner.placement == places[usual]
    assert measured.header.runner.calibration is None


def a_run(lab: Lab, profile: Path, out: Path) -> RunDocument:
    options = ("--workloads", "oltp_point_select", "--threads", "2", "--servers", BASE)
    done = lab.run(SHOOTOUT, "run", "--profile", str(profile), "--out", str(out), *options)
    assert done.returncode == 0, done.stderr
    return journal.read(document_in(out))
