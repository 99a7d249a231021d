"""How fast the disk below a directory is: a durable flush, and writes at random places.

Measured by fio where it is installed, else by a small probe of our own that does the same.
"""

from __future__ import annotations

import mmap
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from shootout.model.run import Finding
from shootout.model.value import Value

SECONDS = 1.0  # that each of both takes
FLUSH_BYTES = 4096  # as a server's log writes for a commit
PAGE_BYTES = 16_384  # as InnoDB writes
FILE_BYTES = 64 << 20
DEPTH = 8  # writes at a time
FLUSHES_MAX = 100_000

FLUSH_MAX_S = 0.002  # median
FLUSH_P99_MAX_S = 0.02
FLUSH_MIN_S = 0.00001  # no disk is so fast
WRITES_MIN = 2000.0  # a second


class Speed(Value):
    """What was measured."""

    by: str
    flush_p50_s: float
    flush_p99_s: float
    writes_per_s: float | None  # None: the file system takes no direct writes


class StorageError(Exception):
    """Why it could not be measured."""


def findings(directory: Path) -> Iterator[Finding]:
    """Measure in an existing directory; takes about two seconds, and leaves nothing there."""
    try:
        speed = measure(directory)
    except StorageError as error:
        yield Finding(
            code="flush",
            what="durable flush",
            found=f"cannot be measured: {error}",
            why=f"The servers' data is to lie in {directory}.",
            fit=False,
        )
        return
    yield from judged(speed)


def judged(speed: Speed) -> Iterator[Finding]:
    """What the figures say."""
    why = "A commit waits for it: with durable settings its noise is the servers' noise."
    if speed.flush_p50_s < FLUSH_MIN_S:
        why = "No disk is so fast: what is flushed stays in memory, durable settings measure as relaxed ones."
    yield Finding(
        code="flush",
        what="durable flush",
        found=f"{_ms(speed.flush_p50_s)}, one in a hundred {_ms(speed.flush_p99_s)} ({speed.by})",
        why=why,
        fit=FLUSH_MIN_S <= speed.flush_p50_s <= FLUSH_MAX_S and speed.flush_p99_s <= FLUSH_P99_MAX_S,
    )
    if speed.writes_per_s is not None:
        yield Finding(
            code="random-writes",
            what="writes of 16 KiB at random places",
            found=f"{speed.writes_per_s:.0f}/s, {DEPTH} at a time ({speed.by})",
            why="Where the disk is the limit, servers are compared by how much they write alone.",
            fit=speed.writes_per_s >= WRITES_MIN,
        )


def measure(directory: Path) -> Speed:
    """The figures; `directory` exists. Raises StorageError."""
    try:
        with tempfile.TemporaryDirectory(dir=directory, prefix="shootout-probe-") as place:
            fio = shutil.which("fio")
            return by_fio(fio, Path(place)) if fio else by_probe(Path(place))
    except OSError as error:
        raise StorageError(error.strerror or str(error)) from None


# --- fio ------------------------------------------------------------------------------------------


class _Percentiles(msgspec.Struct):
    percentile: dict[str, float]


class _Flushes(msgspec.Struct):
    lat_ns: _Percentiles


class _Writes(msgspec.Struct):
    iops: float


class _Flushing(msgspec.Struct):
    error: int
    sync: _Flushes


class _Writing(msgspec.Struct):
    error: int
    write: _Writes


class _Told(msgspec.Struct):
    jobs: tuple[_Flushing, _Writing]


def by_fio(fio: str, place: Path) -> Speed:
    """What fio measures in an empty directory. Raises StorageError."""
    common = ["--name=global", f"--directory={place}", f"--runtime={SECONDS * 1e3:.0f}ms", "--time_based"]
    flushing = ["--name=flush", "--rw=write", f"--bs={FLUSH_BYTES}", f"--size={1 << 20}", "--fdatasync=1"]
    writing = [
        *("--name=write", "--stonewall", "--rw=randwrite", f"--bs={PAGE_BYTES}", f"--size={FILE_BYTES}"),
        *("--direct=1", "--ioengine=libaio", f"--iodepth={DEPTH}"),
    ]
    done = subprocess.run(
        [fio, "--output-format=json", *common, *flushing, *writing],
        cwd=place,
        capture_output=True,
        check=False,
    )
    told = done.stdout[done.stdout.find(b"{") :]  # it may complain before
    try:
        flushes, writes = msgspec.json.decode(told, type=_Told).jobs
        percentiles = {float(name): ns / 1e9 for name, ns in flushes.sync.lat_ns.percentile.items()}
        return Speed(
            by="fio",
            flush_p50_s=percentiles[50.0],
            flush_p99_s=percentiles[99.0],
            writes_per_s=writes.write.iops if writes.error == 0 else None,
        )
    except (msgspec.DecodeError, KeyError):
        words = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise StorageError(f"fio: {words.splitlines()[-1]}") from None


# --- our own probe --------------------------------------------------------------------------------


def by_probe(place: Path) -> Speed:
    """The same in an empty directory without fio. Raises OSError."""
    flushes = sorted(_flushes(place / "log"))
    return Speed(
        by="own probe",
        flush_p50_s=statistics.median(flushes),
        flush_p99_s=flushes[int(0.99 * (len(flushes) - 1))],
        writes_per_s=_writes_per_s(place / "pages"),
    )


def _flushes(file: Path) -> Iterator[float]:
    """Seconds that each flush took, into a file that is there already."""
    data = bytes(FLUSH_BYTES)
    file.write_bytes(data * 256)
    opened = os.open(file, os.O_WRONLY)
    try:
        os.fsync(opened)
        until_s = time.monotonic() + SECONDS
        for number in range(FLUSHES_MAX):
            began_s = time.monotonic()
            os.pwrite(opened, data, number % 256 * FLUSH_BYTES)
            os.fdatasync(opened)
            yield time.monotonic() - began_s
            if time.monotonic() > until_s:
                break
    finally:
        os.close(opened)


def _writes_per_s(file: Path) -> float | None:
    with file.open("wb") as written:
        for _ in range(FILE_BYTES >> 20):
            written.write(os.urandom(1 << 20))
        os.fsync(written.fileno())
    try:
        opened = os.open(file, os.O_WRONLY | os.O_DIRECT)
    except OSError:  # some file systems have no direct writes
        return None
    until_s = time.monotonic() + SECONDS

    def write(seed: int) -> int:
        generator = random.Random(seed)
        with mmap.mmap(-1, PAGE_BYTES) as page:  # direct writes ask for memory that begins with a page
            count = 0
            while time.monotonic() < until_s:
                os.pwrite(opened, page, generator.randrange(FILE_BYTES // PAGE_BYTES) * PAGE_BYTES)
                count += 1
        return count

    try:
        began_s = time.monotonic()
        with ThreadPoolExecutor(DEPTH) as pool:
            total = sum(pool.map(write, range(DEPTH)))
        return total / (time.monotonic() - began_s)
    finally:
        os.close(opened)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
