"""Remarks about a run before it is measured: how it covers a change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shootout.coverage import answer, diffs, documents, judge
from shootout.errors import InputError, Skip
from shootout.measure.plan import Plan
from shootout.model.run import REMARK, Warning

_REVISIONS = re.compile(r"(.*):([^:]+?)\.\.([^:]+)")


def remarks(plan: Plan, change: str, results: Path, skip: Skip) -> Iterator[Warning]:
    """Say how a run covers a change, and name the functions that it touches, with what executes each.

    `change`: DIR:BASE..HEAD; `skip` receives which maps cannot be read. Raises InputError.
    """
    match = _REVISIONS.fullmatch(change)
    if match is None:
        raise InputError(f"--coverage {change}: expected DIR:BASE..HEAD, a git repository and two revisions")
    document = documents.newest(results, skip)
    coverage = judge.coverage(document, diffs.of_repository(Path(match[1]), match[2], match[3]))
    text = answer.of_run(coverage, [*dict.fromkeys(cell.workload for cell in plan.cells)])
    yield Warning(code=REMARK, text=text)
    yield from (Warning(code="touched", text=each) for each in answer.touched(coverage))
