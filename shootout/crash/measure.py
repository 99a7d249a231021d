"""Crashes: kill -9 under durable load, start again, and look for every commit that was confirmed.

Connections of our own insert rows that say whose they are and which number they have, each in a transaction
of its own; a row counts as confirmed when the server has answered its commit. The load engine loads the
server beside, so that there is something to recover.
"""

from __future__ import annotations

import random
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from zlib import crc32

import pymysql
from msgspec import structs
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from shootout import __version__
from shootout.crash.documents import CRASHES
from shootout.crash.values import Crash, CrashDocument, CrashFailure
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.measure.dataset import Template
from shootout.measure.long_load import LongLoad
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.workplace import say_who_else_measures
from shootout.model.run import Observe, Placement, Progress
from shootout.runner import machine
from shootout.servers import instances
from shootout.servers.instances import Instance

SCHEMA = "shootout_crash"
TABLE = f"{SCHEMA}.commits"
CREATE = (
    f"CREATE DATABASE {SCHEMA}",
    f"CREATE TABLE {TABLE} (connection INT NOT NULL, number INT NOT NULL, text VARCHAR(64) NOT NULL, "
    "PRIMARY KEY (connection, number)) ENGINE = InnoDB",
)
LOAD_S = (4.0, 8.0)  # before a crash, drawn evenly: at no fixed point of what servers do periodically
ALONE = -1  # the connection whose syncs are counted
COMMITS = 50  # of it
INSERT = f"INSERT INTO {TABLE} VALUES (%s, %s, %s)"
SELECT = f"SELECT connection, number, text FROM {TABLE}"
SYNCS = {
    "InnoDB": "Innodb_data_fsyncs",
    "InnoDB's log": "Innodb_os_log_fsyncs",
    "binary log": "Binlog_group_commits",  # MariaDB's: a sync each, with sync_binlog = 1
}
# MySQL's: syncs, and the few calls that open and close files.
BINLOG_FILES = (
    "SELECT COUNT_MISC FROM performance_schema.file_summary_by_event_name "
    "WHERE event_name = 'wait/io/file/sql/binlog'"
)


def measure(plan: Plan, results: Path, times: int, observe: Observe) -> Path:
    """Crash each of the plan's servers so often; returns the document, which is written after each crash.

    Call this from the main thread. Raises InputError and MeasureError; a server that fails is a result.
    """
    load = LongLoad.of(plan)
    started = datetime.now(UTC)
    name = journal.new_run(started)
    with load.prepared(name, observe) as (directory, servers, failures):
        document = _document(load, name, started, directory)
        say_who_else_measures(document.runner, observe)
        for label, reason in failures.items():
            document = _failed(results, document, label, reason)
        for place, (server, template) in enumerate(servers):
            home = directory / str(place)
            subject = _Subject(load, server, template, home, document.runner.placement)
            try:
                for number in range(1, times + 1):
                    observe(Progress(stage="prepare", detail=f"{server.label}: crash {number} of {times}"))
                    crash = subject.crash(number)
                    if number == 1:
                        record = server.record(template, subject.running())
                        document = structs.replace(document, servers=(*document.servers, record))
                    document = structs.replace(document, crashes=(*document.crashes, crash))
                    CRASHES.write(results, document.crash, document)
            except MeasureError as error:
                document = _failed(results, document, server.label, str(error))
            finally:
                subject.end()
    return CRASHES.path_of(results, name)


def _failed(results: Path, document: CrashDocument, server: str, reason: str) -> CrashDocument:
    failure = CrashFailure(server=server, reason=reason)
    document = structs.replace(document, failures=(*document.failures, failure))
    CRASHES.write(results, document.crash, document)
    return document


@dataclass
class _Subject:
    """One server, started again and again in the same instance directory."""

    load: LongLoad
    server: ManagedServer
    template: Template
    home: Path
    place: Placement
    rows: set[tuple[int, int]] = field(default_factory=set)  # that must be there: connection and number
    _instance: Instance | None = None

    def running(self) -> Instance:
        """The server, started if it does not run. Raises MeasureError."""
        if self._instance is None:
            if not self.home.exists():
                self.template.copy_to(self.home)
            options, cpus = self.server.compiled.options, self.place.starting
            self._instance = instances.start(self.server.program, self.home, options, cpus=cpus)
            if not self.rows:
                for statement in CREATE:
                    self._instance.query(statement)
        return self._instance

    def end(self) -> None:
        """Kill the server if it runs."""
        if self._instance is not None:
            self._instance.kill()
            self._instance = None

    def crash(self, number: int) -> Crash:
        """Load the server, kill it, start it, and look. Raises MeasureError."""
        instance = self.running()
        syncs = self._syncs(instance)
        confirmed = len(self.rows)
        clients = [_Client(instance, each, self._newest(each)) for each in range(self.load.block.threads)]
        beside = _Workload(self.load, instance, self.place, str(number))
        threads: tuple[_Client | _Workload, ...] = (beside, *clients)
        beside.start()
        beside.begun.wait()
        for client in clients:
            client.start()
        load_s = random.Random(f"{self.load.plan.seed}/{self.server.label}/{number}").uniform(*LOAD_S)
        time.sleep(load_s)
        reasons = [thread.reason for thread in threads if thread.reason]
        self.end()
        for thread in threads:
            thread.join()
        if reasons:
            raise MeasureError(f"the load ended before the crash: {reasons[0]}")
        for client in clients:
            self.rows |= client.rows
        acknowledged = len(self.rows) - confirmed
        began_s = time.monotonic()
        instance = self.running()
        recovery_s = time.monotonic() - began_s
        texts = {(int(connection), int(row)): str(text) for connection, row, text in instance.query(SELECT)}
        good = {row for row, text in texts.items() if text == _text(*row)}
        next_rows = {(client.number, client.confirmed + 1) for client in clients}
        lost, more = self.rows - good, texts.keys() - (self.rows & good)
        self.rows = set(texts)
        return Crash(
            server=self.server.label,
            number=number,
            load_s=load_s,
            acknowledged=acknowledged,
            lost=len(lost),
            in_flight=len(more & next_rows & good),
            unexpected=len(more - (next_rows & good)),
            recovery_s=recovery_s,
            transactions=beside.transactions,
            syncs=syncs,
        )

    def _newest(self, connection: int) -> int:
        return max((row for owner, row in self.rows if owner == connection), default=0)

    def _syncs(self, instance: Instance) -> dict[str, float]:
        """What is synced for each commit of one connection alone: others would share them.

        Raises MeasureError.
        """
        before = _synced(instance)
        client = _Client(instance, ALONE, self._newest(ALONE))
        try:
            with closing(client.connected()) as connection:
                for _ in range(COMMITS):
                    client.commit_one(connection)
        except pymysql.Error as error:
            raise MeasureError(f"commits before the load: {error}{instance.post_mortem()}") from error
        after = _synced(instance)
        self.rows |= client.rows
        return {name: (after[name] - value) / COMMITS for name, value in before.items() if name in after}


class _Client(Thread):
    """A connection that inserts rows until it is lost."""

    def __init__(self, instance: Instance, number: int, newest: int) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.number = number
        self._first = newest + 1
        self.confirmed = newest
        self.reason = ""  # why it ended
        self._instance = instance

    def run(self) -> None:
        """Insert rows, until the server is gone."""
        try:
            with closing(self.connected()) as connection:
                while True:
                    self.commit_one(connection)
        except pymysql.Error as error:
            self.reason = str(error)

    @property
    def rows(self) -> set[tuple[int, int]]:
        """The rows that are confirmed."""
        return {(self.number, row) for row in range(self._first, self.confirmed + 1)}

    def connected(self) -> Connection[Cursor]:
        """A connection that commits when told to. Raises pymysql.Error."""
        return self._instance.connect(autocommit=False)

    def commit_one(self, connection: Connection[Cursor]) -> None:
        """Insert the next row; it is confirmed once this returns. Raises pymysql.Error."""
        row = self.confirmed + 1
        with connection.cursor() as cursor:
            cursor.execute(INSERT, (self.number, row, _text(self.number, row)))
        connection.commit()
        self.confirmed = row


class _Workload(Thread):
    """The workload, by the load engine, until the server is gone."""

    def __init__(self, load: LongLoad, instance: Instance, place: Placement, seed: str) -> None:
        super().__init__(name="workload", daemon=True)
        self.begun = Event()  # set-up takes its time; or it has failed
        self.transactions = 0
        self.reason = ""  # why it ended
        self._load = load
        self._instance = instance
        self._place = place
        self._seed = seed

    def run(self) -> None:
        """Load the server, until it is gone."""
        try:
            with self._load.connected(self._instance, self._place, self._seed) as (send, _):
                self.begun.set()
                while True:
                    self.transactions += send(1.0).completed
        except MeasureError as error:
            self.reason = str(error)
        except Exception as error:  # a defect: without load beside, there is little to recover
            self.reason = repr(error)
        finally:
            self.begun.set()


def _text(connection: int, row: int) -> str:
    """What a row says, to be known again."""
    return f"{row} of {connection}: {crc32(f'{connection}/{row}'.encode()):08x}"


def _synced(instance: Instance) -> dict[str, float]:
    """The server's counts of what it synced, as far as it has them."""
    status = instance.status()
    counts = {title: status[name] for title, name in SYNCS.items() if name in status}
    with suppress(MeasureError):  # no performance schema
        rows = instance.query(BINLOG_FILES)
        if rows and rows[0][0]:
            counts["binary log"] = float(rows[0][0])
    return counts


def _document(load: LongLoad, name: str, started: datetime, directory: Path) -> CrashDocument:
    plan = load.plan
    (workload,) = plan.records
    return CrashDocument(
        format=1,
        crash=name,
        started=started.isoformat(timespec="seconds"),
        shootout=__version__,
        seed=plan.seed,
        given=dict(plan.given),
        settings=plan.profile.settings,
        workload=workload,
        dataset=plan.workloads[load.block.workload].dataset,
        threads=load.block.threads,
        runner=machine.inspect(directory, name=plan.profile.sampling.placement),
        servers=(),
    )
