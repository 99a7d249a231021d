"""Which placement and slice length is best: how it is chosen and stored."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from shootout.errors import InputError
from shootout.model.run import Calibration, Trial
from shootout.runner import calibration
from shootout.runner.calibration import Visit
from tests.runs import BASE

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
    file = calibration.write(folder, a_calibration())
    calibration.write(folder, a_calibration("f2"))
    assert calibration.read(folder, "f1") == a_calibration()
    assert sorted(path.name for path in folder.iterdir()) == ["f1.json", "f2.json"]
    file.write_text("{}")
    with pytest.raises(InputError, match=r"f1\.json: not a calibration: .*remove it, or calibrate anew$"):
        calibration.read(folder, "f1")
