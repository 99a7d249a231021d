from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec
import pytest

from shootout import command
from shootout._engine import Engine
from shootout.errors import InputError
from shootout.inputs import workload
from shootout.learn import measure, page, report
from shootout.learn.measure import REPORT, WORKLOAD, LearnedWorkload
from shootout.measure import dataset
from shootout.measure.managed import connect
from shootout.model.plan import DatasetSize
from shootout.servers.processes import instances
from shootout.servers.sources import reference
from shootout.writers import terminal
from tests.support.measure import dumps
from tests.support.report.site.pages import Document
from tests.support.runs import a_tree
from tests.support.screen import lines_judged

SERVER = "mysql-5.7.22"
PLANTED = 10_000
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
    assert page.write(outcome, out).is_file()
    return outcome


@dataclass(frozen=True)
class Logged:
    """A log of a built-in workload, and a dump of what it began with."""

    dump: Path
    log: Path


def logged(name: str, folder: Path) -> Logged:
    tree = a_tree(SERVER)
    instances.initialise(tree, folder / "home", {})
    with instances.start(tree, folder / "home", {}) as server:
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


def planted(generator: random.Random, folder: Path) -> tuple[Logged, list[str]]:
    """A log full of literals that nothing else has: words and numbers, some of them in the dump."""
    words = [f"{generator.choice('qxz')}{generator.getrandbits(60):x}w" for _ in range(PLANTED // 2)]
    numbers = [generator.randrange(10**11, 10**12) for _ in range(PLANTED // 2)]
    dump = folder / "dump.sql"
    rows = ",".join(f"({numbers[at]},'{words[at]}','2020-01-01',X'{at:08X}')" for at in range(500))
    dump.write_text(
        "CREATE TABLE person (id BIGINT PRIMARY KEY, name VARCHAR(40), born DATE, code VARBINARY(8));\n"
        f"INSERT INTO person VALUES {rows};\n"
    )
    statements = []
    for word, number in zip(words, numbers, strict=True):
        code = word.encode().hex()[:16]
        statements += [
            f"SELECT /* {word} */ name FROM person WHERE id = {number} -- {word}",
            f"SELECT id FROM person WHERE name = '{word}' LIMIT 10",
            f"SELECT id FROM person WHERE name LIKE '{word[:9]}%' OR id IN ({number}, {number + 1})",
            f"UPDATE person SET name = '{word}', born = NOW() WHERE id = {number}",
            f"SELECT {number} + id, CONCAT('{word}', name), DATE_FORMAT(born, '%Y') FROM person",
            f"INSERT INTO person (id, name, code) VALUES ({number + 7}, '{word}', X'{code}')",
        ]
    log = folder / "general.log"
    log.write_text(general(statements))
    return Logged(dump, log), [*words, *map(str, numbers)]


def test_kept_values_are_in_the_file(tmp_path: Path) -> None:
    given, literals = planted(random.Random(5), tmp_path)
    learned(given.dump, given.log, tmp_path / "out", keep=True)
    text = (tmp_path / "out" / WORKLOAD).read_text("utf-8")
    assert "This file has literals of the log." in text
    assert sum(each in text for each in literals) > 100


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.sql: cannot be read: No such file"):
        learned(tmp_path / "nothing.sql", tmp_path / "log", tmp_path / "out")


SHOP = """CREATE TABLE parent (id INT PRIMARY KEY);
INSERT INTO parent VALUES (1), (2), (3);
CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent_id INT NOT NULL REFERENCES parent (id));
CREATE TRIGGER never BEFORE DELETE ON parent FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'never';
"""
RAN = (
    "SELECT id FROM parent WHERE id = 2",
    "INSERT INTO child (parent_id) VALUES (17)",
    "DELETE FROM parent WHERE id = 3",
    "SELECT 1 FROM missing WHERE id = 4",
    "OPTIMIZE TABLE child",
)


def test_what_the_server_refuses_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(f"SET sql_mode = 'MADE_UP,ANSI';\n{SHOP}")
    log = tmp_path / "general.log"
    log.write_text(general(RAN * 20))
    steps: list[str] = []
    found = learned(tmp_path / "dump.sql", log, tmp_path / "out", observe=steps.append)
    assert len(steps) == len(set(steps)), "no step comes twice"
    assert {each.example: each.reason for each in found.learned.left_out} == {
        "DELETE FROM parent WHERE id = ?": "the server refused it: never (1644), in 100 % of its attempts",
        "SELECT ? FROM missing WHERE id = ?": "needs missing, which the dump does not have",
        "OPTIMIZE TABLE child": "changes tables",
    }
    (warning,) = (each for each in found.learned.warnings if "dump.sql" in each)
    assert warning == "dump.sql was loaded without the session modes that the server lacks: MADE_UP"
    sent = {each.name: each.sent_share for each in found.fidelity.statements}
    assert sent["select_parent"] == pytest.approx(0.5, abs=0.05)
    assert sent["delete_parent"] == 0


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(SHOP)
    with pytest.raises(InputError, match=r"^/proc: cannot be written: "):
        learned(tmp_path / "dump.sql", tmp_path / "dump.sql", Path("/proc"))


@pytest.mark.parametrize("name", [WORKLOAD, REPORT])
def test_a_file_that_finds_the_disk_full_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(SHOP)
    log = tmp_path / "general.log"
    log.write_text(general(RAN * 20))
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(InputError, match=rf"^{tmp_path / name}: cannot be written: No space left on device$"):
        learned(tmp_path / "dump.sql", log, tmp_path)


SLOW = """/usr/sbin/mysqld, Version: 5.7.22-log (MySQL Community Server (GPL)). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
"""
ENTRY = """# Time: 2026-01-01T00:00:{at:02d}.000000Z
# User@Host: me[me] @ localhost []  Id:     7
# Query_time: {s}.0{at:02d}000  Lock_time: 0.000010 Rows_sent: 1  Rows_examined: 1
SET timestamp=17672256{at:02d};
{text};
"""


def slow(texts: Iterable[str], s: int = 0) -> str:
    """A slow log of one connection, whose statements took `s` seconds and their own number of ms."""
    entries = (ENTRY.format(at=at, s=s, text=text) for at, text in enumerate(texts, 1))
    return SLOW + "use shop;\n" + "".join(entries)


def test_a_log_of_slow_statements_only_is_called_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump.sql").write_text(SHOP)
    log = tmp_path / "slow.log"
    log.write_text(slow(["SELECT id FROM parent WHERE id = 2"] * 48, s=1))
    out = tmp_path / "out"
    found = learned(tmp_path / "dump.sql", log, out)
    said = "the log's fastest statement took 1 s, so long_query_time has hidden faster ones: set it to 0"
    assert found.learned.warnings == (said,)
    assert said in (out / WORKLOAD).read_text("utf-8").replace("\n# ", " ")
    assert said in Document((out / "fidelity.html").read_text("utf-8")).text
    terminal.show(command.console(), report.judged(found, out / "fidelity.html").text)
    assert f"warning       {said}" in capsys.readouterr().out


def test_begins_and_commits_that_the_log_lost_are_said(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(SHOP)
    log = tmp_path / "slow.log"
    sold = ["SELECT id FROM parent WHERE id = 2", "INSERT INTO child (parent_id) VALUES (17)"]
    whole = ["BEGIN", *sold, "COMMIT"]
    log.write_text(slow([*whole * 3, *whole[1:], *whole * 2, *whole[:-1], *whole, *whole[1:], *whole]))
    out = tmp_path / "out"
    found = learned(tmp_path / "dump.sql", log, out)
    assert (found.learned.transactions, found.fidelity.per_transaction) == (10, 2)
    said = "2 BEGINs and 1 COMMIT, too fast for the log; other statements told where they were"
    assert said in Document((out / "fidelity.html").read_text("utf-8")).text
    assert f"lost          {said}" in lines_judged(report.judged(found, out / "fidelity.html"))


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
