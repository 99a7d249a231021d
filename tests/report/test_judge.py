"""The judge: which A/A cells it knows, and what it compares with."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from shootout.analysis import compare
from shootout.document import ledgers
from shootout.model.run import RunHeader
from shootout.report.judge import Judge
from tests.analysis.builders import a_document, an_entry, starts_of

NOISY = an_entry(0.2, run="r1")
READ = a_document(starts_of(-10))


def a_header(run: str) -> RunHeader:
    return structs.replace(READ.header, run=run)


def test_only_a_a_cells_of_earlier_runs_count(tmp_path: Path) -> None:
    ledgers.append(tmp_path / ledgers.FOLDER, READ.header.runner.fingerprint, [NOISY])
    for run, known in (("r0", 0), ("r1", 0), ("r2", 1)):
        assert len(Judge(tmp_path).earlier(a_header(run))) == known
    later = structs.replace(READ, header=a_header("r2"))
    entries = Judge(tmp_path).earlier(later.header)
    assert Judge(tmp_path).compare(later) == compare.compare(later, ledger_entries=entries)
    assert Judge(tmp_path).compare(later) != compare.compare(later)
    assert Judge(tmp_path).compare(later, "b") == compare.compare(later, None, "b", entries)


def test_only_a_a_cells_with_the_same_settings_count(tmp_path: Path) -> None:
    ledgers.append(tmp_path / ledgers.FOLDER, READ.header.runner.fingerprint, [NOISY])
    profile = structs.replace(READ.header.profile, settings="production")
    assert Judge(tmp_path).earlier(structs.replace(a_header("r2"), profile=profile)) == []
