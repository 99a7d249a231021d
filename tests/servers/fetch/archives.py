"""Archives to fetch, and what a cache holds afterwards; clients that fail."""

from __future__ import annotations

import io
import os
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from shootout.model.catalogue import Archive
from shootout.servers.fetch import archive, packages


def an_archive(path: Path, *names: str) -> Archive:
    """An archive of text files, under its file URL."""
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return Archive(url=path.as_uri(), sha256=sha256(path.read_bytes()).hexdigest())


def fetch_archive(source: Archive, cache: Path) -> Path:
    return packages.fetch_source(archive.name(source.url), source, cache)


def directories(cache: Path) -> list[str]:
    return [each.name for each in (cache / "servers").iterdir() if each.is_dir()]


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
