"""Which files are read as what, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.learn import logs

SLOW = """\
# Time: 2026-11-25T02:34:50.171059Z
# User@Host: root[root] @ localhost []  Id:     3
# Query_time: 0.000060  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795574090;
SELECT "a" FROM t2;
"""
GENERAL = "2026-11-25T02:34:40.100000Z\t    2 Query\tSELECT 1\n"
DIGESTS = '[{"DIGEST_TEXT": "SELECT ?", "COUNT_STAR": 1, "SUM_TIMER_WAIT": 1, "SUM_ROWS_EXAMINED": 0, "SUM_ROWS_SENT": 1}]'  # noqa: E501


def written(folder: Path, *contents: str) -> list[Path]:
    paths = [folder / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    return paths


@pytest.mark.parametrize(("content", "kind"), [(SLOW, "slow"), (GENERAL, "general"), (DIGESTS, "digests")])
def test_a_file_tells_its_kind(tmp_path: Path, content: str, kind: str) -> None:
    log = logs.read(written(tmp_path, content))
    assert (log.kind, log.statements) == (kind, 1)


def test_families_change_what_is_read(tmp_path: Path) -> None:
    paths = written(tmp_path, SLOW)
    assert logs.read(paths).templates[0].sql == "SELECT ? FROM t2"
    assert logs.read(paths, families=["t"]).templates[0].sql == "SELECT ? FROM t?"


def test_a_cut_file_does_not_spoil_the_next(tmp_path: Path) -> None:
    log = logs.read(written(tmp_path, SLOW + SLOW[:-5], SLOW))
    assert [template.count for template in log.templates] == [2]
    assert [(left.reason, left.statements) for left in log.left_out] == [("cut off", 1)]


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (["nothing of the kind\n"], "expected one kind of file"),
        ([SLOW, DIGESTS], "expected one kind of file"),
        ([""], "expected one kind of file"),
        ([SLOW.replace('SELECT "a" FROM t2', "COMMIT")], "no statement is in it"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, contents: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        logs.read(written(tmp_path, *contents))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent: No such file"):
        logs.read([tmp_path / "absent"])
