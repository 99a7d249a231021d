"""The speed of the disk below a directory, as fio measures it: durable flushes and random writes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from shootout.errors import MeasureError
from shootout.model.run import Finding
from shootout.model.value import Value

SECONDS = 1.0  # per measurement
FLUSH_BYTES = 4096  # what a server's log writes per commit
PAGE_BYTES = 16_384  # InnoDB's page
FILE_BYTES = 64 << 20
DEPTH = 8  # writes in flight

FLUSH_P50_MAX_S = 0.002
FLUSH_P99_MAX_S = 0.02
FLUSH_P50_MIN_S = 0.00001  # no disk is faster
WRITES_MIN = 2000.0  # per second


class Speed(Value):
    """The disk's speed, by fio."""

    flush_p50_s: float
    flush_p99_s: float
    writes_per_s: float | None  # None: the file system refuses direct writes


def findings(directory: Path) -> Iterator[Finding]:
    """Measure in an existing directory for about two seconds; leaves nothing behind."""
    fio = shutil.which("fio")
    if fio is None:
        yield _unmeasured("not measured: install fio", "sudo apt-get install fio")
        return
    try:
        speed = measure(fio, directory)
    except MeasureError as error:
        yield _unmeasured(f"cannot be measured in {directory}: {error}")
        return
    yield from assess(speed)


def assess(speed: Speed) -> Iterator[Finding]:
    """Hold the figures against their limits."""
    why = "Every durable commit waits for it: its noise is the servers' noise."
    if speed.flush_p50_s < FLUSH_P50_MIN_S:
        why = (
            "No disk is this fast: flushed data stays in memory, so durable settings measure as relaxed ones."
        )
    yield Finding(
        code="flush",
        what="durable flush",
        found=f"median {_ms(speed.flush_p50_s)}, p99 {_ms(speed.flush_p99_s)}",
        why=why,
        fit=FLUSH_P50_MIN_S <= speed.flush_p50_s <= FLUSH_P50_MAX_S and speed.flush_p99_s <= FLUSH_P99_MAX_S,
    )
    if speed.writes_per_s is not None:
        yield Finding(
            code="random-writes",
            what="random writes of 16 KiB",
            found=f"{speed.writes_per_s:.0f}/s at depth {DEPTH}",
            why="A disk at its limit hides every other difference between servers.",
            fit=speed.writes_per_s >= WRITES_MIN,
        )


def measure(fio: str, directory: Path) -> Speed:
    """Run fio in a temporary folder below `directory`. Raises MeasureError."""
    try:
        with tempfile.TemporaryDirectory(dir=directory, prefix="shootout-fio-") as folder:
            done = subprocess.run(
                _command(fio, folder),
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
    except OSError as error:
        raise MeasureError(error.strerror or str(error)) from None
    report = done.stdout[done.stdout.find("{") :]  # complaints may precede it
    try:
        flushes, writes = msgspec.json.decode(report)["jobs"]
        percentiles = flushes["sync"]["lat_ns"]["percentile"]
        return Speed(
            flush_p50_s=percentiles["50.000000"] / 1e9,
            flush_p99_s=percentiles["99.000000"] / 1e9,
            writes_per_s=writes["write"]["iops"] if writes["error"] == 0 else None,
        )
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise MeasureError(f"fio: {reason.splitlines()[-1]}") from None


def _command(fio: str, folder: str) -> list[str]:
    return [
        *(fio, "--output-format=json"),
        *("--name=global", f"--directory={folder}", f"--runtime={SECONDS * 1e3:.0f}ms", "--time_based"),
        *("--name=flush", "--rw=write", f"--bs={FLUSH_BYTES}", f"--size={1 << 20}", "--fdatasync=1"),
        *("--name=write", "--stonewall", "--rw=randwrite", f"--bs={PAGE_BYTES}", f"--size={FILE_BYTES}"),
        *("--direct=1", "--ioengine=libaio", f"--iodepth={DEPTH}"),
    ]


def _unmeasured(found: str, mend: str = "") -> Finding:
    why = "The servers' data will lie on a disk of unknown speed."
    return Finding(code="flush", what="durable flush", found=found, why=why, fit=False, mend=mend)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
