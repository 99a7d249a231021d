"""Calibration: which CPU placement and slice length give the least A/A noise on a runner.

One JSON file per runner, beside its ledger.
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

ERROR = 0.05  # how often the usual trial may be left for one that is no better

_NOISE_MIN = 1e-12  # of a sum of squares, whose logarithm is taken


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """The result of one stretch of A/A measuring."""

    start: int
    block: str  # Block.key
    placement: str
    slice_s: float
    log_ratio: float  # mean over its rounds
    took_s: float  # both servers, ramps included


def path_of(folder: Path, fingerprint: str) -> Path:
    """A runner's file."""
    return folder / f"{fingerprint}.json"


def read(folder: Path, fingerprint: str) -> Calibration | None:
    """A runner's calibration; None if there is none. Raises InputError for an invalid file."""
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
    """Replace the runner's calibration atomically. Raises InputError if it cannot be written."""
    file = path_of(folder, calibration.runner)
    try:
        files.replace(file, msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None
    return file


def trials(visits: Sequence[Visit], usual: tuple[str, float]) -> tuple[Trial, ...]:
    """The noise of each placement and slice length, the `usual` one first.

    A start shifts the ratio of two instances equally for all of them, so the mean over all visits of a block
    is subtracted; what remains is the noise of placement and slices. Blocks differ in noise, so a trial's
    spread is the geometric mean over them. Each trial needs two visits of each block.
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
    """The least noisy trial if it beats the first, the usual one, beyond chance; otherwise the usual one.

    The logarithm of a variance with f degrees of freedom has a variance of about 2 / f; Bonferroni corrects
    for all other trials.
    """
    usual, *others = found
    bar = float(ndtri(1 - ERROR / max(len(others), 1)))

    def is_better(other: Trial) -> bool:
        error = math.sqrt(sum(2 / _df(each.visits, len(found)) for each in (usual, other)))
        return 2 * math.log(usual.spread / other.spread) > bar * error

    return min(filter(is_better, others), key=lambda trial: trial.spread, default=usual)


def _df(visits: int, kinds: int) -> float:
    """Degrees of freedom of some visits, less their share of the subtracted means."""
    return visits * (1 - 1 / kinds)
