"""Documents of work on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout.document import work
from shootout.errors import InputError
from shootout.model.work import WorkDocument, WorkFailure
from tests.work import BASE, KINDS, document


def test_a_document_is_read_as_written(tmp_path: Path) -> None:
    written = document({"a": BASE, "b": BASE})
    path = work.write(tmp_path, written)
    assert work.read(path) == written
    assert work.find(tmp_path) == (path,)
    assert work.is_work(path)
    assert not work.is_work(Path("20261124T100000Z-000001.jsonl"))


def damaged() -> list[WorkDocument]:
    sound = document({"a": BASE})
    (profile, *_) = sound.profiles
    return [
        structs.replace(sound, servers=()),
        structs.replace(sound, servers=sound.servers * 2),
        structs.replace(sound, kinds=KINDS[2:]),
        structs.replace(sound, kinds=KINDS[:1]),
        structs.replace(sound, profiles=(structs.replace(profile, names=(0, 2)),)),
        structs.replace(sound, profiles=(structs.replace(profile, names=(0,)),)),
        structs.replace(sound, failures=(WorkFailure(server="b", workload="", reason=""),)),
    ]


@pytest.mark.parametrize("document", damaged())
def test_a_document_that_points_nowhere_is_refused(document: WorkDocument, tmp_path: Path) -> None:
    path = work.write(tmp_path, document)
    with pytest.raises(InputError, match="not a document of work"):
        work.read(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[1]"])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a document of work"):
        work.read(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        work.read(tmp_path / "none.json")
