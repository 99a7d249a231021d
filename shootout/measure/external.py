"""A server of a run that runs already: loaded once, visited at every start, and left as it was found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shootout.errors import InputError, MeasureError
from shootout.measure import dataset
from shootout.measure.dataset import ChangedError, Loaded
from shootout.measure.plan import Plan
from shootout.model.plan import Dataset, ServerReference
from shootout.model.run import ServerRecord, Warning
from shootout.model.value import Family
from shootout.runner import machine
from shootout.servers import dsn
from shootout.servers.external import MARK, Claim, External, family_of, numbers_of
from shootout.servers.running import Running
from shootout.settings import profiles, readback
from shootout.settings.profiles import Compiled

AS_FOUND = "as found"  # in place of a settings profile's name


@dataclass
class ExternalServer:
    """All that it takes to measure on the server.

    Its starts are no restarts, which no account may ask for: each is a new set of connections, and what a
    restart changes is not in its figures. For all else a start is what it is elsewhere, the rows of a fresh
    load: each dataset is verified, one that the last start has written to is dropped and loaded anew, and
    all pages are read. What a load leaves to be purged and written back is left to the warm-up.

    The same server twice in a run is two sets of schemas: they do not see each other's rows, nor locks.
    """

    label: str
    reference: ServerReference
    server: External  # for what is asked between starts
    claim: Claim  # one for each server, whatever the number of its residents
    identity: tuple[Any, ...]
    family: Family
    comment: str
    compiled: Compiled  # what its variables are held against
    datasets: Sequence[Dataset]
    visits: int = 0

    @classmethod
    def find(cls, plan: Plan, label: str, held: ExitStack, others: Sequence[ExternalServer]) -> Self:
        """Log in, and see that it can be used; `others` are the run's residents before this one.

        What killed runs have left there is removed. When `held` is closed the server is as it was.
        Raises InputError where it does not let us in, another run is there, or a schema has a name of ours.
        """
        reference = plan.servers[label]
        server = External(dsn.parse(reference.target).dsn, plan.passwords[label])
        held.callback(server.hang_up)
        try:
            server.look()
            identity = server.identity
            same = [other for other in others if other.identity == identity]
            if same:
                claim = same[0].claim
                server.suffix = f"_{len(same) + 1}"
            else:
                claim = Claim(server)
                held.callback(claim.release)
                server.sweep()
            for each in plan.loaded:
                schema = dataset.schema_of(server, each)
                if server.mark(schema) is not None:
                    raise InputError(
                        f"{server.dsn.where}: there is a schema {schema} that this suite did not make; "
                        "rename or drop it, for its name is needed"
                    )
            variables = server.variables()
        except MeasureError as error:
            raise InputError(str(error)) from None
        comment = variables.get("version_comment", "")
        family = family_of(server.version, comment)
        compiled = Compiled()
        if reference.settings is not None:
            profile = profiles.load(reference.settings)
            compiled = profiles.compile(profile, family, numbers_of(server.version), plan.loaded)
        found = cls(label, reference, server, claim, identity, family, comment, compiled, plan.loaded)
        held.callback(found.leave)
        return found

    def load(self, held: ExitStack | None = None) -> Loaded:
        """Load the datasets, and verify them. Raises MeasureError."""
        self.server.hang_up()  # idle since it was found
        began_s = time.monotonic()
        for each in self.datasets:
            dataset.load(self.server, each)
        load_s = time.monotonic() - began_s
        return Loaded(checksum=dataset.verify_all(self.server, self.datasets), load_s=load_s)

    def start(self, template: Loaded, home: Path, cpus: Sequence[int]) -> External:
        """Visit the server, its datasets as they were loaded; nothing holds it to `cpus`.

        Raises MeasureError where it is gone, or another run is there.
        """
        self.claim.renew()
        server = self.server.again()
        try:
            for each in self.datasets:
                if self.visits > 0 and not _is_as_loaded(server, each):
                    dataset.unload(server, each)
                    dataset.load(server, each)
                    dataset.verify(server, each)
                dataset.warm(server, each)
        except BaseException:
            server.hang_up()
            raise
        self.visits += 1
        return server

    def leave(self) -> None:
        """Drop what was made; a server that is gone keeps it until the next run there.

        Raises MeasureError where the server refuses.
        """
        self.server.hang_up()  # it may not have been used for long
        try:
            for each in self.datasets:
                self.server.leave(dataset.schema_of(self.server, each))
        except MeasureError:
            if self.server.alive():
                raise

    def record(self, template: Loaded | None = None, instance: Running | None = None) -> ServerRecord:
        """The server as it is."""
        variables = instance.variables() if instance else {}
        compared, warnings = readback.compare(self.compiled, variables)
        return ServerRecord(
            label=self.label,
            reference=self.reference.text,
            family=self.family,
            version=self.server.version,
            comment=self.comment,
            build="",
            settings_name=self.reference.settings or AS_FOUND,
            settings=compared,
            checksum=template.checksum if template else "",
            load_s=template.load_s if template else None,
            warnings=(*warnings, *_doubts(self.server, instance)) if instance else (),
        )


def _is_as_loaded(server: External, each: Dataset) -> bool:
    """Whether the dataset's schema is as it was loaded; a workload's own is made anew by each block."""
    if each.kind == "own":
        return True
    schema = dataset.schema_of(server, each)
    found = server.query(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'")
    if {str(row[0]) for row in found} != {MARK, *(table for table, _ in dataset.tables(each))}:
        return False
    try:
        dataset.verify(server, each)
    except ChangedError:
        return False
    return True


def _doubts(server: External, instance: Running) -> tuple[Warning, ...]:
    """What holds for servers that the suite starts, and not for this one."""
    restarted = "It ran before, and is not restarted: what a restart changes is not in its figures."
    placed = "It runs on the CPUs that it has, not on those that servers started here are held to."
    stopped = "It goes on while others have their turn: what it still writes then is in their figures."
    beside = (Warning(code="not-placed", text=placed), Warning(code="not-stopped", text=stopped))
    return (
        Warning(code="not-restarted", text=restarted),
        *(beside if server.local else ()),
        *machine.unseen(instance.pid, *([] if instance.status() else ["status counters"])),
    )
