"""Reads what a server ran, from its slow query log, its general log, or performance_schema's digests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from shootout._engine import LogReader
from shootout.errors import InputError
from shootout.learn import digests
from shootout.learn.values import Log
from shootout.model.value import decoded

_PIECE = 1 << 20  # bytes


def read(paths: Sequence[Path], *, families: Iterable[str] = ()) -> Log:
    """Read files of one kind, in their order, as one log.

    `families`: the stems of numbered tables that are defined alike, such as `sbtest`: their numbers become
    slots. Memory does not grow with the log.

    Raises InputError if a file cannot be read, is of no kind or of another one, or no statement is in it.
    """
    reader = LogReader(list(families))
    kinds = set()
    try:
        for path in paths:
            with path.open("rb") as file:
                digested = digests.begin(file.peek(_PIECE))
                kinds.add(digested)
                if digested:
                    digests.add(reader, file.read(), path)
                while piece := file.read(_PIECE):
                    reader.feed(piece)
            reader.end_file()
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None
    log = decoded(reader.finish(), Log)
    names = ", ".join(map(str, paths))
    if len(kinds) > 1 or (kinds == {False} and log.kind == "digests"):
        raise InputError(
            f"{names}: expected one kind of file: "
            "a slow query log, a general log, or performance_schema's digests"
        )
    if not log.statements:
        raise InputError(f"{names}: no statement is in it")
    return log
