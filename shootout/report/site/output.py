"""Writing a site's files: all of them are made before the first is moved into place.

`LIST` names the files, so that the next build removes those that it no longer makes. Other files stay.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath

import msgspec

from shootout import files, signals
from shootout.errors import InputError
from shootout.model.value import decoded
from shootout.report.site.page import File
from shootout.servers import locking

LIST = ".shootout.json"
LAST = "index.html"  # moved into place after everything that it links to
_BUILDING = ".building-"  # how the folder is called in which files are made
PROCESSES_MAX = 4  # each may load a whole run: some 100 MB

Part = Iterable[File]  # files that one process makes, when it iterates over them


def write(out: Path, parts: Callable[[], Iterator[Part]]) -> None:
    """Make the files of all parts in `out`, and remove those of an earlier build.

    Raises OSError, and InputError for a folder with an index that is somebody else's. Several processes share
    the parts; `parts` lists them in the same order in each.
    """
    if (out / LAST).exists() and not (out / LIST).exists():
        raise InputError(
            f"{out}: has an {LAST} that shootout did not write; name another folder, or remove it"
        )
    out.mkdir(parents=True, exist_ok=True)
    with locking.locked(out / LIST):  # one build at a time
        for left in out.glob(f"{_BUILDING}*"):  # by a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        earlier = _listed(out)
        with tempfile.TemporaryDirectory(prefix=_BUILDING, dir=out) as name:
            folder = Path(name)
            _make(folder, parts)
            made = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            for site_path in sorted(made, key=lambda path: path == LAST):  # each atomically
                (out / site_path).parent.mkdir(parents=True, exist_ok=True)
                (folder / site_path).replace(out / site_path)
        for path in earlier.difference(made):
            _remove(out, PurePosixPath(path))
        files.replace(out / LIST, msgspec.json.encode(made))


def _make(folder: Path, parts: Callable[[], Iterator[Part]]) -> None:
    fork = multiprocessing.get_context("fork")  # what parts are made from cannot be pickled
    failures = fork.SimpleQueue()
    count = min(len(os.sched_getaffinity(0)), PROCESSES_MAX)
    workers = [
        fork.Process(target=_make_share, args=(folder, parts, number, count, failures))
        for number in range(count)
    ]
    try:
        with signals.put_off():
            for worker in workers:
                worker.start()
        for worker in workers:
            worker.join()
    finally:
        for worker in filter(multiprocessing.Process.is_alive, workers):
            worker.kill()
            worker.join()
    if not failures.empty():
        raise failures.get()
    if any(worker.exitcode for worker in workers):
        raise ChildProcessError("a process that renders pages was killed")


def _make_share(
    folder: Path,
    parts: Callable[[], Iterator[Part]],
    first: int,
    step: int,
    failures: multiprocessing.SimpleQueue[Exception],
) -> None:
    signals.end_quietly()
    try:
        for part in islice(parts(), first, None, step):
            for site_path, content in part:
                path = folder / site_path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)
    except Exception as error:
        failures.put(error)


def _remove(out: Path, path: PurePosixPath) -> None:
    with suppress(OSError):
        (out / path).unlink()
        for parent in path.parents[:-1]:
            (out / parent).rmdir()


def _listed(out: Path) -> set[str]:
    """The files of the last build; none if their list cannot be read."""
    try:
        paths = decoded((out / LIST).read_bytes(), set[str])
    except (OSError, ValueError):
        return set()
    inside = (PurePosixPath(path) for path in paths)
    return {str(path) for path in inside if not path.is_absolute() and ".." not in path.parts}
