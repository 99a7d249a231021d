"""Ledgers on disk: a JSON Lines file for each runner, with an entry for each A/A cell of each run."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import msgspec
from msgspec import structs

from shootout import files
from shootout.document import formats
from shootout.errors import InputError
from shootout.model.history import LedgerEntry
from shootout.model.run import RunHeader

FOLDER = "ledger"  # beside the run documents
_FINGERPRINT = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def path_of(folder: Path, fingerprint: str) -> Path:
    """Return the file of a runner. Raises InputError for an invalid fingerprint: documents are untrusted."""
    if _FINGERPRINT.fullmatch(fingerprint) is None:
        raise InputError(f"runner.fingerprint: expected letters and digits, found {fingerprint[:80]!r}")
    return folder / f"{fingerprint}.jsonl"


def read(
    folder: Path, fingerprint: str, skip: Callable[[str], None] | None = None
) -> tuple[LedgerEntry, ...]:
    """Read a runner's entries, of each run the newest; `skip` receives once why others are left out."""
    file = path_of(folder, fingerprint)
    bad: list[str] = []
    try:
        lines = files.read(file).split(b"\n")[:-1]
    except FileNotFoundError:
        return ()
    except OSError as error:
        lines, bad = [], [f"{file}: cannot be read: {error.strerror}"]
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entry = formats.LEDGER.document(line, LedgerEntry)
            entries.append(structs.replace(entry, runner=fingerprint))
        except ValueError as error:
            bad.append(f"{file}:{number}: not a ledger entry: {error}")
    if bad and skip is not None:
        more = len(bad) - 1
        skip(bad[0] + (f"; nor {'is' if more == 1 else 'are'} {more} more of its lines" if more else ""))
    newest = _newest(entries)
    return tuple(entry for entry in entries if entry.made == newest[entry.run])


def _newest(entries: Iterable[LedgerEntry]) -> dict[str, int]:
    """Say by run of how many starts its newest entries are."""
    return {entry.run: entry.made for entry in sorted(entries, key=lambda entry: entry.made)}


def append(folder: Path, fingerprint: str, entries: Iterable[LedgerEntry]) -> None:
    """Append entries to a runner's file, except those that it has. Raises InputError."""
    if not (given := list(entries)):
        return
    file = path_of(folder, fingerprint)
    with files.writing(file):
        folder.mkdir(parents=True, exist_ok=True)
        # A pipe without a reader fails instead of waiting for one.
        at_once = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
        with os.fdopen(os.open(file, at_once, 0o644), "ab") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)  # another run may end at the same moment
            known = _newest(read(folder, fingerprint))
            new = [entry for entry in given if entry.made > known.get(entry.run, -1)]
            opened.truncate(files.read(file).rfind(b"\n") + 1)  # drop a line torn by a crash
            opened.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in new))


def record(folder: Path, entries: Iterable[LedgerEntry]) -> None:
    """Append each entry to its own runner's file. Raises InputError."""
    ordered = sorted(entries, key=lambda entry: entry.runner)
    for fingerprint, of_runner in itertools.groupby(ordered, key=lambda entry: entry.runner):
        append(folder, fingerprint, of_runner)


class Ledgers:
    """The ledgers beside a folder's runs, each read once; `skip` as in `read`."""

    def __init__(self, results: Path, skip: Callable[[str], None] | None = None) -> None:
        self._folder = results / FOLDER
        self._skip = skip
        self._entries = cache(self._read)

    def entries(self, header: RunHeader) -> list[LedgerEntry]:
        """List the entries of a run's runners."""
        runners = sorted(runner.fingerprint for runner in header.runners)
        return [entry for runner in runners for entry in self._entries(runner)[0]]

    def digest_before(self, run: str, runner: str) -> str:
        """Return a digest of the runner's entries of earlier runs."""
        entries, digests = self._entries(runner)
        return digests[bisect_left(entries, run, key=lambda entry: entry.run)]

    def _read(self, runner: str) -> tuple[list[LedgerEntry], list[str]]:
        """Read the entries, sorted by run and content, and digest each prefix."""
        encoded = sorted((e.run, msgspec.json.encode(e), e) for e in read(self._folder, runner, self._skip))
        prefix = hashlib.sha256()
        digests = [prefix.hexdigest()]
        for _, text, _ in encoded:
            prefix.update(text)
            digests.append(prefix.hexdigest())
        return [entry for _, _, entry in encoded], digests
