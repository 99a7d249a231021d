"""Incremental updates of a site: write new files, leave unchanged ones, remove obsolete ones.

`RECORD` maps sources to files, so that an update rebuilds only what changed. Without it, everything is
rebuilt and obsolete files of earlier builds stay.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from shootout.files import replace
from shootout.model.value import Value
from shootout.report.site.downloads import File

RECORD = ".shootout.json"
LAST = "index.html"  # moved into place after everything that it links to
REMOVING_THREADS = 8  # a disk may block on each removal
PROCESSES_MAX = 4  # each may load a whole run: some 100 MB

Part = Iterable[File]  # files that one process makes, when it iterates over them


class Group(NamedTuple):
    """Files that are rebuilt together."""

    key: str  # digest of their sources: equal keys, equal files
    parts: Callable[[], Iterable[Part]]


class _Record(Value):
    groups: dict[str, tuple[str, ...]]  # paths of the files by the group's key


def update(out: Path, groups: Sequence[Group]) -> None:
    """Bring `out` up to date; builds all files before it moves the first into place. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    before = _read(out)
    unchanged = {
        group.key: paths
        for group in groups
        if (paths := before.groups.get(group.key)) is not None
        and all((out / path).is_file() for path in paths)
    }
    with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as folder:
        changed = [group for group in groups if group.key not in unchanged]
        built = unchanged | (_build(changed, Path(folder), out) if changed else {})
        _move(Path(folder), out)
    now = {group.key: built[group.key] for group in groups}
    current = {path for paths in now.values() for path in paths}
    _remove(out, {path for paths in before.groups.values() for path in paths} - current)
    replace(out / RECORD, msgspec.json.encode(_Record(groups=now)))


def _build(groups: Sequence[Group], folder: Path, out: Path) -> dict[str, tuple[str, ...]]:
    """Write the groups' files to `folder`, with a process for each CPU; returns their paths in the site."""
    processes = min(len(os.sched_getaffinity(0)), PROCESSES_MAX)
    forking = multiprocessing.get_context("fork")  # groups cannot be pickled
    with ProcessPoolExecutor(processes, forking, _inherit, (groups,)) as pool:
        shares = [*pool.map(partial(_build_share, folder, out, processes), range(processes))]
    return {
        group.key: tuple(sorted(chain.from_iterable(share[group.key] for share in shares)))
        for group in groups
    }


_inherited: Sequence[Group] = ()  # what a forked process shares with the others


def _inherit(groups: Sequence[Group]) -> None:
    global _inherited  # noqa: PLW0603
    _inherited = groups


def _build_share(folder: Path, out: Path, step: int, first: int) -> dict[str, list[str]]:
    """Write every `step`-th part of the inherited groups, beginning with the part number `first`."""
    numbers = count(step - first)
    return {
        group.key: [
            _write(file, folder, out) for part in group.parts() if next(numbers) % step == 0 for file in part
        ]
        for group in _inherited
    }


def _write(file: File, folder: Path, out: Path) -> str:
    """Write a file to `folder` unless `out` has the same; returns its path in the site."""
    site_path, text = file
    content = text.encode(errors="replace") if isinstance(text, str) else text
    if not _has(out / site_path, content):
        path = folder / site_path
        try:
            path.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return site_path


def _has(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _move(folder: Path, out: Path) -> None:
    """Move new files into place; each file, and each folder that `out` lacks, moves atomically."""
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


def _remove(out: Path, obsolete: Iterable[str]) -> None:
    """Remove files of this site and the folders that become empty."""
    paths = [
        path for path in map(PurePosixPath, obsolete) if not path.is_absolute() and ".." not in path.parts
    ]
    with ThreadPoolExecutor(REMOVING_THREADS) as threads:
        removed = threads.map(_removed, [out / path for path in paths])
        parents = {path.parent for path, existed in zip(paths, removed, strict=True) if existed}
    emptied = {folder for parent in parents for folder in (parent, *parent.parents) if folder.parts}
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
