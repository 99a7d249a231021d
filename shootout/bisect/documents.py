"""Bisections on disk: `bisections/ID/bisection.json`, with documents of its own beside it."""

from __future__ import annotations

from pathlib import Path

from shootout.bisect.values import WITHOUT, Bisection
from shootout.document import journal
from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.model.run import RunDocument


def runs(folder: Path) -> dict[str, RunDocument]:
    """A bisection's run documents by file name, the oldest first. Raises InputError."""
    return {path.name: journal.read(path) for path in journal.find(folder)}


def _fault(bisection: Bisection) -> str:
    labels = {revision.label for revision in bisection.revisions}
    sound = len(labels) == len(bisection.revisions) >= 2 and labels >= bisection.builds.keys() - {WITHOUT}
    return "" if sound else "its revisions are damaged"


BISECTIONS = Store("a bisection", "bisections/*/bisection.json", Bisection, "revisions", Format(1), _fault)
