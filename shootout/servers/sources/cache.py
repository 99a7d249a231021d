"""The cache folder: servers and dataset templates, their size, and eviction.

An entry is in use while a process holds its lock (`locking`), and is then never removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from shootout.errors import InputError
from shootout.model.run import Warning
from shootout.model.value import Value, decoded
from shootout.servers import locking
from shootout.servers.sources import layout
from shootout.servers.sources.fetch import companions
from shootout.settings.setting import normalise

LIMIT_VARIABLE = "SHOOTOUT_CACHE_BYTES"
LIMIT_BYTES = 20 * 10**9

Kind = Literal["server", "libraries", "template"]
_FOLDERS: Mapping[Kind, str] = {"server": "servers", "libraries": "servers", "template": "templates"}


class Manifest(Value):
    """A template's template.json."""

    server: str  # family and version
    datasets: tuple[str, ...]  # keys
    checksum: str  # of all rows
    load_s: float
    files: dict[str, int]  # sizes by path under data/; a template that differs is broken
    told: tuple[Warning, ...] = ()  # while it was loaded


class Entry(Value):
    """One directory in the cache."""

    kind: Kind
    name: str  # of the directory
    server: str  # family and version; templates only
    datasets: tuple[str, ...]  # keys; templates only
    size_bytes: int  # on disk
    used: datetime  # most recently
    state: Literal["ready", "in use", "broken"]


class Contents(Value):
    """The cache's entries, most recently used first."""

    entries: tuple[Entry, ...]
    total_bytes: int
    limit_bytes: int


class Cleared(Value):
    """Entries removed from the cache, and those kept because they are in use."""

    removed: tuple[Entry, ...]
    kept: tuple[Entry, ...]
    freed_bytes: int


def limit_bytes(environment: Mapping[str, str]) -> int:
    """Read the cache's size limit. Raises InputError if the variable is not a size."""
    written = environment.get(LIMIT_VARIABLE, "")
    if not written:
        return LIMIT_BYTES
    size = normalise(written)
    if not size.isdecimal():
        raise InputError(f"{LIMIT_VARIABLE}: expected a size in bytes (20000000000, 20G), found {written!r}")
    return int(size)


def contents(cache: Path, limit_bytes: int) -> Contents:
    """List the cache; entries being built or removed meanwhile may be missing."""
    entries = tuple(_entries(cache))
    total_bytes = sum(entry.size_bytes for entry in entries)
    return Contents(entries=entries, total_bytes=total_bytes, limit_bytes=limit_bytes)


def evict(cache: Path, limit_bytes: int) -> None:
    """Remove the least recently used templates, but none in use, until the cache is within its limit."""
    entries = _entries(cache)
    total_bytes = sum(entry.size_bytes for entry in entries)
    for entry in reversed(entries):
        if total_bytes <= limit_bytes:
            return
        if entry.kind == "template" and locking.remove(_directory(cache, entry)):
            total_bytes -= entry.size_bytes


def clear(cache: Path) -> Cleared:
    """Remove every entry that is not in use."""
    entries = _entries(cache)
    removed = tuple(entry for entry in entries if locking.remove(_directory(cache, entry)))
    kept = tuple(entry for entry in entries if entry not in removed)
    return Cleared(removed=removed, kept=kept, freed_bytes=sum(entry.size_bytes for entry in removed))


def manifest(directory: Path) -> Manifest | None:
    """Read a template's manifest; None if it is missing or does not match the files."""
    try:
        written = decoded((directory / "template.json").read_bytes(), Manifest)
        return written if written.files == sizes(directory / "data") else None
    except (OSError, ValueError):
        return None


def sizes(directory: Path) -> dict[str, int]:
    """List the sizes of all files below a directory, by path."""
    return {
        str(file.relative_to(directory)): file.stat().st_size
        for file in directory.rglob("*")
        if file.is_file()
    }


def _entries(cache: Path) -> Sequence[Entry]:
    targets = {
        # A half-built entry has a name of its own.
        directory.with_name(re.sub(r"^\.(.*)\.partial$", r"\1", directory.name))
        for folder in set(_FOLDERS.values())
        for directory in (cache / folder).glob("*")
        if directory.is_dir()
    }
    entries = [_entry(_kind(target), target) for target in targets]
    return sorted(entries, key=lambda entry: (entry.used, entry.name), reverse=True)


def _kind(target: Path) -> Kind:
    if target.parent.name == _FOLDERS["template"]:
        return "template"
    return "libraries" if target.name.startswith(f"{companions.NAME}-") else "server"


def _entry(kind: Kind, target: Path) -> Entry:
    template = manifest(target) if kind == "template" else None
    complete = template is not None or (kind == "server" and _is_server(target))
    complete |= kind == "libraries" and any((target / companions.FOLDER).glob("*.so*"))
    in_use = locking.is_held(locking.lock_of(target))
    return Entry(
        kind=kind,
        name=target.name,
        server=template.server if template else "",
        datasets=template.datasets if template else (),
        size_bytes=_on_disk_bytes(target) + _on_disk_bytes(locking.partial_of(target)),
        used=datetime.fromtimestamp(locking.lock_of(target).stat().st_mtime, UTC),
        state="in use" if in_use else "ready" if complete else "broken",
    )


def _is_server(directory: Path) -> bool:
    try:
        layout.find_mysqld(directory)
    except InputError:
        return False
    return True


def _on_disk_bytes(directory: Path) -> int:
    total = 0
    for folder, _, files in os.walk(directory):  # ignores what another process removes meanwhile
        for name in files:
            with suppress(FileNotFoundError):
                total += 512 * (Path(folder) / name).lstat().st_blocks
    return total


def _directory(cache: Path, entry: Entry) -> Path:
    return cache / _FOLDERS[entry.kind] / entry.name
