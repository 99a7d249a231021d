"""The servers of a run, found, loaded and ready to be started: those of its cells, and the A/A control."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shootout.errors import MeasureError
from shootout.measure.external import ExternalServer
from shootout.measure.managed import ManagedServer, absent_record
from shootout.measure.plan import Plan
from shootout.measure.recorder import Recorder
from shootout.model.run import Observe, Progress
from shootout.servers.running import Running


@dataclass(frozen=True, eq=False)
class Participant:
    """A server that takes part in blocks; each start begins with a copy of what was loaded once."""

    label: str
    server: ManagedServer | ExternalServer
    loaded: Any
    home: Path  # its instance directory; the name is short, because a socket's path has a limit
    control: bool = False  # a second instance of the base: the head of A/A cells

    def start(self, cpus: Sequence[int]) -> Running:
        """Start it. Raises MeasureError."""
        return self.server.start(self.loaded, self.home, cpus)


def prepare(
    plan: Plan, recorder: Recorder, directory: Path, held: ExitStack, observe: Observe
) -> list[Participant]:
    """Find and load every server that is here, the base first, an A/A control last. Raises InputError."""
    participants: list[Participant] = []
    visited: list[ExternalServer] = []
    dumped = any(dataset.kind == "dump" for dataset in plan.loaded)
    for index, (label, planned) in enumerate(plan.servers.items()):
        _report(observe, label)
        if planned.absent:
            recorder.add_server(absent_record(label, planned.reference, plan.profile.settings))
            continue
        server: ManagedServer | ExternalServer
        if planned.reference.source == "dsn":
            server = ExternalServer.find(plan, label, held, visited)
            visited.append(server)
        else:
            port = None if plan.port is None else plan.port + index
            server = ManagedServer.find(plan, label, port, held, partial(_report, observe, f"{label}: "))
        recorder.add_server(server.record())
        try:
            loaded = server.load(held)
            if dumped and participants and loaded.checksum != participants[0].loaded.checksum:
                base = participants[0].label
                raise MeasureError(f"after the dump was loaded, its rows differ from those of {base}")
            participants.append(Participant(label, server, loaded, directory / str(index)))
        except MeasureError as error:
            recorder.fail_server(label, 0, str(error))  # before the first start
    for first in participants[:1]:
        if first.label == plan.base and isinstance(first.server, ManagedServer):
            twin, home = replace(first.server, port=None), directory / "control"
            participants.append(replace(first, server=twin, home=home, control=True))
    return participants


def _report(observe: Observe, label: str, step: str = "") -> None:
    observe(Progress(stage="prepare", detail=label + step))
