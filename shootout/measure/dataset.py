"""The tables that workloads run on: loaded, proven equal by checksum, kept as templates to copy."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from pymysql.cursors import Cursor

from shootout import _engine
from shootout._engine import LoadError
from shootout.errors import MeasureError
from shootout.inputs.dump import database
from shootout.measure import dump, stalls
from shootout.measure.rounds import reason
from shootout.model.plan import NUMBERS, Dataset
from shootout.model.run import MODES_DROPPED, Warning
from shootout.model.value import DatasetKind, Family
from shootout.paths import FIXTURES
from shootout.servers.external.external import MARK
from shootout.servers.installation import Installation
from shootout.servers.locking import build_once
from shootout.servers.processes import instances, log
from shootout.servers.running import Running, wait_for
from shootout.servers.sources import cache
from shootout.servers.version import family_of
from shootout.settings import profiles

SCHEMAS: Mapping[DatasetKind, str] = {
    "sbtest": "shootout",
    "tpcc": "shootout_tpcc",
    "own": "shootout_own",
    "dump": "shootout_dump",
}
# While loading, when a crash just discards the data: streams into one table do not wait for each other's ids,
# and no page is written twice. A dump's statements may be as long as any server allows, and its functions
# need not be fit for a binary log.
LOADING = {
    "loose-innodb-autoinc-lock-mode": "2",
    "loose-innodb-doublewrite": "0",
    "max-allowed-packet": "1G",
    "loose-log-bin-trust-function-creators": "1",
}
SCAN_TIMEOUT_S = 3600.0  # for a statement that reads a whole table, however large
SHUTDOWN_TIMEOUT_S = 3600.0  # of a slow shutdown, which purges and merges all that loading has left
DEFAULT_ENGINE = "default"  # each server's own default
FORMAT = 4  # of templates; a new number invalidates all of them
NUMBERS_MAX = 1_000_000  # in the table of numbers

_FOLDER = FIXTURES / "datasets"
# Engines that store no rows or have no indexes.
_UNFIT_ENGINES = {
    *("ARCHIVE", "BLACKHOLE", "CSV", "FEDERATED", "MEMORY", "MRG_MYISAM", "PERFORMANCE_SCHEMA", "SEQUENCE")
}
_CLUSTERED = {"innodb", "rocksdb"}  # engines whose primary key holds the rows
_LOAD = "plugin-load-add"
# The plugin for a storage engine, and the families that ship it.
_PLUGINS: Mapping[str, tuple[str, tuple[Family, ...]]] = {"rocksdb": ("ha_rocksdb", ("mariadb", "percona"))}


def load(instance: Running, dataset: Dataset) -> tuple[Warning, ...]:
    """Load the dataset; return what was left out of a dump. Raises MeasureError if the server refuses."""
    schema = schema_of(instance, dataset)
    removing = instance.removing(schema) if dataset.kind == "dump" else ()  # old servers have a schema `test`
    _execute(instance, dataset, (*removing, *instance.creating(schema)), None)
    if dataset.kind == "dump":
        foreign = "" if instance.ours else dumped(dataset)
        try:
            with _cursor(instance, dataset, schema) as cursor:
                lacking = dump.load(Path(dataset.dump), cursor, foreign)
        except MeasureError as error:
            raise MeasureError(f"{error}{instance.post_mortem()}") from error
        _analyze(instance, dataset)
        return _left_out(dataset, lacking)
    engine = _storage_engine(instance, dataset.engine)
    if dataset.digest == NUMBERS:
        _execute(instance, dataset, _numbers(engine), schema)
        _analyze(instance, dataset)
        return ()
    creates, indexes = _statements(dataset)
    _execute(instance, dataset, [f"{statement} ENGINE = {engine}" for statement in creates], schema)
    _fill(instance, dataset)
    # InnoDB builds an index on loaded rows in a third less time than one that grows with them (400 000 rows:
    # 2.6 to 5.5 s against 5.1 to 6.2); for MyISAM it makes no difference. All CPUs build indexes.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda statement: _execute(instance, dataset, [statement], schema), indexes))
    _analyze(instance, dataset)
    return ()


def with_rows(datasets: Iterable[Dataset]) -> list[Dataset]:
    """List the datasets that are loaded before any set-up."""
    return [dataset for dataset in datasets if dataset.is_loaded]


def _left_out(dataset: Dataset, lacking: dump.Lacking) -> tuple[Warning, ...]:
    parts = {"session modes": lacking.modes, "variables": lacking.variables}
    texts = " and ".join(f"{kind} that the server lacks: {', '.join(of)}" for kind, of in parts.items() if of)
    told = f"{Path(dataset.dump).name} was loaded without the {texts}"
    return (Warning(code=MODES_DROPPED, text=told),) if texts else ()


def dumped(dataset: Dataset) -> str:
    """Find the name of the database that was dumped; "" if the dump does not tell it."""
    return database(Path(dataset.dump), dataset.digest)


def unload(instance: Running, dataset: Dataset) -> None:
    """Drop the dataset's schema if it exists. Raises MeasureError if it is not shootout's to drop."""
    _execute(instance, dataset, instance.removing(schema_of(instance, dataset)), None)


def schema_of(instance: Running, dataset: Dataset) -> str:
    """Name the dataset's schema on a server: on one of ours, a dump's has the name its statements know."""
    if dataset.kind == "dump" and instance.ours and (own := dumped(dataset)):
        return own
    return f"{SCHEMAS[dataset.kind]}{dataset.digest and '_' + dataset.digest}{instance.suffix}"


def with_engines(options: Mapping[str, str], family: Family, datasets: Iterable[Dataset]) -> dict[str, str]:
    """Extend the my.cnf options to load the plugins for the datasets' storage engines."""
    named = {dataset.engine.lower() for dataset in datasets}
    needed = [
        plugin for engine, (plugin, families) in _PLUGINS.items() if engine in named and family in families
    ]
    given = next((name for name in options if name.replace("_", "-") == _LOAD), _LOAD)
    loaded = options.get(given, "")
    missing = [plugin for plugin in needed if plugin not in loaded]
    if not missing:
        return dict(options)
    return {**options, given: ";".join([*filter(None, [loaded.strip("\"'")]), *missing])}


def tables(dataset: Dataset) -> list[tuple[str, list[str]]]:
    """List a generated dataset's tables, each with its columns in row order."""
    return _engine.tables(msgspec.json.encode(dataset))


def tables_on(instance: Running, dataset: Dataset) -> list[tuple[str, list[str]]]:
    """List a dataset's tables on a server, each with its columns in row order; a dump's names are quoted."""
    if dataset.digest == NUMBERS:
        return [(NUMBERS, ["n"])]
    if dataset.kind != "dump":
        return tables(dataset)
    columns: dict[str, list[str]] = {}
    for table, column in instance.query(
        "SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables "
        f"USING (table_schema, table_name) WHERE table_schema = '{schema_of(instance, dataset)}' "
        f"AND table_type = 'BASE TABLE' AND table_name <> '{MARK}' ORDER BY table_name, ordinal_position"
    ):
        columns.setdefault(quoted(table), []).append(quoted(column))
    return sorted(columns.items())  # servers order an underscore differently


def quoted(name: str) -> str:
    """Quote a name as SQL has it."""
    return "`" + name.replace("`", "``") + "`"


class ChangedError(MeasureError):
    """A server's rows differ from those that were generated."""


def verify_all(instance: Running, datasets: Iterable[Dataset]) -> str:
    """Verify each dataset; returns one checksum, independent of their order. Raises as `verify` does."""
    ordered = sorted(with_rows(datasets), key=lambda dataset: dataset.key)
    return hashlib.sha256("".join(verify(instance, tables) for tables in ordered).encode()).hexdigest()[:16]


def verify(instance: Running, dataset: Dataset) -> str:
    """Checksum every row and compare with what was generated; returns one checksum for all tables.

    A dump's rows have only other servers' to be compared with. Raises ChangedError with the first table that
    differs.
    """
    digest = hashlib.sha256(f"{dataset.key} {dataset.seed}".encode())
    for number, (table, columns) in enumerate(tables_on(instance, dataset)):
        name = f"{quoted(schema_of(instance, dataset))}.{table}"
        if dataset.kind == "dump":
            unlike = _documents(instance, dataset, table)
            instance.query(dump.UTC)
            # Texts of different collations cannot be joined.
            columns = [f"CAST({column} AS BINARY)" for column in columns if column not in unlike] or ["1"]  # noqa: PLW2901
        (row,) = instance.query(
            f"SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('#', {', '.join(columns)}))), 0) FROM {name}",
            SCAN_TIMEOUT_S,
        )
        on_server = (int(row[0]), int(row[1]))
        if dataset.kind == "dump":
            instance.query("SET time_zone = DEFAULT")  # the load has the server's
            digest.update(repr((table, on_server)).encode())
            continue
        known = dataset.kind != "own"
        expected = _engine.checksum(msgspec.json.encode(dataset), number) if known else on_server
        if on_server != expected:
            raise ChangedError(
                f"table {name.replace('`', '')} of {dataset.key} differs from what was generated: expected "
                f"{expected[0]} rows with checksum {expected[1]}, found {on_server[0]} with {on_server[1]}"
            )
        digest.update(repr(on_server).encode())
    return digest.hexdigest()[:16]


def warm(instance: Running, dataset: Dataset) -> None:
    """Read every row of each table, and every page of its indexes that queries may use, once."""
    unusable = ("YES",) if family_of(instance.version) == "mariadb" else ("NO",)  # Ignored, else Visible
    for table, columns in tables_on(instance, dataset):
        name = f"{quoted(schema_of(instance, dataset))}.{table}"
        # No index covers a generated table's last column.
        needed = columns if dataset.kind == "dump" else columns[-1:]
        lengths = (f"SUM(LENGTH({column}))" for column in needed)
        instance.query(f"SELECT {', '.join(lengths)} FROM {name}", SCAN_TIMEOUT_S)
        first_columns = {
            row[2]: quoted(row[4])
            for row in instance.query(f"SHOW INDEX FROM {name}")
            if row[3] == 1 and row[10] == "BTREE" and row[4] is not None and row[13:14] != unusable
        }
        if dataset.engine.lower() in _CLUSTERED:
            first_columns.pop("PRIMARY", None)
        for index, column in first_columns.items():
            scan = f"SELECT SUM(LENGTH({column})) FROM {name} FORCE INDEX ({quoted(index)})"
            instance.query(scan, SCAN_TIMEOUT_S)


def _numbers(engine: str) -> Iterator[str]:
    """The statements that make the table of numbers: each doubles it."""
    yield f"CREATE TABLE {NUMBERS} (n INT NOT NULL PRIMARY KEY) ENGINE = {engine}"
    yield f"INSERT INTO {NUMBERS} VALUES (1)"
    rows = 1
    while rows < NUMBERS_MAX:
        yield f"INSERT INTO {NUMBERS} SELECT n + {rows} FROM {NUMBERS} WHERE n <= {NUMBERS_MAX - rows}"
        rows *= 2


def _storage_engine(instance: Running, name: str) -> str:
    """Spell the storage engine as the server does. Raises MeasureError without a fit one."""
    fit = {
        str(engine): support == "DEFAULT"
        for engine, support, *_ in instance.query("SHOW ENGINES")
        if support in ("YES", "DEFAULT") and engine.upper() not in _UNFIT_ENGINES
    }
    for engine, is_default in fit.items():
        if engine.lower() == name.lower() or (is_default and name.lower() == DEFAULT_ENGINE):
            return engine
    raise MeasureError(
        f"server {instance.version} has no storage engine {name} to load a dataset into; "
        f"it has {', '.join(sorted(fit))}"
    )


def _fill(instance: Running, dataset: Dataset) -> None:
    """Send generated rows; a server that does not allow LOAD DATA LOCAL gets INSERT statements."""
    ((allowed, packet_bytes),) = instance.query("SELECT @@GLOBAL.local_infile, @@GLOBAL.max_allowed_packet")
    if instance.ours:
        instance.query("SET GLOBAL local_infile = 1")
    login = instance.login
    try:
        _engine.load_rows(
            login.address,
            login.user,
            login.password,
            schema_of(instance, dataset),
            msgspec.json.encode(dataset),
            len(os.sched_getaffinity(0)),
            insert_bytes=None if allowed or instance.ours else int(packet_bytes),
            logged=not instance.ours,
        )
    except LoadError as error:
        raise MeasureError(f"loading {dataset.key}: {reason(error)}{instance.post_mortem()}") from None
    finally:
        if instance.ours and instance.alive():
            instance.query(f"SET GLOBAL local_infile = {allowed}")


def _execute(instance: Running, dataset: Dataset, statements: Iterable[str], schema: str | None) -> None:
    """Run the statements in the schema, over a new connection."""
    with _cursor(instance, dataset, schema) as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def _cursor(instance: Running, dataset: Dataset, schema: str | None) -> Iterator[Cursor]:
    with cursor_on(instance, f"loading {dataset.key}", SCAN_TIMEOUT_S, database=schema) as cursor:
        if instance.ours:
            cursor.execute("SET SESSION sql_log_bin = 0")
        yield cursor


@contextmanager
def cursor_on(instance: Running, what: str, timeout_s: float, **options: Any) -> Iterator[Cursor]:
    """Open a cursor on its own connection. Raises MeasureError, which begins with `what`."""
    with (
        instance.naming(what),
        closing(instance.connect(**options)) as connection,
        connection.cursor() as cursor,
    ):
        wait_for(connection, timeout_s)
        yield cursor


def _analyze(instance: Running, dataset: Dataset) -> None:
    schema = schema_of(instance, dataset)
    names = [table for table, _ in tables_on(instance, dataset)]
    _execute(instance, dataset, [f"ANALYZE NO_WRITE_TO_BINLOG TABLE {name}" for name in names], schema)


def _documents(instance: Running, dataset: Dataset, table: str) -> frozenset[str]:
    """Find a table's JSON columns: MySQL rewrites such a text, MariaDB keeps it."""
    ((_, create),) = instance.query(f"SHOW CREATE TABLE {quoted(schema_of(instance, dataset))}.{table}")
    names = re.findall(r"^\s*(`[^`]+`) json\b|json_valid\((`[^`]+`)\)", create, re.MULTILINE)
    return frozenset(json or checked for json, checked in names)


def _statements(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The statements that create the dataset's tables, and those that index or fill them.

    A dump has both in its file, after its settings.
    """
    if dataset.digest == NUMBERS:
        return [], [*_numbers(dataset.engine)]
    if dataset.kind == "dump":
        return [*dump.SETTINGS, f"USE {dumped(dataset)}"], []
    if dataset.kind == "own":
        return [], []
    lines = (_FOLDER / f"{dataset.kind}.sql").read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    numbers = range(1, dataset.tables + 1 if dataset.kind == "sbtest" else 2)
    every = [
        statement.strip().replace("{table}", str(number))
        for number in numbers
        for statement in text.split(";")
        if statement.strip()
    ]
    creates = [statement for statement in every if statement.startswith("CREATE TABLE")]
    return creates, [statement for statement in every if statement not in creates]


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """Loaded and verified datasets."""

    checksum: str  # of all rows
    load_s: float | None  # None: taken from the cache
    told: tuple[Warning, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Template(Loaded):
    """A cleanly shut down data directory that holds the datasets."""

    directory: Path

    def copy_to(self, instance_directory: Path) -> None:
        """Create an instance directory with a copy of the data, sharing blocks if the file system can.

        The copy is on disk on return; otherwise its write-back (600 MB, most of it redo log) would disturb
        the first half minute of slices. Raises MeasureError if it fails.
        """
        target = instance_directory / "data"
        what = f"cannot copy the dataset to {target}"
        try:
            instance_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MeasureError(f"{what}: {error.strerror}") from None
        for command in (
            ["cp", "-a", "--reflink=auto", str(self.directory / "data"), str(target)],
            ["sync", "-f", str(target)],
        ):
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                shutil.rmtree(target, ignore_errors=True)
                first = next(iter(done.stderr.splitlines()), "")  # cp has one for each file
                raise MeasureError(f"{what}: {first}")


def template(
    program: Installation,
    options: Mapping[str, str],
    datasets: Iterable[Dataset],
    cache_dir: Path,
    held: ExitStack | None = None,
) -> Template:
    """Take the datasets on one server build from the cache, or load them. Raises MeasureError."""
    every = tuple(sorted(set(with_rows(datasets)), key=lambda dataset: dataset.key))
    made_of = [(dataset.key, dataset.seed, _statements(dataset)) for dataset in every]
    facts = (FORMAT, program.digest, sorted(profiles.in_files(options).items()), made_of)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    directory = cache_dir / "templates" / key
    build = partial(_build, program, options, every)
    made = build_once(directory, build, lambda made: cache.manifest(made) is not None, held)
    manifest = cache.manifest(directory)
    if manifest is None:
        raise MeasureError(
            f"{directory}: the template has changed since it was written; remove it to load it again"
        )
    return Template(
        directory=directory,
        checksum=manifest.checksum,
        load_s=manifest.load_s if made else None,
        told=manifest.told,
    )


def _build(
    program: Installation, options: Mapping[str, str], datasets: Sequence[Dataset], directory: Path
) -> None:
    home = directory / "instance"
    instances.initialise(program, home, options)
    with (
        instances.start(program, home, {**options, **LOADING}) as instance,
        stalls.ended(instance, f"{program.name}: loading"),
    ):
        began = time.monotonic()
        told = tuple(warning for dataset in datasets for warning in load(instance, dataset))
        load_s = time.monotonic() - began
        checksum = verify_all(instance, datasets)
        if instance.variables().get("innodb_fast_shutdown", "").isdecimal():  # fixed before 5.0
            instance.query("SET GLOBAL innodb_fast_shutdown = 0")  # leaves no purge or merge to the copies
        if (code := instance.shut_down(SHUTDOWN_TIMEOUT_S)) != 0:  # each copy would begin with a recovery
            raise MeasureError(
                f"{program.name}: did not shut down cleanly after loading ({log.ending(code)}); "
                f"its error log ends:\n{instance.error_log_tail()}"
            )
    data = directory / "data"
    (home / "data").rename(data)
    shutil.rmtree(home)
    (data / "auto.cnf").unlink(missing_ok=True)  # the server's UUID: each copy gets its own
    manifest = cache.Manifest(
        server=f"{program.family} {'.'.join(map(str, program.version))}",
        datasets=tuple(dataset.key for dataset in datasets),
        checksum=checksum,
        load_s=load_s,
        files=cache.sizes(data),
        told=told,
    )
    (directory / "template.json").write_bytes(msgspec.json.encode(manifest))
