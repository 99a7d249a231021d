"""Time and memory to merge a hundred shards of a hundred cells: `make bench-merge`.

The documents are generated, with two starts of each cell.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from shootout.document import journal
from shootout.model.plan import Block, Planned
from shootout.model.run import EndRecord, RunHeader, StartRecord
from tests import builders

SHARDS, BLOCKS_EACH, STARTS = 100, 50, 2  # two servers per block: 100 cells per shard
SECONDS_MAX, BYTES_MAX = 30.0, 500_000_000

THREADS = tuple(range(1, 101))
WORKLOADS = tuple(f"workload_{number:03}" for number in range(SHARDS * BLOCKS_EACH // len(THREADS)))
MERGE = """
import sys
from pathlib import Path
from shootout.document import merge
print(merge.merge(sorted(Path(sys.argv[1]).glob("*.jsonl")), Path(sys.argv[2]), sys.exit))
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        shards, out = Path(name) / "shards", Path(name) / "out"
        shards.mkdir()
        generate(shards)
        size = sum(path.stat().st_size for path in shards.iterdir())
        os.sync()  # otherwise the writeback of the shards would be timed, too
        began_s = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", MERGE, str(shards), str(out)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        took_s = time.monotonic() - began_s
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak_bytes = used.ru_maxrss * 1024
        require_whole(Path(done.stdout.strip()))
    print(
        f"{SHARDS} shards of {2 * BLOCKS_EACH} cells, {size / 1e6:.0f} MB: merged in {took_s:.1f} s, "
        f"{used.ru_utime + used.ru_stime:.1f} s of CPU, {peak_bytes / 1e6:.0f} MB of memory"
    )
    return int(took_s > SECONDS_MAX or peak_bytes > BYTES_MAX)


def generate(folder: Path) -> None:
    """Write one document per shard."""
    planned = Planned(
        workloads=dict.fromkeys(WORKLOADS, "sbtest-4x25000-innodb"),
        threads=THREADS,
        servers=(builders.BASE, builders.HEAD),
    )
    blocks = planned.blocks
    header = builders.a_header(workloads=WORKLOADS, threads=THREADS, planned=planned, blocks=())
    samples = tuple(builders.a_samples(label, rounds=12) for label in planned.servers)
    order = ((0, 1), (1, 0)) * 6
    for number in range(SHARDS):
        mine = blocks[number * BLOCKS_EACH : (number + 1) * BLOCKS_EACH]
        starts = [
            StartRecord(block=block.key, start=start, order=order, samples=samples)
            for start in range(1, STARTS + 1)
            for block in mine
        ]
        write(folder, of_shard(header, number, mine), starts)


def of_shard(header: RunHeader, number: int, blocks: tuple[Block, ...]) -> RunHeader:
    return msgspec.structs.replace(
        header,
        run=f"20261120T024100Z-{number:06x}",
        seed=number,
        blocks=blocks,
        runner=builders.a_runner(fingerprint=f"{number % 20:012x}"),
        given={"--shard": f"{number + 1}/{SHARDS}"},
    )


def write(folder: Path, header: RunHeader, starts: list[StartRecord]) -> None:
    """Write without syncing each record, as a run does: a hundred thousand syncs would take hours."""
    end = EndRecord(finished="2026-11-20T03:41:00+00:00", elapsed_s=3600.0, interrupted=False)
    digest = b""
    with (folder / journal.new_name(header.run)).open("wb") as file:
        for record in (header, *starts, end):
            line, digest = journal.sealed(msgspec.json.encode(record), digest)
            file.write(line)


def require_whole(path: Path) -> None:
    lines = sum(1 for _ in journal.lines(path))
    assert lines == SHARDS * BLOCKS_EACH * STARTS + 2, lines


if __name__ == "__main__":
    sys.exit(main())
