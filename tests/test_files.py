from pathlib import Path

import pytest

from shootout import files
from tests.document.test_journal import files_no_larger_than


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
