"""The `shootout run`s behind a benchmark: each measured once in its own folder, saved in short form."""

from __future__ import annotations

import lzma
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.showcase import record
from lab.verdict import judging
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.model.run import RunDocument

OK = (0, 1)  # exit codes: a regression is a result, too


def measured(folder: Path, profile: str, servers: Sequence[str], seed: int, *options: str) -> RunDocument:
    """Return a run's document, measured unless the folder has a complete one. Raises MeasureError."""
    if (found := _whole(folder)) is not None:
        return found
    for stale in journal.find(folder / "results"):
        stale.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profile.toml").write_text(profile)
    command = [sys.executable, "-m", "shootout.cli", "run", "--profile", str(folder / "profile.toml")]
    command += ["--servers", ",".join(servers), "--seed", str(seed), "--out", str(folder), *options]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    found = _whole(folder)
    if done.returncode not in OK or found is None:
        raise MeasureError(f"{folder.name}: `{' '.join(command)}` ended with exit code {done.returncode}")
    return found


def save(path: Path, found: RunDocument) -> None:
    """Write a document for the repository, without latencies and counters."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(journal.encoded(record.placeless(judging.bare(found)))))


def _whole(folder: Path) -> RunDocument | None:
    """The folder's complete run, if any."""
    for path in journal.find(folder / "results"):
        found = journal.read(path)
        if found.end is not None and not found.end.interrupted:
            return found
    return None
