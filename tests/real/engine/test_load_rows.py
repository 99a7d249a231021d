"""The engine's bulk load into real servers."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import msgspec
import pytest

from shootout._engine import LoadError, checksum, load_rows, tables
from shootout.model.plan import Dataset
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh
from tests.support.runs import until

OPTIONS = {
    "innodb-log-file-size": "32M",
    "innodb-flush-log-at-trx-commit": "2",
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
}
NAMES = ("mysql-5.7.22", "mysql-8.0.12")
SCHEMA = "loaded"
SOON_S = 5.0  # on a busy machine; nearly all of it is slack
ENDLESS = Dataset(tables=1, rows=100_000_000, seed=1)
PAGE, INDEX_PAGE = 16_384, 17_855


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Instance]]:
    with ExitStack() as running:
        started = {}
        for name in NAMES:
            home = tmp_path_factory.mktemp(name) / "instance"
            started[name] = running.enter_context(fresh(name, home, OPTIONS))
            started[name].query("CREATE USER plain@localhost IDENTIFIED WITH mysql_native_password BY 'p''w'")
            started[name].query("GRANT SELECT, INSERT ON *.* TO plain@localhost")  # no SUPER
        yield started


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest, servers: dict[str, Instance]) -> Instance:
    return emptied(servers[request.param])


@pytest.fixture
def one_server(servers: dict[str, Instance]) -> Instance:
    return emptied(servers[NAMES[0]])


def emptied(server: Instance) -> Instance:
    server.query(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.query(f"CREATE DATABASE {SCHEMA}")
    server.query("SET GLOBAL local_infile = 1")
    return server


def encoded(dataset: Dataset) -> bytes:
    return msgspec.json.encode(dataset)


def create(server: Instance, dataset: Dataset) -> None:
    for name, _ in tables(encoded(dataset)):
        server.query(f"CREATE TABLE {SCHEMA}.{name} (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))")


def load(server: Instance, dataset: Dataset, workers: int = 1) -> int:
    return load_rows(str(server.socket), "plain", "p'w", SCHEMA, encoded(dataset), workers)


def sums(server: Instance, dataset: Dataset) -> Sequence[tuple[int, int]]:
    """The row count and checksum of each table in the server."""
    found = []
    for name, columns in tables(encoded(dataset)):
        fields = ", ".join(columns)
        ((rows, total),) = server.query(
            f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', {fields}))) FROM {SCHEMA}.{name}"
        )
        found.append((int(rows), int(total)))
    return found


def pages(server: Instance, table: str) -> Sequence[tuple[int, bytes]]:
    """The pages of the table's file: kind and neighbours; for index pages fill, level and index, too."""
    server.query(f"FLUSH TABLES {SCHEMA}.{table} FOR EXPORT")
    data = (server.directory / "data" / SCHEMA / f"{table}.ibd").read_bytes()
    server.query("UNLOCK TABLES")
    found = []
    for at in range(0, len(data), PAGE):
        kind = int.from_bytes(data[at + 24 : at + 26])
        body = data[at + 8 : at + 16]
        if kind == INDEX_PAGE:
            body += data[at + 38 : at + 46] + data[at + 54 : at + 56] + data[at + 64 : at + 66]
        found.append((kind, body))
    return found


def loading(server: Instance, then: Callable[[], object]) -> threading.Thread:
    """Calls `then` as soon as a load's rows reach the server."""

    def watch() -> None:
        until(lambda: server.status()["Innodb_rows_inserted"] > before + 1000)
        then()

    before = server.status()["Innodb_rows_inserted"]
    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize(("count", "workers"), [(1, 1), (1, 3), (3, 2), (2, 5)])
def test_what_arrives_is_what_was_made(server: Instance, count: int, workers: int) -> None:
    dataset = Dataset(tables=count, rows=3_001, seed=7)
    create(server, dataset)
    assert load(server, dataset, workers) == count * 3_001
    assert sums(server, dataset) == [checksum(encoded(dataset), table) for table in range(count)]


def test_rows_come_over_tcp_too(server: Instance) -> None:
    dataset = Dataset(tables=1, rows=500, seed=7)
    create(server, dataset)
    assert load_rows(f"127.0.0.1:{server.port}", "plain", "p'w", SCHEMA, encoded(dataset), 1) == 500
    assert sums(server, dataset) == [checksum(encoded(dataset), 0)]


def test_pages_are_laid_out_the_same_way_every_time(server: Instance) -> None:
    dataset = Dataset(tables=2, rows=20_000, seed=1)
    layouts = []
    for _ in range(2):
        emptied(server)
        create(server, dataset)
        load(server, dataset, workers=2)
        layouts.append([pages(server, name) for name, _ in tables(encoded(dataset))])
    assert layouts[0] == layouts[1]
    assert sum(kind == INDEX_PAGE for kind, _ in layouts[0][0]) > 200


def test_what_a_server_refuses_is_told_in_its_words(server: Instance) -> None:
    dataset = Dataset(tables=1, rows=500, seed=7)
    with pytest.raises(LoadError) as missing:
        load(server, dataset)
    assert missing.value.args == (0, 1146, f"Table '{SCHEMA}.sbtest1' doesn't exist")
    create(server, dataset)
    with pytest.raises(LoadError) as denied:
        load_rows(str(server.socket), "plain", "no", SCHEMA, encoded(dataset), 2)
    assert denied.value.args[:2] == (0, 1045)
    load(server, dataset)
    with pytest.raises(LoadError, match=r"sbtest1 stored 0 of 500 rows: Records: 500 .*Skipped: 500"):
        load(server, dataset)
    server.query("SET GLOBAL local_infile = 0")
    with pytest.raises(LoadError, match=r"(1148|3948), '.*"):
        load(server, dataset)


def test_what_nobody_can_load_is_refused(one_server: Instance) -> None:
    with pytest.raises(ValueError, match="not a dataset"):
        load_rows(str(one_server.socket), "plain", "p'w", SCHEMA, b"{}", 1)
    with pytest.raises(ValueError, match="nowhere"):
        load_rows("nowhere", "plain", "p'w", SCHEMA, encoded(ENDLESS), 1)
    with pytest.raises(LoadError, match=r"/nonexistent: No such file or directory"):
        load_rows("/nonexistent", "plain", "p'w", SCHEMA, encoded(ENDLESS), 1)
    unknown = "x" * 64 + ":3306"  # no name's part is that long
    with pytest.raises(LoadError, match=f"2003, '{unknown}: "):
        load_rows(unknown, "plain", "p'w", SCHEMA, encoded(ENDLESS), 1)
    with pytest.raises(IndexError, match="no table 1"):
        checksum(encoded(ENDLESS), 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_ends_a_load(workers: int, one_server: Instance) -> None:
    create(one_server, ENDLESS)
    ended_at = []

    def interrupt() -> None:
        ended_at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    watch = loading(one_server, interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(one_server, ENDLESS, workers)
    assert time.monotonic() - ended_at[0] < SOON_S
    watch.join()
