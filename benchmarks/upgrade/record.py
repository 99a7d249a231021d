"""Record upgrades for the repository, with their runs and counts, without the measuring machine's folders.

Usage: `python -m benchmarks.upgrade.record RESULTS/upgrades/ID.json…`
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from benchmarks.showcase import record
from shootout.upgrade.documents import UPGRADES
from shootout.work.documents import COUNTS


def recorded(path: Path) -> Path:
    """Write an upgrade and all that it names into the showcase; returns its path."""
    document, results = UPGRADES.read(path), path.resolve().parents[1]

    def bare(content: bytes) -> bytes:
        return content.replace(f"{results}/".encode(), b"")

    for name in filter(None, (document.statements, document.restoring)):
        counted = COUNTS.read(results / name)
        datasets = tuple(replace(each, dump=Path(each.dump).name) for each in counted.datasets)
        counted = replace(counted, datasets=datasets, functions=(), profiles=())  # megabytes
        record.compress(bare(msgspec.json.encode(counted)), name)
    stored = replace(
        document,
        settings=Path(document.settings).name,
        workload=Path(document.workload).name,
        runs=tuple(record.record(results / name).name for name in document.runs),
        elsewhere=tuple(record.record(results / name).name for name in document.elsewhere),
    )
    name = str(UPGRADES.path_of(Path(), document.upgrade))
    record.compress(bare(msgspec.json.encode(stored)), name)
    return record.SHOWCASE / f"{name}.gz"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        print(recorded(path))
