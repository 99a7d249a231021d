"""A site's files: new ones are put in place, unchanged ones stay, obsolete ones go.

`RECORD` says which files were made from what, to make updates quick. Without it everything is made again, and
obsolete files of earlier builds stay.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from shootout.files import replace
from shootout.model.value import Value
from shootout.report.site.downloads import File

RECORD = ".shootout.json"
LAST = "index.html"  # put in place after everything it links to
REMOVED_TOGETHER = 8  # files: a disk may keep one waiting for each


class Group(NamedTuple):
    """Files that are made together."""

    key: str  # a digest of their sources; the same key, the same files
    files: Callable[[], Iterable[File]]


class _Record(Value):
    groups: dict[str, tuple[str, ...]]  # places of the files, by the group's key


def update(out: Path, groups: Sequence[Group]) -> None:
    """Bring `out` up to date. All files are made before the first is put in place. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    before = _read(out)
    still = {
        group.key: there
        for group in groups
        if (there := before.groups.get(group.key)) is not None
        and all((out / place).is_file() for place in there)
    }
    with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as folder:
        now = {
            group.key: still.get(group.key) or tuple(_make(file, Path(folder), out) for file in group.files())
            for group in groups
        }
        _put(Path(folder), out)
    current = {place for places in now.values() for place in places}
    _remove(out, {place for places in before.groups.values() for place in places} - current)
    replace(out / RECORD, msgspec.json.encode(_Record(groups=now)))


def _make(file: File, folder: Path, out: Path) -> str:
    """Write a file to the folder, unless `out` has the same."""
    place, text = file
    content = text.encode(errors="replace") if isinstance(text, str) else text
    if not _has(out / place, content):
        path = folder / place
        try:
            path.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return place


def _has(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _put(folder: Path, out: Path) -> None:
    """Move new files into place: each file, and each folder that does not exist yet, in one step."""
    last = folder / LAST
    for made, folders, names in os.walk(folder):
        to = out / Path(made).relative_to(folder)
        for name in [each for each in folders if not (to / each).exists()]:
            Path(made, name).rename(to / name)
            folders.remove(name)
        for name in names:
            path = Path(made, name)
            if path != last:
                path.replace(to / name)
    if last.exists():
        last.replace(out / LAST)


def _remove(out: Path, places: Iterable[str]) -> None:
    """Remove files of this site, and the folders that become empty."""
    paths = [path for path in map(PurePosixPath, places) if not path.is_absolute() and ".." not in path.parts]
    with ThreadPoolExecutor(REMOVED_TOGETHER) as threads:
        removed = threads.map(_removed, [out / path for path in paths])
        left = {path.parent for path, was_there in zip(paths, removed, strict=True) if was_there}
    emptied = {folder for parent in left for folder in (parent, *parent.parents) if folder.parts}
    for folder in sorted(emptied, key=lambda folder: len(folder.parts), reverse=True):
        with suppress(OSError):
            (out / folder).rmdir()


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _read(out: Path) -> _Record:
    try:
        return msgspec.json.decode((out / RECORD).read_bytes(), type=_Record)
    except (OSError, msgspec.DecodeError):
        return _Record(groups={})
