from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shootout.bisect import documents as bisections
from shootout.bisect.values import BuildRecord
from shootout.errors import InputError
from tests.bisect.builders import a_bisection, a_run, written


def test_a_bisection_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = a_bisection(builds={"c": BuildRecord(seconds=1.0, reason="no")}, finished=True)
    folder = written(tmp_path, found, a_run({"a": 0.0, "h": 0.0}), a_run({"a": 0.0, "b": 0.0}))
    assert bisections.read(folder) == found
    assert [document.header.blocks[0].servers for document in bisections.documents(folder).values()] == [
        ("a", "h"),
        ("a", "b"),
    ]


def test_readable_ones_are_found_the_oldest_first(tmp_path: Path) -> None:
    folders = [written(tmp_path, a_bisection(id=f"2026112{day}T100000Z-000001")) for day in (4, 1, 2)]
    (folders[2] / "bisection.json").write_text("{}")
    left_out: list[str] = []
    assert bisections.find(tmp_path, left_out.append) == (folders[1], folders[0])
    (reason,) = left_out
    assert "not a bisection" in reason


@pytest.mark.parametrize("labels", ["a", "aa", "ab"])
def test_damaged_ones_are_refused(labels: str, tmp_path: Path) -> None:
    found = a_bisection(labels, builds={"z": BuildRecord(seconds=1.0)})
    with pytest.raises(InputError, match="its revisions are damaged"):
        bisections.read(written(tmp_path, found))


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, a_bisection())
    raw = msgspec.json.decode((folder / "bisection.json").read_bytes())
    (folder / "bisection.json").write_bytes(msgspec.json.encode(raw | {"format": 2}))
    with pytest.raises(InputError, match="not a bisection"):
        bisections.read(folder)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "bisections").write_text("")
    with pytest.raises(Exception, match="cannot be written"):
        bisections.write(bisections.folder_of(tmp_path, "x"), replace(a_bisection(), finished=True))
