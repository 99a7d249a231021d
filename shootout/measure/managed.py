"""A server that the run starts: fetched, configured and loaded once, then started afresh many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from shootout._engine import Engine, LoadError
from shootout.errors import MeasureError
from shootout.measure import columns, dataset
from shootout.measure.dataset import Template
from shootout.measure.plan import Plan
from shootout.measure.rounds import ServerHandle, reason
from shootout.model.plan import Dataset, ServerReference
from shootout.model.program import Program
from shootout.model.run import ABSENT, REOPENED, ServerRecord, Warning
from shootout.paths import cache_folder
from shootout.runner import machine
from shootout.servers.installation import Installation
from shootout.servers.processes import children, instances
from shootout.servers.processes.instances import Instance
from shootout.servers.running import Running
from shootout.servers.sources import cache, installations, slow_builds
from shootout.servers.sources.fetch.packages import Progress, no_progress
from shootout.servers.sources.trees import Tree
from shootout.settings import layers, profiles, readback
from shootout.settings.profiles import Compiled

CONNECT_TIMEOUT_S = 60.0  # for each answer
# The variable behind each error code that refuses a connection or a prepared statement.
CONNECTION_LIMITS = {
    1040: "max_connections",
    1203: "max_user_connections",
    1226: "max_user_connections",
    1461: "max_prepared_stmt_count",
}
# Status variables that count work, as opposed to gauges, which report a current level.
COUNTERS = ("Created_tmp", "Handler_", "Innodb_", "Rows_read", "Select_", "Sort_", "Table_locks_")
# Counters that SHOW GLOBAL STATUS raises after it has read, in MySQL 5.6 to 8.0, MariaDB 10.1 to 11.4: one
# reading always falls between two, and to fewer transactions on a slower server. So does Bytes_sent.
RAISED_BY_READING = {
    *("Created_tmp_tables", "Handler_external_lock", "Handler_read_rnd_next", "Handler_tmp_write"),
    *("Handler_write", "Select_scan", "Table_locks_immediate"),
}
GAUGES = (
    *("_pages_", "_bytes_d", "_current_waits", "_avg", "_max", "_size", "_num_open_files", "_pending"),
    *("_age", "_free_list", "_iops", "_list_length", "_mem_", "_memory", "_pct_", "_resize", "_running"),
    *("_tablespaces_", "_undo_logs", "_uuid"),
)
COUNTERS_LIKE_GAUGES = ("_pages_flushed", "_pages_read", "_pages_written", "_pages_created")
# Seconds that the load waited, by event; without what contains work (io/table) or waits for clients.
WAITS = """SELECT event_name, SUM(sum_timer_wait) / 1e12
    FROM performance_schema.events_waits_summary_by_thread_by_event_name
    JOIN performance_schema.threads USING (thread_id)
    WHERE processlist_id > 0 AND processlist_id <> CONNECTION_ID() AND count_star > 0
    AND (event_name LIKE 'wait/io/file/%' OR event_name LIKE 'wait/lock/%' OR event_name LIKE 'wait/synch/%')
    GROUP BY event_name"""


@dataclass(frozen=True)
class ManagedServer:
    """A server that the run starts: its program, options and datasets."""

    label: str
    reference: ServerReference
    settings_name: str
    program: Installation
    compiled: Compiled
    datasets: Sequence[Dataset]
    port: int | None
    cache_bytes: int
    told: Sequence[Warning] = ()  # before the run

    @classmethod
    def find(
        cls,
        plan: Plan,
        label: str,
        port: int | None = None,
        held: ExitStack | None = None,
        report: Progress = no_progress,
    ) -> Self:
        """Fetch the server if it is missing, and compile its settings. Raises InputError."""
        if port is not None:
            instances.require_port(port)  # before anything is fetched or loaded
        reference = plan.servers[label].reference
        program = installations.find(
            reference, held, plan.profile.container, report, plan.profile.build or None
        )
        plugins = program.plugins if isinstance(program, Tree) else frozenset()
        name = layers.name_of(plan.profile.settings, reference.settings)
        profile = layers.combine(plan.profile.settings, reference.settings)
        compiled = profiles.compile(profile, program.family, program.version, plan.loaded, plugins)
        compiled = replace(
            compiled,
            options=dataset.with_engines(compiled.options, program.family, plan.loaded),
            beside=plan.set_variables,
        )
        told = plan.told.get(label, ())
        return cls(label, reference, name, program, compiled, plan.loaded, port, plan.cache_bytes, told)

    def load(self, held: ExitStack | None = None) -> Template:
        """Take the datasets from the cache until `held` is closed, or load them. Raises MeasureError."""
        template = dataset.template(self.program, self.compiled.options, self.datasets, cache_folder(), held)
        if template.load_s is not None:
            cache.evict(cache_folder(), self.cache_bytes)
        return template

    def start(self, template: Template, home: Path, cpus: Sequence[int]) -> Instance:
        """Start it in a new instance directory and read its pages. Raises as instances.start does."""
        template.copy_to(home)
        instance = instances.start(self.program, home, self.compiled.options, port=self.port, cpus=cpus)
        try:
            for tables in self.datasets:
                dataset.warm(instance, tables)
        except BaseException:
            instance.kill()
            raise
        return instance

    def record(self, template: Template | None = None, instance: Running | None = None) -> ServerRecord:
        """Describe the running server; before its first start, what its files say."""
        variables = instance.variables() if instance else {}
        compared, warnings = readback.compare(self.compiled, variables)
        comment = variables.get("version_comment", "")
        if isinstance(instance, Instance):
            log = (instance.directory / "error.log").read_text("utf-8", errors="replace")
            warnings += readback.log_warnings(log, self.compiled)
            flags = self.program.files.flags if isinstance(self.program, Tree) else ""
            warnings += (*slow_builds.warnings(instance.version, comment, variables, flags),)
        return ServerRecord(
            label=self.label,
            reference=self.reference.text,
            family=self.program.family,
            version=instance.version if instance else ".".join(map(str, self.program.version)),
            comment=comment,
            build=self.program.digest,
            commit=self.program.files.commit if isinstance(self.program, Tree) else "",
            settings_name=self.settings_name,
            settings=compared,
            checksum=template.checksum if template else "",
            load_s=template.load_s if template else None,
            warnings=(
                *self.told,
                *(template.told if template else ()),
                *((*warnings, *machine.not_visible(instance.pid)) if instance else ()),
            ),
            image=self.program.origin,
        )


def absent_record(label: str, reference: ServerReference, settings_name: str) -> ServerRecord:
    """Make the record of an optional server that is not available here."""
    return ServerRecord(
        label=label,
        reference=reference.text,
        family="",
        version="",
        comment="",
        build="",
        settings_name=layers.name_of(settings_name, reference.settings),
        settings=(),
        checksum="",
        load_s=None,
        warnings=(Warning(code=ABSENT, text=f"not available here: there is no tree at {reference.target}"),),
    )


def engine(program: Program, schema: str, instance: Running, seed: int, workers: int = 1) -> Engine:
    """Make the engine for a program on this server, with the values of its columns. Raises MeasureError."""
    filled = columns.continued(columns.filled(program, schema, instance), schema, instance)
    return Engine(msgspec.json.encode(filled), seed, workers)


def connect(engine: Engine, instance: Running, schema: str, connections: int) -> int:
    """Open the engine's connections; return the server's number there. Raises MeasureError."""
    files = children.allow_files()
    login = instance.login
    try:
        return engine.connect(
            login.address, login.user, login.password, schema, connections, CONNECT_TIMEOUT_S
        )
    except LoadError as error:
        _, code, message = error.args
        if variable := CONNECTION_LIMITS.get(code):
            value = instance.variables().get(variable, "unknown")
            limit = f"; the limit is the server's {variable} = {value}"
        elif "Too many open files" in message:
            limit = f"; the limit is this process's {files} open files (ulimit -n)"
        else:
            limit = ""
        raise MeasureError(reason(error) + limit + instance.post_mortem()) from None


def handle(label: str, instance: Running, *, control: bool = False) -> ServerHandle:
    """Make a running server's handle for measuring."""
    of_host = machine.counters(instance.pid)
    flushes = machine.flushes(instance.directory) if isinstance(instance, Instance) else None
    waits = WAITS
    try:
        instance.query(WAITS)
    except MeasureError:  # an old server, or an account without the privilege
        waits = ""
    return ServerHandle(
        label=label,
        cpu_s=of_host.pop("server_cpu_s", None),
        counters=(
            partial(_waited, instance, waits),
            lambda: {name: value for name, value in instance.status().items() if is_counted(name)},
            lambda: {name: read() for name, read in of_host.items()},
        ),
        explain=lambda message: message + instance.post_mortem(),
        stop=stopper(instance),
        control=control,
        disk=flushes or dict,
    )


def stopper(instance: Running) -> Callable[[bool], None] | None:
    """Stops the server's process, or resumes it; None if it must not be stopped.

    MariaDB's thread pool, once stopped, does a fifth of its work or none; a plugin's is not trusted either.
    """
    if not instance.ours or instance.pid is None:
        return None
    pooled = instance.variables().get("thread_handling") in ("pool-of-threads", "loaded-dynamically")
    return None if pooled else partial(children.pause, instance.pid)


def _waited(instance: Running, waits: str) -> dict[str, float]:
    rows = instance.query(waits) if waits else ()
    return {str(name): float(seconds) for name, seconds in rows} | {REOPENED: instance.reopened}


def is_counted(name: str) -> bool:
    """Whether a status variable counts the server's work, and none of what reading it takes."""
    if not name.startswith(COUNTERS) or name in RAISED_BY_READING:
        return False
    return any(counter in name for counter in COUNTERS_LIKE_GAUGES) or not any(
        gauge in name for gauge in GAUGES
    )
