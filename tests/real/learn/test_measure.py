from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec
import pytest

from lab import dumps
from shootout._engine import Engine
from shootout.errors import InputError
from shootout.inputs import workload
from shootout.learn import measure
from shootout.learn.answer import answer, write
from shootout.learn.measure import REPORT, WORKLOAD, LearnedWorkload
from shootout.measure import dataset
from shootout.measure.managed import connect
from shootout.model.plan import DatasetSize
from shootout.servers.sources import reference
from tests.support.measure.servers import fresh
from tests.support.runs import a_tree

SERVER = "mysql-5.7.22"
SECONDS = 2.0


def learned(
    dump: Path,
    log: Path,
    out: Path,
    *,
    variables: Path | None = None,
    keep: bool = False,
    observe: Callable[[str], None] = lambda step: None,
) -> LearnedWorkload:
    server = reference.parse(f"path:{a_tree(SERVER).files.top}")
    outcome = measure.learn(dump, [log], out, server, variables=variables, keep=keep, observe=observe)
    assert write(answer(outcome), out).is_file()
    return outcome


@dataclass(frozen=True)
class Logged:
    """A log of a built-in workload, and a dump of what it began with."""

    dump: Path
    log: Path


def logged(name: str, folder: Path) -> Logged:
    with fresh(SERVER, folder / "home") as server:
        chosen = workload.load(name)
        tables = workload.dataset_of(chosen, DatasetSize(tables=2, rows=2_000), name)
        dataset.load(server, tables)
        schema = dataset.schema_of(server, tables)
        dump = dumps.write(server, schema, folder / "dump.sql")
        log = folder / "slow.log"
        for setting in ("long_query_time = 0", f"slow_query_log_file = '{log}'", "slow_query_log = 1"):
            server.query(f"SET GLOBAL {setting}")
        engine = Engine(msgspec.json.encode(workload.compile_program(name, chosen, tables)), 1)
        connect(engine, server, schema, 2)
        assert engine.slice(0, 0.0, SECONDS, 60.0).completed
    return Logged(dump, log)


def test_read_write_is_learned_back(tmp_path: Path) -> None:
    given = logged("oltp_read_write", tmp_path)
    variables = tmp_path / "my.cnf"
    variables.write_text("[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n")
    found = learned(given.dump, given.log, tmp_path / "out", variables=variables)
    assert found.fidelity.score > 0.99
    assert found.fidelity.per_transaction == pytest.approx(18, rel=0.02)
    for each in found.fidelity.statements:
        assert abs(each.share - each.sent_share) < 0.01, each
        assert each.sent_examined == pytest.approx(each.examined, rel=0.05), each
    again = workload.load(str(tmp_path / "out" / WORKLOAD))
    assert again.transactions[0].steps[0].repeat == 10
    assert msgspec.json.decode((tmp_path / "out" / REPORT).read_bytes(), type=LearnedWorkload) == found
    assert again.settings == ("innodb_flush_log_at_trx_commit=2",)
    assert found.learned.warnings == ()


def general(statements: Iterable[str]) -> str:
    """A general log of one connection."""
    head = "/usr/sbin/mysqld, Version: 5.7.22-log (MySQL Community Server (GPL)). started with:\n"
    head += "Tcp port: 3306  Unix socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n"
    times = (f"2026-01-01T00:{at // 60_000:02d}:{at // 1000 % 60:02d}.{at % 1000:03d}000Z" for at in count())
    return head + "".join(
        f"{time}\t    7 Query\t{text}\n" for time, text in zip(times, statements, strict=False)
    )


SHOP = """CREATE TABLE parent (id INT PRIMARY KEY);
INSERT INTO parent VALUES (1), (2), (3);
CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent_id INT NOT NULL REFERENCES parent (id));
CREATE TRIGGER never BEFORE DELETE ON parent FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'never';
"""


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(SHOP)
    with pytest.raises(InputError, match=r"^/proc: cannot be written: "):
        learned(tmp_path / "dump.sql", tmp_path / "dump.sql", Path("/proc"))


ORDERED = """CREATE TABLE customer (id INT PRIMARY KEY, land CHAR(2) NOT NULL, KEY (land));
INSERT INTO customer VALUES (1, 'de'), (2, 'fr'), (3, 'gb');
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, at DATETIME(6) NOT NULL, customer_id INT NOT NULL,
    land CHAR(2) NOT NULL, paid DATETIME, FOREIGN KEY (customer_id) REFERENCES customer (id),
    FOREIGN KEY (land) REFERENCES customer (land));
CREATE TABLE page (id INT AUTO_INCREMENT PRIMARY KEY, title TEXT);
INSERT INTO page VALUES (1, 'one'), (2, 'two');
CREATE TABLE profile (customer_id INT NOT NULL UNIQUE, FOREIGN KEY (customer_id) REFERENCES customer (id));
CREATE TABLE place (land CHAR(2), code INT, PRIMARY KEY (land, code));
INSERT INTO place VALUES ('de', 1), ('de', 2), ('fr', 3), ('gb', 4), ('it', 5), ('nl', 6), ('pl', 7);
CREATE TABLE visit (id INT AUTO_INCREMENT PRIMARY KEY, code INT NOT NULL, land CHAR(2) NOT NULL,
    FOREIGN KEY (land, code) REFERENCES place (land, code));
"""


def test_rows_go_where_foreign_keys_and_types_allow(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(ORDERED)
    log = tmp_path / "general.log"
    ran = (
        "INSERT INTO orders (at, customer_id, land) VALUES ('2026-11-25 10:00:00.25', 2, 'gb')",
        "UPDATE orders SET customer_id = 900, paid = '2026-11-25 11:00:00' WHERE id = 1",
        "SELECT at FROM orders WHERE at < '2026-11-26' AND paid > '2026-11-24 00:00:00'",
        "START TRANSACTION",
        "SAVEPOINT x7",
        "INSERT INTO page (title) VALUES ('three')",
        "RELEASE SAVEPOINT x7",
        "COMMIT",
        "SELECT title FROM page WHERE id = 3",
        "INSERT INTO profile (customer_id) VALUES (3)",
        "INSERT INTO visit (code, land) VALUES (4, 'gb')",
        "INSERT INTO visit (code, land) VALUES (2, 'de')",
    )
    log.write_text(general(ran * 20))
    found = learned(tmp_path / "dump.sql", log, tmp_path / "out")
    assert [each.reason for each in found.learned.left_out] == [
        "writes a unique foreign key, whose parents run out"
    ]
    assert found.fidelity.errors == {}
    returned = {each.name: each.sent_returned for each in found.fidelity.statements}
    assert returned.keys() >= {"savepoint", "release"}
    assert not [each.name for each in found.learned.statements if each.problem]
    assert "insert_visit" in returned  # both columns of the place's key are of one row
    assert returned["select_page"] == 1  # what was inserted meanwhile is the newest of the dump
