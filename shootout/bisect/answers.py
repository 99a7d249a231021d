"""Answers of stored bisections, judged by time or by what was counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from shootout.bisect import counts, proof, timed
from shootout.bisect.documents import BISECTIONS, runs
from shootout.bisect.judge import Found
from shootout.bisect.values import Bisected
from shootout.count import instrument as counting
from shootout.errors import InputError, Skip


def read(path: Path) -> Bisected:
    """Judge a bisection. Raises InputError."""
    bisection = BISECTIONS.read(path)
    callgrind = counting.CALLGRIND
    if not bisection.is_exact:
        used, measured = None, timed.measured(bisection, runs(path.parent))
    elif bisection.instrument == callgrind.stored:
        counted = callgrind.counted(path.parent, bisection.revisions[0].label)
        used, measured = callgrind, counts.measured(bisection, counted, callgrind.title)
    else:
        raise InputError(f"{path}: bisected by {bisection.instrument!r}, which this version cannot judge")
    answer = Found(bisection, measured).answer
    return structs.replace(answer, proof=proof.read(answer, path, used))


def every(results: Path, skip: Skip) -> Iterator[Bisected]:
    """Judge the bisections of a folder, the newest first; `skip` receives why one cannot be read."""
    for path in reversed(BISECTIONS.find(results)):
        try:
            yield read(path)
        except InputError as error:
            skip(str(error))
