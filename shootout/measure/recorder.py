"""The run document in the making: what is recorded, on disk and in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from msgspec import structs

from shootout import __version__
from shootout.document import resume
from shootout.document.journal import Writer
from shootout.model.plan import Cell
from shootout.model.run import (
    EndRecord,
    FailureRecord,
    ResumeRecord,
    RunDocument,
    RunHeader,
    ServerRecord,
    StartRecord,
)

Failed = Callable[[str, str], None]  # receives a server's label and the reason


def now() -> str:
    """Write the time as documents write it: ISO, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Recorder:
    """Adds records to a run document.

    They wait until `open`; then each is written at once, the first after the header or, if the run is
    resumed, a ResumeRecord. Raises MeasureError if one cannot be written.
    """

    run: RunDocument  # so far; its header is final once the document is open
    writer: Writer
    began_s: float  # on the monotonic clock, as if there had been no break
    resumed: bool = False
    on_failure: Failed | None = None
    budget_began_s: float = field(default_factory=time.monotonic)  # likewise
    _waiting: list[StartRecord | FailureRecord] = field(default_factory=list)
    _open: bool = False
    _begun: bool = False

    @classmethod
    def begin(cls, writer: Writer, header: RunHeader, began_s: float) -> Self:
        """Begin a document; its header still lacks the servers."""
        return cls(RunDocument(header=header, starts=(), failures=(), end=None), writer, began_s)

    @classmethod
    def go_on(cls, writer: Writer, before: RunDocument, budget_s: float, began_s: float) -> Self:
        """Continue a document that was cut short, within another budget perhaps."""
        before_s = before.end.elapsed_s if before.end else before.spent_s
        run = structs.replace(before, header=resume.with_budget(before.header, budget_s), end=None)
        return cls(run, writer, began_s - before_s, resumed=True)

    def open(self) -> None:
        """Start writing: the header is final."""
        self._open = True
        self._write()

    def begin_budget(self) -> None:
        """Count the time from now on, besides what was spent before a break."""
        self.budget_began_s = time.monotonic() - self.run.spent_s

    @property
    def spent_s(self) -> float:
        """The part of the budget spent so far."""
        return time.monotonic() - self.budget_began_s

    def add_server(self, record: ServerRecord) -> None:
        """Record what is known of a server. Raises InputError if a resumed run finds it changed."""
        header = self.run.header
        servers = {server.label: server for server in header.servers}
        if self.resumed:
            resume.require_same_server(header.run, servers[record.label], record)
            return
        servers[record.label] = record
        self.run = structs.replace(self.run, header=structs.replace(header, servers=tuple(servers.values())))

    def add_start(self, record: StartRecord) -> None:
        """Record what a start gave for one block."""
        record = structs.replace(record, spent_s=round(self.spent_s, 3))
        self._add(record)
        self.run = structs.replace(self.run, starts=(*self.run.starts, record))

    def fail(self, cell: Cell, start: int, reason: str) -> None:
        """Record the first failure of a cell."""
        if any(failure.cell == cell for failure in self.run.failures):
            return
        record = FailureRecord(cell=cell, start=start, reason=reason)
        self._add(record)
        self.run = structs.replace(self.run, failures=(*self.run.failures, record))
        if self.on_failure is not None:
            self.on_failure(cell.server, reason)

    def fail_server(self, label: str, start: int, reason: str) -> None:
        """Fail all cells of a server that cannot be started."""
        for block in self.run.header.blocks:
            if label in block.servers:
                self.fail(block.cell(label), start, reason)

    def end(self, *, interrupted: bool) -> None:
        """End the document if it has records, or was resumed; without a whole header nothing is written."""
        if interrupted and not self._open:
            return
        self.open()
        if not self._begun and not interrupted and self.writer.path.exists():
            self._begin()
        if self._begun:
            elapsed_s = round(time.monotonic() - self.began_s, 3)
            self.writer.append(EndRecord(finished=now(), elapsed_s=elapsed_s, interrupted=interrupted))

    def _add(self, record: StartRecord | FailureRecord) -> None:
        self._waiting.append(record)
        if self._open:
            self._write()

    def _write(self) -> None:
        if self._waiting and not self._begun:
            self._begin()
        while self._waiting:
            self.writer.append(self._waiting[0])
            del self._waiting[0]

    def _begin(self) -> None:
        resumed = ResumeRecord(resumed=now(), shootout=__version__)
        self.writer.append(resumed if self.resumed else self.run.header)
        self._begun = True
