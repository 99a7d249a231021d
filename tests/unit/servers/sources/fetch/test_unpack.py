from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.servers.sources.fetch import unpack
from shootout.servers.sources.fetch.unpack import ArchiveError, Destination

Member = tuple[str, str, str]  # kind, name, and content or target

KINDS = {
    "link": tarfile.SYMTYPE,
    "same": tarfile.LNKTYPE,
    "folder": tarfile.DIRTYPE,
    "pipe": tarfile.FIFOTYPE,
}


def a_file(name: str, content: str = "text") -> Member:
    return ("file", name, content)


def a_tar(members: Sequence[Member], path: Path, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for kind, name, content in members:
            each = tarfile.TarInfo(name)
            each.mode = 0o755 if name.startswith("bin/") else 0o644
            if kind == "file":
                each.size = len(content.encode())
                tar.addfile(each, io.BytesIO(content.encode()))
            else:
                each.type, each.linkname = KINDS[kind], content
                tar.addfile(each)
    return path


def a_zip(members: Sequence[Member], path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for kind, name, content in members:
            each = zipfile.ZipInfo(f"{name}/" if kind == "folder" else name)
            if kind == "link":
                each.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(each, content)
    return path


def unpacked(archive: Path, directory: Path, folder: str = "", keep: Sequence[str] = ()) -> dict[str, str]:
    """All that lies in the directory afterwards: files by content, links by target, folders as such."""
    directory.mkdir(exist_ok=True)
    with archive.open("rb") as file:
        unpack.extract(file, Destination(directory, folder, keep))
    return tree(directory)


def tree(directory: Path) -> dict[str, str]:
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = "folder" if path.is_dir() else path.read_bytes().decode(errors="replace")
    return found


MEMBERS = (
    ("folder", "./top", ""),
    a_file("top/bin/mysqld", "\x7fELF"),
    a_file("top/bin/safe", "#!/bin/sh"),
    a_file("top/lib/plugin/ha.so", "\x7fELF plugin"),
    a_file("top/lib/plugin/debug/ha.so", "\x7fELF debug"),
    ("link", "top/lib/ha.so", "plugin/ha.so"),
    a_file("top/share/english/errmsg.sys"),
    ("folder", "top/share/empty", ""),
    a_file("other/readme"),
)


@pytest.mark.parametrize("make", [a_tar, a_zip])
def test_a_folder_of_an_archive_becomes_the_tree(make: type, tmp_path: Path) -> None:
    keep = ["bin/mysqld", "lib/plugin/*.so", "lib/*.so", "share"]
    assert unpacked(make(MEMBERS, tmp_path / "archive"), tmp_path / "tree", "top", keep) == {
        "bin": "folder",
        "bin/mysqld": "\x7fELF",
        "lib": "folder",
        "lib/ha.so": "-> plugin/ha.so",
        "lib/plugin": "folder",
        "lib/plugin/ha.so": "\x7fELF plugin",
        "share": "folder",
        "share/empty": "folder",
        "share/english": "folder",
        "share/english/errmsg.sys": "text",
    }


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_every_compression_of_a_tar_is_told_by_its_content(mode: str, tmp_path: Path) -> None:
    archive = a_tar([a_file("a", "1"), ("same", "b", "a")], tmp_path / "archive", mode)
    assert unpacked(archive, tmp_path / "tree") == {"a": "1", "b": "1"}


def test_run_bits_are_kept_by_a_tar_and_given_back_to_programs_of_a_zip(tmp_path: Path) -> None:
    members = [a_file("bin/mysqld", "\x7fELF"), a_file("bin/safe", "#!/bin/sh"), a_file("share/text")]
    for make in (a_tar, a_zip):
        directory = tmp_path / make.__name__
        names = unpacked(make(members, tmp_path / "archive"), directory)
        files = [name for name in names if (directory / name).is_file()]
        assert {name for name in files if os.access(directory / name, os.X_OK)} == {"bin/mysqld", "bin/safe"}


def test_of_two_files_under_one_name_the_later_stays(tmp_path: Path) -> None:
    archive = a_tar([a_file("a", "1"), ("same", "b", "a"), a_file("a", "2")], tmp_path / "archive")
    assert unpacked(archive, tmp_path / "tree") == {"a": "2", "b": "1"}


UNSAFE: Sequence[tuple[Sequence[Member], str]] = [
    ([a_file("../evil")], "'../evil' in it points outside"),
    ([a_file("a/../../evil")], "points outside"),
    ([a_file("/tmp/evil")], "'/tmp/evil' in it points outside"),
    ([("link", "a", "../secret")], "the link 'a' in it points outside: ../secret"),
    ([("link", "a", "/etc/passwd")], "the link 'a' in it points outside: /etc/passwd"),
    ([("link", "a", ".."), a_file("a/evil")], "occurs twice, as different things"),
    ([("link", "a", "b/.."), ("link", "b", "."), ("link", "a/evil", "x")], "points outside"),
    ([("link", "a", "b/.."), ("link", "b", ".")], "the link 'a' in it points outside: b/.."),
    ([a_file("a"), a_file("a/b")], "occurs twice, as different things"),
    ([("same", "a", "../secret")], "'../secret' in it points outside"),
    ([("same", "a", "nothing")], "'a' in it is a hard link to 'nothing', which is missing"),
    ([("pipe", "a", "")], "'a' in it is neither file, folder nor link"),
]


@pytest.mark.parametrize(("members", "said"), UNSAFE)
def test_nothing_gets_outside(members: Sequence[Member], said: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("untouched")
    with pytest.raises(ArchiveError) as caught:
        unpacked(a_tar(members, tmp_path / "archive"), tmp_path / "tree")
    assert said in str(caught.value)
    assert {each.name for each in tmp_path.iterdir()} == {"secret", "archive", "tree"}
    assert (tmp_path / "secret").read_text() == "untouched"


@pytest.mark.parametrize("members", [each for each, _ in UNSAFE[:9]])
def test_nothing_gets_outside_of_a_zip(members: Sequence[Member], tmp_path: Path) -> None:
    with pytest.raises(ArchiveError):
        unpacked(a_zip(members, tmp_path / "archive"), tmp_path / "tree")
    assert {each.name for each in tmp_path.iterdir()} == {"archive", "tree"}


names = st.lists(st.sampled_from(["a", "b", "c", ".", "..", ""]), min_size=1, max_size=4).map("/".join)
drawn = st.tuples(st.sampled_from(["file", "link", "same", "folder"]), names, names)


@given(st.lists(drawn, max_size=8))
def test_whatever_an_archive_says_nothing_outside_is_touched(members: Sequence[Member]) -> None:
    outer = Path(tempfile.mkdtemp())
    try:
        archive = a_tar(members, outer / "archive", "w")
        (outer / "a").mkdir()
        (outer / "a" / "b").write_text("untouched")
        before = archive.read_bytes()
        try:
            found = unpacked(archive, outer / "tree")
        except ArchiveError:
            pass
        else:
            links = [outer / "tree" / name for name, what in found.items() if what.startswith("-> ")]
            assert all(Path(os.path.realpath(link)).is_relative_to(outer / "tree") for link in links)
        shutil.rmtree(outer / "tree")
        assert tree(outer) == {"a": "folder", "a/b": "untouched", "archive": before.decode()}
    finally:
        shutil.rmtree(outer)


def test_an_archive_that_only_seems_small_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "UNPACKED_MAX_BYTES", 10**6)
    monkeypatch.setattr(unpack, "MEMBERS_MAX", 100)
    zeros = a_file("bin/zeros", "\0" * 400_000)
    bombs = {
        "large": [zeros, a_file("b", "\0" * 700_000)],
        "many": [("folder", f"d{n}", "") for n in range(101)],
    }
    for name, members in bombs.items():
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for kind, member, content in members:
                archive.writestr(f"{member}/" if kind == "folder" else member, content)
        for archive_path in (a_tar(members, tmp_path / name, "w:xz"), tmp_path / f"{name}.zip"):
            assert archive_path.stat().st_size < 20_000
            for keep in ((), ("bin",)):  # what is left out is decompressed, too
                directory = tmp_path / "tree"
                with pytest.raises(ArchiveError, match="too large for a server: more than 100 members or"):
                    unpacked(archive_path, directory, keep=keep)
                assert sum(each.stat().st_size for each in directory.rglob("*") if each.is_file()) < 10**6
                shutil.rmtree(directory)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_header_that_fills_the_memory_is_not_read(kind: bytes, tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 2**20 + 1
    with gzip.open(tmp_path / "archive", "w") as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        file.write(b"\0" * 2**21)
    with pytest.raises(ArchiveError, match="too large for a server: a header of 1048577 bytes"):
        unpacked(tmp_path / "archive", tmp_path / "tree")


def test_what_is_no_whole_archive_is_said(tmp_path: Path) -> None:
    whole = a_tar(MEMBERS, tmp_path / "whole").read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2], b"PK\x03\x04 and no more"):
        (tmp_path / "archive").write_bytes(content)
        with pytest.raises(ArchiveError, match="not a complete tar"):
            unpacked(tmp_path / "archive", tmp_path / "tree")


@cache
def whole(kind: str) -> bytes:
    """An archive of that kind, of files that do not compress away."""
    members = [*MEMBERS, a_file("noise", "".join(chr(33 + n * n % 89) for n in range(3000)))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        made = a_zip(members, path) if kind == "zip" else a_tar(members, path, kind)
        return made.read_bytes()


@given(
    st.sampled_from(["w", "w:gz", "w:bz2", "w:xz", "zip"]),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 255),
    st.booleans(),
)
def test_a_damaged_archive_is_a_whole_one_or_no_archive(
    kind: str, where: float, byte: int, cut: bool
) -> None:
    content = bytearray(whole(kind))
    index = int(where * len(content))
    content[index] = byte
    with tempfile.TemporaryDirectory() as outer:
        archive = Path(outer) / "archive"
        archive.write_bytes(content[:index] if cut else content)
        with suppress(ArchiveError):
            unpacked(archive, Path(outer) / "tree")
        assert {each.name for each in Path(outer).iterdir()} == {"archive", "tree"}


def test_an_archive_in_an_archive(tmp_path: Path) -> None:
    inner = a_tar([a_file("a", "1")], tmp_path / "inner")
    outer = tmp_path / "outer"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "some/inner.tar.gz")
    (tmp_path / "tree").mkdir()
    with unpack.member(outer, "some/inner.tar.gz") as file:
        unpack.extract(file, Destination(tmp_path / "tree"))
    assert tree(tmp_path / "tree") == {"a": "1"}
    with (
        pytest.raises(ArchiveError, match=r"there is no 'inner\.tar' in it"),
        unpack.member(outer, "inner.tar"),
    ):
        pass
