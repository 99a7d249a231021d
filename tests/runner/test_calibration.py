"""Which placement and slice length is best: what is kept, how it is chosen, and a real measurement."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from shootout import app
from shootout.analysis import ledger
from shootout.document import journal
from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.measure import calibrate
from shootout.model.run import Calibration, RunDocument, Trial
from shootout.runner import calibration, machine
from shootout.runner.calibration import Visit
from tests.runs import BASE, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.runs"]

USUAL = ("shared", 0.1)
KINDS = [USUAL, *((place, slice_s) for place in ("shared", "apart", "free") for slice_s in (0.05, 0.1, 0.25))]
KINDS = list(dict.fromkeys(KINDS))


def some_visits(
    seed: int, noise: dict[tuple[str, float], float], starts: int = 3, sweeps: int = 4
) -> list[Visit]:
    """Visits of half a second or more in three blocks; `noise`: of one second, times that of all others."""
    rng = np.random.default_rng(seed)
    visits = []
    for start in range(starts):
        for number, block in enumerate(("reads-t8", "writes-t8", "mixed-t8")):
            level = rng.normal(0, 0.02)  # what the start did to the ratio
            for _ in range(sweeps):
                for kind in KINDS:
                    took_s = max(0.5, 2 * kind[1])
                    spread = 0.01 * (number + 1) * noise.get(kind, 1.0) / math.sqrt(took_s)
                    visits.append(
                        Visit(
                            start=start,
                            block=block,
                            placement=kind[0],
                            slice_s=kind[1],
                            log_ratio=level + rng.normal(0, spread),
                            took_s=took_s,
                        )
                    )
    return visits


def test_noise_is_that_of_a_second_whatever_starts_do() -> None:
    """Blocks have 1, 2 and 3 %: their geometric mean is 1.82 %."""
    found = calibration.trials(some_visits(1, {("free", 0.05): 3.0}, starts=30), USUAL)
    assert (found[0].placement, found[0].slice_s) == USUAL
    assert len(found) == len(KINDS)
    for trial in found:
        expected = 0.01 * 6 ** (1 / 3) * (3.0 if (trial.placement, trial.slice_s) == ("free", 0.05) else 1.0)
        assert trial.spread == pytest.approx(expected, rel=0.15)
        assert trial.visits == 30 * 3 * 4


def test_the_usual_one_is_left_for_a_better_one_only() -> None:
    """By simulation: with nothing better it is left in at most one of twenty cases, or a few more."""
    left = sum(
        calibration.best(found) != found[0]
        for seed in range(400)
        for found in [calibration.trials(some_visits(seed, {}, starts=2), USUAL)]
    )
    assert left / 400 < 0.09


def test_a_better_one_is_found() -> None:
    noise = {("apart", 0.05): 0.4}
    found = sum(
        (best.placement, best.slice_s) == ("apart", 0.05)
        for seed in range(50)
        for best in [calibration.best(calibration.trials(some_visits(seed, noise), USUAL))]
    )
    assert found >= 48


def a_calibration(runner: str = "f1") -> Calibration:
    trial = Trial(placement="shared", slice_s=0.1, spread=0.02, visits=12)
    return Calibration(
        format=1,
        runner=runner,
        measured="2026-11-21T10:00:00+00:00",
        server=BASE,
        best=trial,
        trials=(trial,),
    )


def test_one_is_kept_for_each_runner(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    assert calibration.read(folder, "f1") is None
    file = calibration.keep(folder, a_calibration())
    calibration.keep(folder, a_calibration("f2"))
    assert calibration.read(folder, "f1") == a_calibration()
    assert sorted(path.name for path in folder.iterdir()) == ["f1.json", "f2.json"]
    file.write_text("{}")
    with pytest.raises(InputError, match=r"f1\.json: not a calibration: .*remove it, or calibrate anew$"):
        calibration.read(folder, "f1")


@pytest.mark.real
def test_a_runner_is_calibrated_and_later_runs_use_it(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every placement and slice length is visited, and what is best stands in the document of the run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(lab.folder))
    for name, seconds in (("VISIT_S", 0.1), ("SETTLE_S", 0.02), ("WARMUP_S", 0.2)):
        monkeypatch.setattr(calibrate, name, seconds)
    for name, value in (("STARTS", 2), ("SWEEPS_MIN", 1), ("SLICES_S", (0.05,))):
        monkeypatch.setattr(calibrate, name, value)
    out = tmp_path / "out"
    selection = Selection.read(profile=str(lab.profile), servers=f"{BASE},{BASE}", budget="0.1")
    said: list[str] = []
    stopped: dict[str, set[int]] = {}  # processes, by the block that was visited
    stop = machine.stop

    def noted(pid: int, now: bool) -> None:
        stopped.setdefault(said[-1].rpartition(" ")[2], set()).add(pid)
        stop(pid, now)

    monkeypatch.setattr(machine, "stop", noted)
    left = calibrate.begin(
        app.plan(selection), out / "results", lambda progress: said.append(progress.detail)
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
    calibration.keep(out / "results" / ledger.FOLDER, structs.replace(found, best=other))
    measured = a_run(lab, lab.profile, out)
    assert measured.header.runner.placement == places[other.placement]
    assert measured.header.runner.calibration is not None
    assert all(each >= 0.05 for start in measured.starts for s in start.samples for each in s.window_s)
    pages = (out / "site").rglob("*.html")
    assert any("the least noisy of" in page.read_text() for page in pages)

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
