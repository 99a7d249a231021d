"""Runs that were begun before: which one goes on, or is over, and what must be as it was for that."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from shootout.document import compatibility, journal
from shootout.errors import InputError
from shootout.model.run import RunDocument, RunHeader, ServerRecord

DIFFERENCES_MAX = 3  # that are named


def find(results: Path, shard: str | None, skip: Callable[[str], None]) -> tuple[Path, RunDocument] | None:
    """The newest document of that shard in a folder; None where there is none.

    What cannot be read is passed over; `skip` hears why.
    """
    for path in reversed(journal.find(results)):
        try:
            read = journal.read(path)
        except InputError as error:
            skip(str(error))
            continue
        if not read.header.parts and read.header.given.get("--shard") == shard:
            return path, read
    return None


def is_over(read: RunDocument) -> bool:
    """Whether a run was measured to its end."""
    return read.end is not None and not read.end.interrupted


def is_same(then: RunHeader, now: RunHeader) -> bool:
    """Whether both runs were asked for the same, on whatever machine."""
    return then.blocks == now.blocks and not any(compatibility.plans(then, now))


def require_same_run(then: RunHeader, now: RunHeader) -> None:
    """Raise InputError, naming the difference, where the run is another one, or on another machine."""
    _require(then.run, compatibility.runners(then.runner, now.runner))
    _require(then.run, compatibility.plans(then, now))
    if then.blocks != now.blocks:
        keys = [" ".join(block.key for block in header.blocks) for header in (then, now)]
        raise InputError(f"run {then.run} cannot go on: blocks {keys[0]}, now {keys[1]}")


def require_same_server(run: str, then: ServerRecord, now: ServerRecord) -> None:
    """Raise InputError, naming the difference, where the server is not what it was in that run."""
    _require(run, compatibility.servers(then, now))


def _require(run: str, differences: Iterator[str]) -> None:
    if different := "; ".join(itertools.islice(differences, DIFFERENCES_MAX)):
        raise InputError(f"run {run} cannot go on: {different}\nWithout --resume a new one begins.")
