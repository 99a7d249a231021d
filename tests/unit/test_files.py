import os
from pathlib import Path

import pytest

from shootout import files
from tests.unit.document.test_journal import files_no_larger_than


def test_a_file_is_there_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "there"
    files.replace(path, b"one")
    with files_no_larger_than(1), pytest.raises(OSError, match="File too large"):
        files.replace(path, b"two")
    assert path.read_bytes() == b"one"
    files.replace(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o644
    assert [*path.parent.iterdir()] == [path]


def test_a_file_is_on_the_disk_before_it_replaces_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    sync, seen = os.fsync, []

    def watched(descriptor: int) -> None:
        seen.append((Path(f"/proc/self/fd/{descriptor}").read_bytes(), path.read_bytes()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    files.replace(path, b"two")
    assert seen == [(b"two", b"one")]


def test_a_document_without_end_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "endless").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(OSError, match="it has more than 256 MB"):
        files.opened(tmp_path / "endless")
