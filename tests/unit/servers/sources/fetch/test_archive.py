"""Archives of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Archive
from shootout.servers.sources import layout
from shootout.servers.sources.fetch import archive
from tests.support.servers.sources.fetch.archives import Host, an_archive, directories, fetch_archive, serving


def test_the_single_top_folder_of_an_archive_is_the_tree(tmp_path: Path) -> None:
    for names in (("mine/bin/mysqld", "mine/mine/text"), ("bin/mysqld", "share/text"), ("mysqld",)):
        directory = fetch_archive(an_archive(tmp_path / "mine-1.2.tar.gz", *names), tmp_path)
        assert layout.find_mysqld(directory) == directory / names[0]
        assert directory.name.startswith("mine-1.2-")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Host]:
    with serving(tmp_path) as host:
        yield host


def test_an_archive_is_fetched_from_the_web_once(web: Host, tmp_path: Path) -> None:
    local = an_archive(tmp_path / "mine.tar.gz", "mine/bin/mysqld")
    source = msgspec.structs.replace(local, url=f"{web.url}/mine.tar.gz?any=1")
    directory = fetch_archive(source, tmp_path)
    assert (directory / "mine" / "bin" / "mysqld").is_file()
    assert fetch_archive(source, tmp_path) == directory
    assert len(web.asked) == 1


def test_an_archive_that_does_not_come_is_said(web: Host, tmp_path: Path) -> None:
    for url, words in (
        (f"{web.url}/none.tar.gz", "HTTP 404 File not found"),
        ("http://127.0.0.1:1/any.tar.gz", "Connection refused"),
    ):
        with pytest.raises(MeasureError) as caught:
            fetch_archive(Archive(url=url, sha256="0" * 64), tmp_path)
        assert str(caught.value).startswith(f"cannot download {url}: ")
        assert words in str(caught.value)
    assert directories(tmp_path) == []


@pytest.mark.parametrize(
    ("sends", "limit", "said"),
    [
        (("x" * 2**20, 0.0), ("DOWNLOAD_MAX_BYTES", 10**7), "it is larger than 10000000 bytes"),
        (("x", 0.01), ("DOWNLOAD_MAX_S", 0.5), "it took longer than 0 s"),
    ],
)
def test_a_download_without_an_end_is_ended(
    sends: tuple[str, float], limit: tuple[str, float], said: str, web: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, *limit)
    (web.folder / "any.tar").touch()
    web.endless, web.pause_s = sends
    with pytest.raises(MeasureError, match=said):
        fetch_archive(Archive(url=f"{web.url}/any.tar", sha256="0" * 64), web.folder)
    assert directories(web.folder) == []


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "any.tar").write_text("no tar")
    source = Archive(url=(tmp_path / "any.tar").as_uri(), sha256=sha256(b"no tar").hexdigest())
    with pytest.raises(InputError, match=r"any\.tar: not a complete tar"):
        fetch_archive(source, tmp_path)
    assert directories(tmp_path) == []
