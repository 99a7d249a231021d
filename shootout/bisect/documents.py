"""Bisections on disk: `bisections/ID/bisection.json`, with documents of its own beside it."""

from __future__ import annotations

from pathlib import Path

from shootout.bisect.values import FORMAT, WITHOUT, Bisection
from shootout.document import journal
from shootout.document.formats import Format, Record
from shootout.document.store import Store
from shootout.model.run import RunDocument


def runs(folder: Path) -> dict[str, RunDocument]:
    """Read a bisection's run documents by file name, the oldest first. Raises InputError."""
    return {path.name: journal.read(path) for path in journal.find(folder)}


def _fault(bisection: Bisection) -> str:
    labels = {revision.label for revision in bisection.revisions}
    sound = len(labels) == len(bisection.revisions) >= 2 and labels >= bisection.builds.keys() - {WITHOUT}
    return "" if sound else "its revisions are damaged"


def _bisection_1(record: Record) -> Record:
    """Search by a posterior, which chose what to measure, and judged it."""
    del record["confidence"], record["trim"]  # which its runs have
    return record | {"format": 2, "begun_in": 1}


_FORMAT = Format(FORMAT, (_bisection_1,))
BISECTIONS = Store("a bisection", "bisections/*/bisection.json", Bisection, "revisions", _FORMAT, _fault)
