"""Runs of `shootout run` that a benchmark is made of: measured once, each in a folder, and kept small."""

from __future__ import annotations

import lzma
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.showcase import record
from benchmarks.verdicts import judging
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.model.run import RunDocument

OK = (0, 1)  # exit codes: that something regressed is a result


def measured(folder: Path, profile: str, servers: Sequence[str], seed: int, *options: str) -> RunDocument:
    """The document of one run; one that is there, whole, is not measured again. Raises MeasureError."""
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


def keep(path: Path, found: RunDocument) -> None:
    """Keep a document in the repository, without its latencies and counters."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(journal.encoded(record.placeless(judging.bare(found)))))


def kept(path: Path) -> RunDocument:
    """A document that was kept."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(lzma.decompress(path.read_bytes()))
        file.flush()
        return journal.read(Path(file.name))


def _whole(folder: Path) -> RunDocument | None:
    """The document of a run that came to its end."""
    for path in journal.find(folder / "results"):
        found = journal.read(path)
        if found.end is not None and not found.end.interrupted:
            return found
    return None
