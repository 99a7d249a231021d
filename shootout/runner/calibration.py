"""How a runner measures best: what A/A slices under each CPU placement and slice length have shown of it.

One JSON file for each runner, beside its ledger.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from scipy.special import ndtri

from shootout import files
from shootout.errors import InputError
from shootout.model.run import Calibration, Trial

ERROR = 0.05  # how often the usual placement and slices may be left for no better ones

_NOISE_MIN = 1e-12  # of a sum of squares: it must have a logarithm


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """What one stretch of measuring showed of a server beside a second instance of itself."""

    start: int
    block: str  # Block.key
    placement: str
    slice_s: float
    log_ratio: float  # mean over its rounds
    took_s: float  # of both servers, ramps included


def path_of(folder: Path, fingerprint: str) -> Path:
    """The file of a runner."""
    return folder / f"{fingerprint}.json"


def read(folder: Path, fingerprint: str) -> Calibration | None:
    """A runner's calibration; None where it has none. Raises InputError for a file that is none."""
    file = path_of(folder, fingerprint)
    try:
        return msgspec.json.decode(file.read_bytes(), type=Calibration)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: not a calibration: {error}; remove it, or calibrate anew") from None


def write(folder: Path, calibration: Calibration) -> Path:
    """Store it in one piece, in place of an earlier one. Raises InputError where that cannot be."""
    file = path_of(folder, calibration.runner)
    try:
        files.replace(file, msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None
    return file


def trials(visits: Sequence[Visit], usual: tuple[str, float]) -> tuple[Trial, ...]:
    """What each placement and slice length has shown, the `usual` ones first.

    What a start does to the ratio of two instances is the same for all of them, and taken out: the mean over
    all visits of its block. What is left is the noise that placement and slices make. Blocks differ in theirs
    by nature, so that of a trial is the geometric mean over them. Each trial needs two visits of each block.
    """
    levels = {
        key: statistics.fmean(visit.log_ratio for visit in visits if (visit.start, visit.block) == key)
        for key in {(visit.start, visit.block) for visit in visits}
    }
    blocks = list(dict.fromkeys(visit.block for visit in visits))
    kinds = {(visit.placement, visit.slice_s) for visit in visits}
    found = []
    for placement, slice_s in sorted(kinds, key=lambda kind: (kind != usual, kind)):
        its = [visit for visit in visits if (visit.placement, visit.slice_s) == (placement, slice_s)]
        spreads = []
        for block in blocks:
            of_block = [visit for visit in its if visit.block == block]
            noise = sum((visit.log_ratio - levels[visit.start, block]) ** 2 for visit in of_block)
            took_s = statistics.fmean(visit.took_s for visit in of_block)
            spreads.append(math.sqrt(took_s * max(noise, _NOISE_MIN) / _df(len(of_block), len(kinds))))
        spread = math.exp(statistics.fmean(map(math.log, spreads)))
        found.append(
            Trial(placement=placement, slice_s=slice_s, spread=float(f"{spread:.4g}"), visits=len(its))
        )
    return tuple(found)


def best(found: Sequence[Trial]) -> Trial:
    """The least noisy trial, where it is so beyond chance beside the first, the usual one; else that.

    The logarithm of a variance with f degrees of freedom has about the variance 2 / f; the bar is
    Bonferroni's over all others.
    """
    usual, *others = found
    bar = float(ndtri(1 - ERROR / max(len(others), 1)))

    def is_better(other: Trial) -> bool:
        error = math.sqrt(sum(2 / _df(each.visits, len(found)) for each in (usual, other)))
        return 2 * math.log(usual.spread / other.spread) > bar * error

    return min(filter(is_better, others), key=lambda trial: trial.spread, default=usual)


def _df(visits: int, kinds: int) -> float:
    """Degrees of freedom of some visits, less their share of the levels that were taken out."""
    return visits * (1 - 1 / kinds)
