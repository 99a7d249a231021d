"""Documents of soaks on disk: `soaks/SOAK.jsonl` beside the run documents, a line for each second of load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from shootout import files
from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.errors import InputError, MeasureError
from shootout.soak.values import SoakDocument, SoakEnd, SoakFailure, SoakHeader, SoakServer, SoakSlice

Record = SoakHeader | SoakServer | SoakSlice | SoakEnd | SoakFailure


class Writer:
    """Writes a document record by record: nothing that was measured is lost with what comes after it."""

    def __init__(self, results: Path, header: SoakHeader) -> None:
        """Raise InputError if the document cannot be written."""
        self.path = SOAKS.path_of(results, header.soak)
        self._size = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.append(header)
        except (OSError, MeasureError) as error:
            raise InputError(f"{self.path}: cannot be written: {error}") from None

    def append(self, record: Record) -> None:
        """Write one record, or no part of it. Raises MeasureError if it cannot be written.

        Not synced: between two slices of writing load that took 8 ms, and up to 49, instead of 0.2 ms.
        """
        line = msgspec.json.encode(record) + b"\n"
        try:
            files.append(self.path, line, self._size, sync=False)
        except OSError as error:
            raise MeasureError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._size += len(line)


class _Soaks(Store[SoakDocument]):
    """Soaks, whose documents grow line by line."""

    def read(self, path: Path) -> SoakDocument:
        """Read and check a document; a last line that was cut short is dropped. Raises InputError."""
        try:
            lines = files.read(path).split(b"\n")[:-1]
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        header, *rest = self._records(path, lines) if lines else (None,)
        if not isinstance(header, SoakHeader) or any(isinstance(record, SoakHeader) for record in rest):
            raise InputError(f"{path}: not a soak: expected one header, on its first line")
        if not header.servers or len(set(header.servers)) != len(header.servers):
            raise InputError(f"{path}: not a soak: its servers are damaged")
        by_type: dict[type, list[Any]] = {each: [] for each in get_args(Record)}
        for number, record in enumerate(rest, 2):
            named = record.server.label if isinstance(record, SoakServer) else getattr(record, "server", "")
            if named not in header.servers:
                raise InputError(f"{path}:{number}: a server that the header does not name")
            by_type[type(record)].append(record)
        servers, slices, ends, failures = (tuple(by_type[each]) for each in get_args(Record)[1:])
        return SoakDocument(header=header, servers=servers, slices=slices, ends=ends, failures=failures)

    def _records(self, path: Path, lines: Sequence[bytes]) -> Iterator[Record]:
        """Decode a document's lines, of which there is one at least. Raises InputError."""
        where = f"{path}:1"
        try:
            written = self.format.number_of(lines[0])
            for number, line in enumerate(lines, 1):
                where = f"{path}:{number}"
                yield self.format.record(line, Record, written)  # type: ignore[arg-type]  # a union
        except ValueError as error:
            raise InputError(f"{where}: not a record of a soak: {error}") from None


def _soak_1(record: dict[str, Any]) -> dict[str, Any]:
    """Servers were loaded one after the other."""
    return record | {"format": 2, "turn_s": 0.0} if record["record"] == "soak" else record


SOAKS = _Soaks("a soak", "soaks/*.jsonl", SoakDocument, "soak", Format(2, (_soak_1,)))
