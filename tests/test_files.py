from pathlib import Path

import pytest

from shootout import files


def tear(path: Path) -> None:
    with files.replacing(path) as file:
        file.write(b"tw")
        raise ValueError("torn")


def test_a_file_is_there_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "there"
    files.replace(path, b"one")
    with pytest.raises(ValueError, match="torn"):
        tear(path)
    assert path.read_bytes() == b"one"
    files.replace(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o644
    assert [*path.parent.iterdir()] == [path]
