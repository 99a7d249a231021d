"""A server that already runs: loaded once, reconnected at every start, left as it was found."""

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
from shootout.servers.external import dsn
from shootout.servers.external.external import MARK, Claim, External
from shootout.servers.running import Running
from shootout.servers.sources import slow_builds
from shootout.servers.version import family_of, numbers_of
from shootout.settings import layers, profiles, readback
from shootout.settings.profiles import Compiled

AS_FOUND = "as found"  # in place of the settings' name
NO_SETTINGS = "defaults"  # the run's settings do not concern a server that runs already


@dataclass
class ExternalServer:
    """A server that the run neither starts nor stops.

    A start here opens new connections and restarts nothing, so its figures lack the effect of a restart.
    Otherwise a start is the same as elsewhere: it begins with the rows of a fresh load. Each dataset is
    verified, reloaded if the last start wrote to it, and read in full. The warm-up absorbs the purging and
    flushing that a load leaves behind.

    The same server twice in a run has two sets of schemas, which share neither rows nor locks.
    """

    label: str
    reference: ServerReference
    server: External  # the connection between starts
    claim: Claim  # shared by all entries for the same server
    identity: tuple[Any, ...]
    family: Family
    comment: str
    compiled: Compiled  # the settings that its variables are compared with
    datasets: Sequence[Dataset]
    starts: int = 0

    @classmethod
    def find(cls, plan: Plan, label: str, held: ExitStack, others: Sequence[ExternalServer]) -> Self:
        """Log in, claim the server, and remove what killed runs left there. Raises InputError."""
        planned = plan.servers[label]
        reference = planned.reference
        server = External(dsn.parse(reference.target).dsn, planned.password)
        held.callback(server.hang_up)
        try:
            server.identify()
            identity = server.identity
            same = [other for other in others if other.identity == identity]
            if same:  # its schemas are numbered
                claim = same[0].claim
                server.suffix = f"_{len(same) + 1}"
            else:
                claim = Claim(server)
                held.callback(claim.release)
                server.sweep()
            for tables in plan.loaded:
                schema = dataset.schema_of(server, tables)
                if server.mark(schema) is not None:
                    raise InputError(
                        f"{server.dsn.where}: schema {schema} exists, and shootout did not create it; "
                        "rename or drop it"
                    )
            variables = server.variables()
        except MeasureError as error:
            raise InputError(str(error)) from None
        comment = variables.get("version_comment", "")
        family = family_of(f"{server.version} {comment}")
        compiled = Compiled()
        if reference.settings is not None:
            profile = layers.combine(NO_SETTINGS, reference.settings)
            compiled = profiles.compile(profile, family, numbers_of(server.version), plan.loaded)
        claimed = cls(label, reference, server, claim, identity, family, comment, compiled, plan.loaded)
        held.callback(claimed.leave)
        return claimed

    def load(self, held: ExitStack | None = None) -> Loaded:
        """Load and verify the datasets. Raises MeasureError."""
        self.server.hang_up()  # it may have timed out since `find`
        began_s = time.monotonic()
        rows = dataset.with_rows(self.datasets)
        told = tuple(warning for tables in rows for warning in dataset.load(self.server, tables))
        load_s = time.monotonic() - began_s
        return Loaded(checksum=dataset.verify_all(self.server, self.datasets), load_s=load_s, told=told)

    def start(self, template: Loaded, home: Path, cpus: Sequence[int]) -> External:
        """Reconnect, with the datasets as they were loaded. Raises MeasureError if the server is gone."""
        self.claim.renew()
        server = self.server.reopen()
        try:
            for tables in self.datasets:
                if self.starts > 0 and not _is_as_loaded(server, tables):
                    dataset.unload(server, tables)
                    dataset.load(server, tables)
                    dataset.verify(server, tables)
                dataset.warm(server, tables)
        except BaseException:
            server.hang_up()
            raise
        self.starts += 1
        return server

    def leave(self) -> None:
        """Drop the schemas; a server that is gone keeps them until the next run there."""
        self.server.hang_up()  # it may have timed out
        try:
            for tables in self.datasets:
                self.server.drop(dataset.schema_of(self.server, tables))
        except MeasureError:
            if self.server.alive():
                raise

    def record(self, template: Loaded | None = None, instance: Running | None = None) -> ServerRecord:
        """Record what is known of the server so far."""
        variables = instance.variables() if instance else {}
        compared, warnings = readback.compare(self.compiled, variables)
        warnings += (*slow_builds.warnings(self.server.version, self.comment, variables, ""),)
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
            warnings=(
                *(template.told if template else ()),
                *((*warnings, *_warnings(self.server, instance)) if instance else ()),
            ),
        )


def _is_as_loaded(server: External, tables: Dataset) -> bool:
    """Whether the dataset's schema is as it was loaded; each block recreates an `own` schema.

    Nothing else knows a dump's rows: it is loaded again.
    """
    if tables.kind in ("own", "dump"):
        return tables.kind == "own"
    schema = dataset.schema_of(server, tables)
    names = server.query(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'")
    if {str(name) for (name,) in names} != {MARK, *(name for name, _ in dataset.tables(tables))}:
        return False
    try:
        dataset.verify(server, tables)
    except ChangedError:
        return False
    return True


def _warnings(server: External, instance: Running) -> tuple[Warning, ...]:
    """Warn of how this server differs from those that the suite starts."""
    restarted = "It was running before and is not restarted: its figures lack the effect of a restart."
    placed = "It runs on its own CPUs, not on those that servers started here are pinned to."
    stopped = "It keeps running during the turns of others: what it still writes then affects their figures."
    beside = (Warning(code="not-placed", text=placed), Warning(code="not-stopped", text=stopped))
    return (
        Warning(code="not-restarted", text=restarted),
        *(beside if server.local else ()),
        *machine.not_visible(instance.pid, *([] if instance.status() else ["status counters"])),
    )
