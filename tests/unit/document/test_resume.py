"""The run that continues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from shootout.document import journal, resume
from shootout.model.run import EndRecord, ResumeRecord
from tests.support import builders


def saved(folder: Path, run: str, *records: journal.Record, **header: Any) -> Path:
    writer = journal.Writer(folder, run)
    for record in (builders.a_header(run=run, **header), *records):
        writer.append(record)
    return writer.path


CUT_SHORT = EndRecord(finished="2026-11-20T03:00:00Z", elapsed_s=1.0, interrupted=True)
OVER = structs.replace(CUT_SHORT, interrupted=False)


def newest(folder: Path, shard: str | None, skip: Callable[[str], None]) -> tuple[Path, bool] | None:
    """The newest document of a shard, and whether its run is over."""
    document = resume.find(folder, shard, skip, lambda header: header.seed != 0)
    if document is None:
        return None
    return folder / journal.new_name(document.header.run), resume.is_finished(document)


def test_the_newest_run_goes_on_or_the_one_that_was_cut_short(tmp_path: Path) -> None:
    skipped: list[str] = []
    assert newest(tmp_path / "none", None, skipped.append) is None
    first = saved(tmp_path, "20260101T000000Z-1")
    assert newest(tmp_path, None, skipped.append) == (first, False)
    second = saved(tmp_path, "20260102T000000Z-2", CUT_SHORT)
    assert newest(tmp_path, None, skipped.append) == (second, False)
    third = saved(tmp_path, "20260103T000000Z-3", OVER)
    assert newest(tmp_path, None, skipped.append) == (second, False)  # a clock was wrong once
    second.unlink()
    first.unlink()
    saved(tmp_path, "20260102T000000Z-2", CUT_SHORT, seed=0)  # of another plan
    assert newest(tmp_path, None, skipped.append) == (third, True)
    resumed = ResumeRecord(resumed="2026-11-20T03:00:00Z", shootout="0.1.0")
    fourth = saved(tmp_path, "20260104T000000Z-4", CUT_SHORT, resumed)
    assert newest(tmp_path, None, skipped.append) == (fourth, False)
    assert skipped == []


def test_a_run_goes_on_in_its_own_document_only(tmp_path: Path) -> None:
    skipped: list[str] = []
    path = saved(tmp_path, "20260101T000000Z-1", CUT_SHORT)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    assert newest(tmp_path, None, skipped.append) == (path, False)
    assert skipped == []
    torn = path.rename(tmp_path / "20260102T000000Z-2.jsonl")
    torn.write_bytes(torn.read_bytes()[:99])
    assert newest(tmp_path, None, skipped.append) is None
    assert skipped == [
        f"{copy}: a copy; --resume continues a run only in its own document, {path.name}",
        f"{torn}: not a run document: no complete line",
    ]


def test_a_run_had_what_its_header_says_or_what_it_spent() -> None:
    over = structs.replace(builders.a_run(), end=OVER)
    first_s = over.header.profile.sampling.budget_s
    assert resume.given_s(over) == first_s
    assert resume.is_finished(over, first_s)
    assert not resume.is_finished(over, first_s + 1)
    spent = tuple(structs.replace(start, spent_s=2 * first_s) for start in over.starts)
    longer = structs.replace(over, starts=spent)
    assert resume.given_s(longer) == 2 * first_s
    assert resume.is_finished(longer, 2 * first_s)
    assert not resume.is_finished(structs.replace(over, end=CUT_SHORT))


def test_a_shard_goes_on_with_its_own_run(tmp_path: Path) -> None:
    one = saved(tmp_path, "20260101T000000Z-1", given={"--shard": "1/2"})
    two = saved(tmp_path, "20260102T000000Z-2", given={"--shard": "2/2"})
    assert newest(tmp_path, "1/2", pytest.fail) == (one, False)
    assert newest(tmp_path, "2/2", pytest.fail) == (two, False)
    assert newest(tmp_path, None, pytest.fail) is None
