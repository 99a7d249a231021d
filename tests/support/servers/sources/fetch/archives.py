"""Archives to fetch, hosts that have them, and what a cache holds afterwards; clients that fail."""

from __future__ import annotations

import http.server
import io
import os
import ssl
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest

from shootout.model.catalogue import Archive
from shootout.servers.sources.fetch import archive, packages


def an_archive(path: Path, *names: str) -> Archive:
    """Write an archive of empty programs, under its file URL."""
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            file = tarfile.TarInfo(name)
            file.mode = 0o755
            tar.addfile(file, io.BytesIO())
    return Archive(url=path.as_uri(), sha256=sha256(path.read_bytes()).hexdigest())


def fetch_archive(source: Archive, cache: Path) -> Path:
    return packages.fetch_source(archive.name(source.url), source, cache)


def directories(cache: Path) -> list[str]:
    return [each.name for each in (cache / "servers").iterdir() if each.is_dir()]


@dataclass
class Host:
    """A web server for the files in `folder`."""

    folder: Path
    url: str = ""
    cut: int = 0  # answers that end in the middle
    ranges: bool = True  # whether it continues where it is asked to
    endless: str = ""  # what it sends without an end, saying nothing of the length
    pause_s: float = 0.0  # after each of these
    asked: list[str] = field(default_factory=list)  # the Range of each request, "" without


@contextmanager
def serving(folder: Path, certificate: Path | None = None) -> Iterator[Host]:
    """Serve the files in a folder over http, or over https with a certificate and its key."""
    host = Host(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/to/"):
                self.send_response(302)
                self.send_header("Location", self.path.removeprefix("/to/"))
                self.end_headers()
                return
            host.asked.append(self.headers.get("Range", ""))
            file = folder / self.path[1:].partition("?")[0]
            if not file.exists():
                self.send_error(404, "File not found")
                return
            content = file.read_bytes()
            begins = int(host.asked[-1].strip("bytes=-") or 0) if host.ranges else 0
            self.send_response(206 if begins else 200)
            if not host.endless:
                self.send_header("Content-Length", str(len(content) - begins))
            self.end_headers()
            with suppress(OSError):
                while host.endless:
                    self.wfile.write(host.endless.encode())
                    time.sleep(host.pause_s)
            if host.cut:
                host.cut -= 1
                content = content[: begins + (len(content) - begins) // 2]
            self.wfile.write(content[begins:])

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host.url = f"http://127.0.0.1:{server.server_port}"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            host.url = f"https://localhost:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield host
        host.endless = ""
        server.shutdown()
        thread.join()


def a_failing_client(name: str, output: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a client first in PATH that prints `output` and fails; apt-get still names a mirror."""
    (folder / "output").write_text(output)
    script = folder / "bin" / name
    script.parent.mkdir()
    targets = "http://127.0.0.1/any\tsid\tmain\tDebian"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = indextargets ] && echo "{targets}" && exit\ncat {folder}/output\nexit 1\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
