"""The loader and libraries that run a server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.model.plan import ServerReference
from shootout.servers.sources import installations
from shootout.servers.sources.fetch import companions
from shootout.servers.sources.trees import Tree
from tests.support.runs import HEAD, a_tree


def test_missing_libraries_are_named_with_what_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = shutil.copytree(a_tree(HEAD).files.top, tmp_path / "torn", symlinks=True)
    for library in torn.rglob("libssl.so*"):
        library.unlink()
    with pytest.raises(InputError, match=r"missing shared libraries: libssl\.so\.1\.0\.0$"):
        Tree.inspect(torn)
    monkeypatch.setitem(companions.PACKAGES, "libssl.so.1.0.0", "libssl-of-old")
    with pytest.raises(InputError, match="apt-get install libssl-of-old"):
        Tree.inspect(torn)


def test_what_a_script_starts_has_its_libraries_named_and_brought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    script = tmp_path / "mysqld"
    script.write_text(
        """#!/bin/sh
for name in libaio.so.1 libnuma.so.1; do
    [ -e "$LD_LIBRARY_PATH/$name" ] && continue
    echo "mysqld.real: error while loading shared libraries: $name: cannot open shared object file" >&2
    exit 127
done
echo "mysqld.real  Ver 8.0.33 for Linux on x86_64 (Source distribution)"
"""
    )
    script.chmod(0o755)
    with pytest.raises(InputError, match="On Debian: apt-get install libaio1"):
        Tree.inspect(tmp_path)

    def fetch(names: list[str], *_: object) -> Path:
        for name in names:
            (tmp_path / name).touch()
        return tmp_path

    monkeypatch.setattr(companions, "fetch", fetch)
    tree = installations.find(ServerReference(source="path", target=str(tmp_path)))
    assert tree.version == (8, 0, 33)


def test_libraries_beside_the_server_are_used_where_the_system_lacks_them(tmp_path: Path) -> None:
    moved = shutil.copytree(a_tree(HEAD).files.top, tmp_path / "moved", symlinks=True)
    (moved / "libs").mkdir()
    for library in ("libssl.so.1.0.0", "libcrypto.so.1.0.0"):
        (moved / "bin" / library).unlink()
        (moved / "lib" / library).rename(moved / "libs" / library)
    tree = Tree.inspect(moved)
    assert tree.launch.variables == {"LD_LIBRARY_PATH": str(moved / "libs")}
    assert tree.version == (8, 0, 12)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\x7fELF\x01\x01\x01", "a 32-bit binary, and this system has no loader for it"),
        (b"\x7fELF\x02\x02\x01", "built for another architecture"),
        (b"", "it is empty, as a file may be after a power cut"),
        (b"#!/no/such/shell\n", "its loader is not on this system"),
    ],
)
def test_what_this_system_cannot_run_says_why(head: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    (tmp_path / "mysqld").write_bytes(head.ljust(100, b"\0"))
    (tmp_path / "mysqld").chmod(0o755)
    with pytest.raises(InputError, match=rf"{tmp_path}/mysqld: cannot be run: {said}"):
        Tree.inspect(tmp_path)
