"""Documents of soaks: written as they grow, read with care."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.soak.documents import SOAKS, Writer
from shootout.soak.values import SoakFailure
from tests.support.soak.builders import document, slices, written
from tests.unit.document.test_journal import files_no_larger_than

WHOLE = document(
    ["a", "b"],
    slices("a", [10.0, 20.0], gauges=[{"memory": 1e6}, {}]),
    failures=[SoakFailure(server="b", reason="crashed")],
    ends={"a": {"memory": 1e6}},
)


def test_a_document_reads_as_it_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    assert SOAKS.find(tmp_path) == (path,)
    assert SOAKS.read(path) == WHOLE


def test_a_torn_line_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    path.write_bytes(path.read_bytes()[:-5])
    assert SOAKS.read(path).slices == WHOLE.slices


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"format":2', b'"format":3', ":1: not a record of a soak"),
        (b'"record":"soak"', b'"record":"end"', ":1: not a record of a soak"),
        (b'"server":"a","begins', b'"server":"c","begins', "a server that the header does not name"),
        (b'"servers":["a","b"]', b'"servers":["a","a"]', "its servers are damaged"),
    ],
)
def test_damage_is_named(tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    path = written(tmp_path, WHOLE)
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(InputError, match=message):
        SOAKS.read(path)


def test_a_document_without_or_with_two_headers_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    lines = path.read_bytes().splitlines(keepends=True)
    for damaged in (b"", b"".join(lines[1:]), lines[0] * 2):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="header"):
            SOAKS.read(path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "soaks").touch()
    with pytest.raises(InputError, match="cannot be written"):
        Writer(tmp_path, document(["a"], []).header)


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    whole = document(["a"], [])
    writer = Writer(tmp_path, whole.header)
    full = pytest.raises(MeasureError, match="cannot be written: ")
    with files_no_larger_than(writer.path.stat().st_size + 5), full:
        writer.append(whole.servers[0])
    writer.append(whole.servers[0])
    assert SOAKS.read(writer.path) == whole
