"""What five years of weekly runs take on the data branch: `make bench-branch`; ten minutes, and 2 GB in /tmp.

Each week commits a run document of the recorded showcase's size: random bytes, as no two documents have
anything in common. The ledger gets the entries of the weekly profile's A/A cells, and each quarter the
baselines get other figures. `ARGS="--weeks N"` simulates fewer.
"""

# needs: git

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import structs

from benchmarks.showcase import record
from shootout import app
from shootout.document import journal, ledgers
from shootout.inputs import matrix, toml
from shootout.model.plan import Profile
from shootout.report import judgement_cache

FIRST = datetime(2026, 1, 5, 2, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=260)
    weeks: int = parser.parse_args().weeks
    dice = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        recorded, branch = Path(name) / "recorded", Path(name) / "branch"
        document = max(record.unpacked(recorded), key=lambda path: path.stat().st_size)
        entries = judgement_cache.run(document).aa_entries
        profile = toml.load(matrix.FOLDER / "weekly.toml", Profile)
        blocks = len(profile.workloads) * len(profile.threads)
        subprocess.run(["git", "init", "--quiet", branch], check=True)
        for week in range(weeks):
            run = f"{FIRST + timedelta(weeks=week):%Y%m%dT%H%M%SZ}-{dice.randbytes(3).hex()}"
            path = branch / "results" / (journal.new_name(run) + journal.PACKED)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(dice.randbytes(document.stat().st_size))
            of_blocks = (dice.choice(entries) for _ in range(blocks))
            spread = {"throughput": dice.random() / 100}
            again = (structs.replace(each, run=run, spreads=spread, estimates=spread) for each in of_blocks)
            ledgers.record(branch / "results" / ledgers.FOLDER, again)
            if week % 13 == 0:
                accept(document, branch / "baselines", dice)
            git(branch, "add", "--all")
            git(branch, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", run)
        for folder in ("results/ledger", "baselines", "results", "."):
            print(f"{folder}: {size(branch / folder) / 1e6:.1f} MB")
        print(f"history of {weeks} weeks: {size(branch / '.git') / 1e6:.0f} MB")


def accept(document: Path, folder: Path, dice: random.Random) -> None:
    """Store the recorded run as baselines, with other figures."""

    def another(found: re.Match[bytes]) -> bytes:
        return b"%d" % dice.randrange(10 ** len(found[0]))

    for path in app.accept(document, folder, None, print, force=True):
        path.write_bytes(re.sub(rb"(?<=[.]\d{3})\d+", another, path.read_bytes()))


def git(branch: Path, *command: str) -> None:
    subprocess.run(["git", "-C", branch, *command], check=True)


def size(folder: Path) -> int:
    """Bytes of a folder's files, without a repository's own in folders above it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if folder.name == ".git" or ".git" not in path.parts)


if __name__ == "__main__":
    main()
