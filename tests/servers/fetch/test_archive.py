"""Archives of the user's own."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Archive
from shootout.servers import layout
from shootout.servers.fetch import archive
from tests.servers.fetch.archives import an_archive, directories, fetch_archive


def test_the_single_top_folder_of_an_archive_is_the_tree(tmp_path: Path) -> None:
    for names in (("mine/bin/mysqld", "mine/mine/text"), ("bin/mysqld", "share/text"), ("mysqld",)):
        directory = fetch_archive(an_archive(tmp_path / "mine-1.2.tar.gz", *names), tmp_path)
        (directory / names[0]).chmod(0o755)
        assert layout.find_mysqld(directory) == directory / names[0]
        assert directory.name.startswith("mine-1.2-")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server for the files in tmp_path; of what is called torn it gives half."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path), **options)  # type: ignore[arg-type]

        def do_GET(self) -> None:
            if "torn" not in self.path:
                super().do_GET()
                return
            content = (tmp_path / self.path[1:]).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_archive_is_fetched_from_the_web_once(web: str, tmp_path: Path) -> None:
    local = an_archive(tmp_path / "mine.tar.gz", "mine/bin/mysqld")
    source = msgspec.structs.replace(local, url=f"{web}/mine.tar.gz?any=1")
    directory = fetch_archive(source, tmp_path)
    assert (directory / "mine" / "bin" / "mysqld").is_file()
    (tmp_path / "mine.tar.gz").unlink()
    assert fetch_archive(source, tmp_path) == directory


def test_an_archive_that_does_not_come_whole_is_said(web: str, tmp_path: Path) -> None:
    source = an_archive(tmp_path / "torn.tar.gz", "bin/mysqld")
    length = (tmp_path / "torn.tar.gz").stat().st_size
    for url, words in (
        (f"{web}/torn.tar.gz", f"it ended after {length // 2} of {length} bytes"),
        (f"{web}/none.tar.gz", "HTTP 404 File not found"),
        ("http://127.0.0.1:1/any.tar.gz", "Connection refused"),
    ):
        with pytest.raises(MeasureError) as caught:
            fetch_archive(msgspec.structs.replace(source, url=url), tmp_path)
        assert str(caught.value).startswith(f"cannot download {url}: ")
        assert words in str(caught.value)
    wrong = msgspec.structs.replace(source, url=f"{web}/other.tar.gz")
    (tmp_path / "other.tar.gz").write_text("something else")
    with pytest.raises(InputError, match=f"{wrong.url}: expected sha256 {wrong.sha256}, found "):
        fetch_archive(wrong, tmp_path)
    assert directories(tmp_path) == []


@contextmanager
def an_endless_stream(*, drip: bool) -> Iterator[str]:
    """A web server that sends without an end: as fast as it can, or a byte now and then."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while not over.wait(0.01 if drip else 0):
                    self.wfile.write(b"x" if drip else b"x" * 2**20)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    over = threading.Event()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/any.tar"
        finally:
            over.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("drip", "limit", "said"),
    [
        (False, ("DOWNLOAD_MAX_BYTES", 10**7), "it is larger than 10000000 bytes"),
        (True, ("DOWNLOAD_MAX_S", 0.5), "it took longer than 0 s"),
    ],
)
def test_a_download_without_an_end_is_ended(
    drip: bool, limit: tuple[str, float], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, *limit)
    with an_endless_stream(drip=drip) as url, pytest.raises(MeasureError, match=said):
        fetch_archive(Archive(url=url, sha256="0" * 64), tmp_path)
    assert directories(tmp_path) == []


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "any.tar").write_text("no tar")
    source = Archive(url=(tmp_path / "any.tar").as_uri(), sha256=sha256(b"no tar").hexdigest())
    with pytest.raises(InputError, match=r"any\.tar: not a complete tar"):
        fetch_archive(source, tmp_path)
    assert directories(tmp_path) == []
