"""Everything printed about recorded runs agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.analysis import compare
from shootout.document import journal
from shootout.model.run import RunDocument
from tests.support import builders
from tests.support.report import audit

RECORDED = sorted((Path(__file__).parent.parent / "document" / "recorded").glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_nothing_that_is_said_of_a_recorded_run_contradicts(path: Path) -> None:
    check(journal.read(path))


def test_nothing_that_is_said_of_many_cells_contradicts() -> None:
    check(builders.a_run())


def check(document: RunDocument) -> None:
    assert [*audit.contradictions(document, compare.compare(document))] == []
