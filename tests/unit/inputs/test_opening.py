import bz2
import codecs
import gzip
import lzma
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.inputs import opening

TEXT = "CREATE TABLE pot (id int COMMENT 'Töpfe 🍲');\n" * 8_000  # more than one piece


def zstd(text: bytes) -> bytes:
    return subprocess.run(["zstd", "-q"], input=text, capture_output=True, check=True).stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": partial(gzip.compress, mtime=0),
    "gzip, two members": lambda text: gzip.compress(text[:7], mtime=0) + gzip.compress(text[7:], mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}
ENCODINGS = {
    "UTF-8": ("utf-8", b""),
    "UTF-8 with a BOM": ("utf-8", codecs.BOM_UTF8),
    "UTF-16": ("utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16 without a BOM": ("utf-16-le", b""),
    "UTF-16, big end": ("utf-16-be", codecs.BOM_UTF16_BE),
    "UTF-16, big end, without a BOM": ("utf-16-be", b""),
}


def a_file(folder: Path, content: bytes) -> Path:
    file = folder / "a"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("packer", PACKERS)
def test_a_text_is_read_however_it_is_packed_and_encoded(packer: str, encoding: str, tmp_path: Path) -> None:
    codec, mark = ENCODINGS[encoding]
    file = a_file(tmp_path, PACKERS[packer](mark + TEXT.encode(codec)))
    with opening.opened(file) as text:
        assert text.read().decode() == TEXT
    with opening.opened(file) as text:
        assert text.readline().decode() == TEXT.partition("\n")[0] + "\n"


@pytest.mark.parametrize("content", [b"", b"\n", b"a", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_short_texts_are_texts(content: bytes, tmp_path: Path) -> None:
    with opening.opened(a_file(tmp_path, content)) as text:
        assert text.read() == content.lstrip(b"\xef\xbb\xbf\xff\xfe")


@pytest.mark.parametrize("packer", ["gzip", "bzip2", "xz", "zstd"])
def test_a_cut_file_is_named(packer: str, tmp_path: Path) -> None:
    content = PACKERS[packer](os.urandom(1 << 18).hex().encode())
    file = a_file(tmp_path, content[: len(content) // 2])
    with pytest.raises(InputError, match=r"/a: cannot be unpacked: "), opening.opened(file) as text:
        text.read()


def test_a_cut_text_in_utf_16_is_named(tmp_path: Path) -> None:
    file = a_file(tmp_path, "SELECT 1;".encode("utf-16") + b"\0")
    fault = "expected a text in UTF-16, found other bytes: truncated"
    with pytest.raises(InputError, match=fault), opening.opened(file) as text:
        text.read()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"PK\3\4 and more", "a ZIP archive: unpack it first"),
        (b"\xfebin\0\0\0\0", "a binary log"),
        (gzip.compress(b"PGDMP\1", mtime=0), "a dump of PostgreSQL"),
        (gzip.compress(257 * b"a" + b"ustar", mtime=0), "a tar archive: unpack it first"),
        (b"\x7fELF\2\1\1\0\0\0\0\0", "binary data"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, found: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"/a: expected a text, found {found}$"):
        opening.opened(a_file(tmp_path, content))


def test_folders_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, fault in (
        (".", "expected a file, found a folder"),
        ("pipe", "cannot be read: not a regular file"),
        ("none", "cannot be read: No such file or directory"),
    ):
        with pytest.raises(InputError, match=fault):
            opening.opened(tmp_path / name)


def test_zstd_needs_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = a_file(tmp_path, zstd(b"SELECT 1"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="packed by zstd: install the program zstd, or unpack it"):
        opening.opened(file)
