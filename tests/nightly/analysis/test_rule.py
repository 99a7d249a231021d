"""The demo's runs get the verdicts that the rule's number stands for."""

from __future__ import annotations

from pathlib import Path

from lab.showcase import record
from shootout.analysis import compare
from shootout.document import journal
from tests.unit.analysis.test_rule import lines, require_kept


def test_the_demos_runs_keep_their_verdicts(tmp_path: Path) -> None:
    judged = {journal.stem(path): compare.compare(journal.read(path)) for path in record.unpacked(tmp_path)}
    found = [line for name, comparison in judged.items() for line in lines(name, comparison)]
    require_kept(found, judged, tmp_path)
