"""Reads what a server ran, from its slow query log, its general log, or performance_schema's digests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shootout._engine import LogReader
from shootout.errors import InputError
from shootout.inputs.opening import opened
from shootout.learn import exports
from shootout.learn.exports import PIECE
from shootout.learn.values import Log
from shootout.model.value import decoded

_EXPECTED = "a slow query log, a general log, mysql.slow_log as CSV or TSV, or performance_schema's digests"
_BANNER = re.compile(
    rb"(?:[^\n]*, Version: [^\n]*started with:\s*\n(?:Tcp port: [^\n]*\n)?(?:Time[^\n]*\n)?\s*)+",
    re.IGNORECASE,
)
# Other files that people give, by how they begin.
_OTHERS = {
    re.compile(rb"-- (?:MySQL|MariaDB) dump|/\*M?!\d+"): "a dump",
    re.compile(rb"\S+ +\d+ \[(?:Note|Warning|ERROR|System)\]"): "an error log",
    re.compile(rb"\s*# (?:[\d.]+m?s user time|Overall:|Profile$)", re.MULTILINE): "a report on a log",
    re.compile(rb"# at \d+$|/\*!50530 SET @@SESSION\.PSEUDO", re.MULTILINE): "a binary log as text",
    re.compile(rb"<\?xml|<AUDIT"): "an audit log",
    re.compile(rb"[+]-+[+]|\*+ 1\. row"): "what a client draws: take mysql --batch",
}


def require(paths: Sequence[Path]) -> None:
    """Raise InputError if there is no statement in any file. Reads no further than to the first one."""
    for path in paths:
        reader = LogReader()
        for _ in itertools.chain(_fed(reader, path), [True]):
            if decoded(reader.finish(), Log).templates:
                return
    raise InputError(f"{', '.join(map(str, paths))}: no statement is in it: {_found(paths[0])}")


def _found(path: Path) -> str:
    with opened(path) as file:
        head = file.read(PIECE)
    if not head.strip():
        return "it is empty"
    if _BANNER.fullmatch(head):
        return "only a server's banner; the log was off, or long_query_time was not 0"
    other = next((what for begins, what in _OTHERS.items() if begins.match(head)), "")
    return f"expected {_EXPECTED}{other and f', found {other}'}"


def read(paths: Sequence[Path], *, families: Iterable[str] = ()) -> Log:
    """Read files of one kind as one log; `families`: stems of numbered tables. Raises InputError."""
    reader = LogReader(list(families))
    kinds = set[bool]()
    for path in paths:
        kinds.update(_fed(reader, path))
        reader.end_file()
    log = decoded(reader.finish(), Log)
    names = ", ".join(map(str, paths))
    if len(kinds) > 1:
        raise InputError(f"{names}: expected one kind of file: {_EXPECTED}")
    if not log.statements or (kinds == {False} and log.kind == "digests"):
        raise InputError(f"{names}: no statement is in it: {_found(paths[0])}")
    return log


def _fed(reader: LogReader, path: Path) -> Iterator[bool]:
    with opened(path) as file:
        if exports.begin(file.peek(PIECE)):
            yield from exports.feed(reader, file, path)
            return
        for piece in iter(lambda: file.read(PIECE), b""):
            reader.feed(piece)
            yield False
