"""A built server as one file."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.servers.sources import pack


def test_an_archive_makes_a_new_folder_or_nothing(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    for file, where, message in (
        ("a.tar", "new", "points outside"),
        ("none.tar", "new", "cannot be unpacked"),
        ("a.tar", "", "exists already"),
    ):
        with pytest.raises(InputError, match=message):
            pack.unpack(tmp_path / file, tmp_path / where)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("readme"), io.BytesIO())
    with pytest.raises(InputError, match="no server found"):
        pack.unpack(tmp_path / "a.tar", tmp_path / "new")
    assert [each.name for each in tmp_path.iterdir()] == ["a.tar"]
