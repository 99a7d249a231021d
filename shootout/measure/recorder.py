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
from shootout.document.journal import Journal, Writer
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
    """The time as documents write it: ISO, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Recorder:
    """Adds records to a run document, on disk from the first start on."""

    run: RunDocument  # so far; its header is final once the journal is open
    began_s: float  # on the monotonic clock, as if there had been no break
    resumed: bool = False
    on_failure: Failed | None = None
    budget_began_s: float = field(default_factory=time.monotonic)  # likewise
    journal: Journal = field(init=False)

    @classmethod
    def begin(cls, writer: Writer, header: RunHeader, began_s: float) -> Self:
        """Begin a document; its header still lacks the servers."""
        recorder = cls(RunDocument(header=header, starts=(), failures=(), end=None), began_s)
        recorder.journal = Journal(writer, lambda: recorder.run.header)
        return recorder

    @classmethod
    def go_on(cls, writer: Writer, before: RunDocument, budget_s: float, began_s: float) -> Self:
        """Continue a document that was cut short, within another budget perhaps."""
        before_s = before.end.elapsed_s if before.end else before.spent_s
        run = structs.replace(before, header=resume.with_budget(before.header, budget_s), end=None)
        recorder = cls(run, began_s - before_s, resumed=True)
        recorder.journal = Journal(writer, lambda: ResumeRecord(resumed=now(), shootout=__version__))
        return recorder

    def begin_budget(self) -> None:
        """Count the time from now on, besides what was spent before a break."""
        self.budget_began_s = time.monotonic() - self.run.spent_s

    @property
    def spent_s(self) -> float:
        """Of the budget, so far."""
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
        self.journal.add(record)
        self.run = structs.replace(self.run, starts=(*self.run.starts, record))

    def fail(self, cell: Cell, start: int, reason: str) -> None:
        """Record the first failure of a cell."""
        if any(failure.cell == cell for failure in self.run.failures):
            return
        record = FailureRecord(cell=cell, start=start, reason=reason)
        self.journal.add(record)
        self.run = structs.replace(self.run, failures=(*self.run.failures, record))
        if self.on_failure is not None:
            self.on_failure(cell.server, reason)

    def fail_server(self, label: str, start: int, reason: str) -> None:
        """Fail all cells of a server that cannot be started."""
        for block in self.run.header.blocks:
            if label in block.servers:
                self.fail(block.cell(label), start, reason)

    def end(self, *, interrupted: bool) -> None:
        """Write the last record, if there are others."""
        elapsed_s = round(time.monotonic() - self.began_s, 3)
        self.journal.end(EndRecord(finished=now(), elapsed_s=elapsed_s, interrupted=interrupted))
