"""Logs of real servers, against what was sent and what performance_schema counted."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec
import pymysql
import pytest

from shootout._engine import Engine
from shootout.inputs import workload
from shootout.learn import logs
from shootout.learn.values import Log, Template
from shootout.measure import dataset
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import connect
from shootout.model.plan import DatasetSize, Load
from shootout.model.value import Protocol
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from tests.support.runs import a_tree, until

SERVERS = ["mysql-5.7.22", "mysql-8.0.33", "mysql-9.7", "mariadb-11.8"]
OPTIONS = {
    "innodb-flush-log-at-trx-commit": "0",
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
    "performance-schema": "ON",
    "log-output": "FILE",
}
SCALE = DatasetSize(tables=3, rows=1_000)
CONNECTIONS, SLICE_S, TIMEOUT_S = 4, 1.0, 60.0
FAMILIES = ["sbtest"]
DIGESTS = "performance_schema.events_statements_summary_by_digest"
LOADS: list[tuple[str, Protocol]] = [
    ("oltp_read_write", "text"),
    ("oltp_read_write", "prepared"),
    ("tpcc", "text"),
]
# By each statement's form: executions, rows examined, rows sent.
Counted = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Ran:
    """Statements that ran on a server, and its logs of them."""

    slow: Path
    general: Path
    digests: Path
    counted: Counted
    transactions: int
    retries: int

    def templates(self, log: Log) -> list[Template]:
        """List the templates of the statements that ran, without those that switch logs on and off."""
        return [each for each in log.templates if not each.sql.startswith(("SHOW", "SET GLOBAL"))]


@dataclass(frozen=True)
class Site:
    """A server that logs everything while something runs."""

    name: str
    server: Instance
    folder: Path

    def log(self, name: str, schema: str, run: Callable[[], tuple[int, int]]) -> Ran:
        slow, general = self.folder / f"{name}.slow", self.folder / f"{name}.general"
        self.server.query(f"TRUNCATE {DIGESTS}")
        self.server.query("SET GLOBAL long_query_time = 0")
        for log, path in (("slow_query_log", slow), ("general_log", general)):
            self.server.query(f"SET GLOBAL {log}_file = '{path}'")
            self.server.query(f"SET GLOBAL {log} = ON")
        transactions, retries = run()
        # A statement is logged and counted after its answer: wait until all clients have gone.
        until(lambda: self.server.status()["Threads_connected"] == 1)
        for log in ("slow_query_log", "general_log"):
            self.server.query(f"SET GLOBAL {log} = OFF")
        counted: Counted = {}
        rows = self.server.query(
            "SELECT DIGEST_TEXT, COUNT_STAR, SUM_ROWS_EXAMINED, SUM_ROWS_SENT "
            f"FROM {DIGESTS} WHERE SCHEMA_NAME = '{schema}'"
        )
        for text, *numbers in rows:
            add(counted, text, *map(int, numbers))
        digests = self.folder / f"{name}.json"
        with closing(self.server.connect()) as connection:
            cursor = connection.cursor(pymysql.cursors.DictCursor)
            cursor.execute(f"SELECT * FROM {DIGESTS} WHERE SCHEMA_NAME = '{schema}'")
            digests.write_bytes(msgspec.json.encode(cursor.fetchall(), enc_hook=str))
        return Ran(slow, general, digests, counted, transactions, retries)

    def load(self, name: str, protocol: Protocol) -> Ran:
        """Run a workload for a moment."""
        chosen = workload.load(name)
        tables = workload.dataset_of(chosen, SCALE, name)
        program = workload.compile_program(name, chosen, tables, Load(protocol=protocol))

        def run() -> tuple[int, int]:
            engine = Engine(msgspec.json.encode(program), 1)
            connect(engine, self.server, SCHEMAS[tables.kind], CONNECTIONS)
            taken = engine.slice(0, 0.0, SLICE_S, TIMEOUT_S)
            return taken.completed, sum(taken.errors.values())

        return self.log(f"{name}-{protocol}", SCHEMAS[tables.kind], run)


def form(text: str) -> str:
    """A template or digest without what the two write differently."""
    text = re.sub(r"[`\s;]|/\*.*?\*/", "", text.replace("?+", "?").replace("...", "?")).upper()
    text = text.replace("DISTINCTROW", "DISTINCT").replace("!=", "<>")
    text = re.sub(r"\?(,\?)+", "?", re.sub(r"SBTEST\d+", "SBTEST?", text))
    return re.sub(r"VALUES\(.*", "VALUES", text)  # digests join values as they like


def add(counted: Counted, text: str, *numbers: int) -> None:
    before = counted.get(form(text), (0,) * len(numbers))
    counted[form(text)] = tuple(map(sum, zip(before, numbers, strict=True)))


@pytest.fixture(scope="module", params=SERVERS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    tree = a_tree(request.param)
    home = tmp_path_factory.mktemp("site")
    datasets = [SCALE.of_kind("sbtest"), SCALE.of_kind("tpcc")]
    dataset.template(tree, OPTIONS, datasets, home / "cache").copy_to(home / "instance")
    with instances.start(tree, home / "instance", OPTIONS) as server:
        yield Site(request.param, server, home)


@pytest.fixture(scope="module")
def ran(site: Site) -> dict[tuple[str, Protocol], Ran]:
    return {load: site.load(*load) for load in LOADS}


CONTROL = {"BEGIN", "COMMIT", "ROLLBACK", "STARTTRANSACTION"}


@pytest.mark.parametrize("name", ["oltp_read_write", "tpcc"])
def test_all_that_ran_is_counted(ran: dict[tuple[str, Protocol], Ran], name: str) -> None:
    done = ran[name, "text"]
    log = logs.read([done.slow], families=FAMILIES)
    assert (log.kind, log.ordered, log.left_out, log.connections) == ("slow", True, (), CONNECTIONS)
    found: Counted = {}
    for template in done.templates(log):
        assert template.rows_examined is not None
        assert template.rows_sent is not None
        add(found, template.sql, template.count, template.rows_examined, template.rows_sent)
    expected = {text: counts for text, counts in done.counted.items() if text not in CONTROL}
    # MariaDB's digests miss an execution now and then: 2 159 of 2 160.
    assert found == {text: pytest.approx(counts, abs=3) for text, counts in expected.items()}
    explicit = [sequence for sequence in log.sequences if sequence.explicit]
    # One that is refused ends with ROLLBACK, or with its connection.
    assert sum(sequence.count for sequence in explicit) + log.abandoned == done.transactions + done.retries
    assert 0 < log.fastest_s < log.seconds < log.span_s * CONNECTIONS
    assert 0 < log.think_s < 0.1
    # The general log tells the same statements and transactions, without what they cost.
    general = logs.read([done.general], families=FAMILIES)
    told: Counted = {}
    for one in done.templates(general):
        add(told, one.sql, one.count)
    assert told == {text: counts[:1] for text, counts in found.items()}
    assert general.left_out == ()
    # Where the slow log lacks a connection's first BEGIN, that may have been before the log.
    assert (shapes(general) - shapes(log)).total() == log.abandoned - general.abandoned
    assert not shapes(log) - shapes(general)


def shapes(log: Log) -> Counter[tuple[str, ...]]:
    """Count how often each explicit transaction ran."""
    return Counter(
        {
            tuple(log.templates[place].sql for place in sequence.statements): sequence.count
            for sequence in log.sequences
            if sequence.explicit
        }
    )


def test_prepared_statements_have_their_values(ran: dict[tuple[str, Protocol], Ran]) -> None:
    for path in (ran["oltp_read_write", "prepared"].slow, ran["oltp_read_write", "prepared"].general):
        log = logs.read([path], families=FAMILIES)
        done = ran["oltp_read_write", "prepared"]
        assert log.left_out == ()
        (sequence,) = (one for one in log.sequences if one.explicit and one.end == "commit")
        assert 0 <= done.transactions - sequence.count <= log.abandoned
        assert len(sequence.statements) == 18
        selected = log.templates[sequence.statements[0]]
        assert selected.sql == "SELECT c FROM sbtest? WHERE id=?"
        number, row = selected.slots
        assert (number.table, number.distinct, row.kind, row.nulls) == (True, SCALE.tables, "number", 0)
        assert all(1 <= int(value) <= SCALE.rows for value in row.sample)
        assert sum(count for _, count in number.top) == selected.count


def test_transactions_repeat_values(ran: dict[tuple[str, Protocol], Ran]) -> None:
    log = logs.read([ran["oltp_read_write", "text"].slow], families=FAMILIES)
    (sequence,) = (one for one in log.sequences if one.explicit and one.end == "commit")
    ends = [link for link in sequence.links if link.difference]
    assert {(link.statement, link.slot, link.of_statement, link.of_slot) for link in ends} == {
        (place, 2, place, 1) for place in range(10, 14)
    }
    assert {(link.difference, link.share) for link in ends} == {(99, 1.0)}
    # The row that is deleted is inserted again.
    assert (17, 1, 16, 1, 1.0) in {
        (link.statement, link.slot, link.of_statement, link.of_slot, link.share) for link in sequence.links
    }


def test_a_slow_log_that_loses_fast_statements_has_the_same_transactions(
    ran: dict[tuple[str, Protocol], Ran], tmp_path: Path
) -> None:
    whole = logs.read([ran["oltp_read_write", "text"].slow], families=FAMILIES)
    path = tmp_path / "lossy"
    lost = losing(b"BEGIN", ran["oltp_read_write", "text"].slow, path)
    log = logs.read([path], families=FAMILIES)
    assert (shapes(log), log.ordered, log.abandoned) == (shapes(whole), True, whole.abandoned)
    assert log.lost_begins == whole.lost_begins + lost > 1


def losing(text: bytes, log: Path, path: Path) -> int:
    """Write a slow log without each fifth entry of this statement, but for the first; return how many."""
    entries = re.split(rb"(?m)^(?=# Time: |# User@Host: )", log.read_bytes())
    found = [place for place, entry in enumerate(entries) if entry.endswith(b"\n" + text + b";\n")]
    gone = set(found[5 * CONNECTIONS :: 5])
    path.write_bytes(b"".join(entry for place, entry in enumerate(entries) if place not in gone))
    return len(gone)


def test_without_families_shares_are_kept_by_a_sample(ran: dict[tuple[str, Protocol], Ran]) -> None:
    log = logs.read([ran["oltp_read_write", "text"].slow])
    shares: Counter[int] = Counter()
    for sequence in log.sequences:
        if sequence.explicit:
            shares.update(dict.fromkeys(sequence.statements, 0))
            for place in sequence.statements:
                shares[place] += sequence.count
    whole = sum(log.templates[place].count for place in shares)
    for place, count in shares.items():
        assert abs(count / shares.total() - log.templates[place].count / whole) < 0.01


def test_a_mangled_log_is_told_from_the_true_one(
    ran: dict[tuple[str, Protocol], Ran], tmp_path: Path
) -> None:
    for done in ran.values():
        whole = logs.read([done.slow])
        entries = re.split(rb"(?m)^(?=# User@Host: )", done.slow.read_bytes())
        banner, *entries = (re.sub(rb"(?m)^# Time: .*\n", b"", entry) for entry in entries)
        random.Random(1).shuffle(entries)
        path = tmp_path / "mangled"
        path.write_bytes(banner + b"".join(entries))
        mangled = logs.read([path])
        assert (whole.ordered, mangled.ordered) == (True, False)
        assert mangled.statements == whole.statements
        assert {len(sequence.statements) for sequence in mangled.sequences} == {1}


def test_a_torn_log_is_read_as_far_as_it_goes(ran: dict[tuple[str, Protocol], Ran], tmp_path: Path) -> None:
    chance = random.Random(1)
    for done in ran.values():
        for source in (done.slow, done.general):
            content = source.read_bytes()
            cuts = sorted(chance.sample(range(len(content)), 200))
            pieces = [content[a + 40 : b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
            path = tmp_path / "torn"
            path.write_bytes(b"\xe4\x00\xff".join(pieces))
            torn, whole = logs.read([path]), logs.read([source])
            assert torn.kind == whole.kind
            assert torn.left_out
            assert abs(torn.statements - whole.statements) < 300


def test_a_log_in_several_files_is_one(ran: dict[tuple[str, Protocol], Ran], tmp_path: Path) -> None:
    source = ran["tpcc", "text"].slow
    lines = source.read_bytes().splitlines(keepends=True)
    begins = [
        place
        for place, (before, line) in enumerate(pairwise(lines), 1)
        if line.startswith(b"# Time: ")
        or (line.startswith(b"# User@Host: ") and not before.startswith(b"# Time: "))
    ]
    half = begins[len(begins) // 2]
    paths = [tmp_path / "1", tmp_path / "2"]
    for path, part in zip(paths, (lines[:half], lines[half:]), strict=True):
        path.write_bytes(b"".join(part))
    assert logs.read(paths) == logs.read([source])


def test_digests_have_the_same_counts(ran: dict[tuple[str, Protocol], Ran]) -> None:
    for name in ("oltp_read_write", "tpcc"):
        done = ran[name, "text"]
        log = logs.read([done.digests], families=FAMILIES)
        found: Counted = {}
        for template in done.templates(log):
            add(found, template.sql, template.count, template.rows_examined or 0, template.rows_sent or 0)
        assert found == {text: counts for text, counts in done.counted.items() if text not in CONTROL}
        assert (log.kind, log.ordered) == ("digests", False)


STATEMENTS: list[tuple[str, str, list[tuple[bytes, ...]]]] = [
    ("SELECT 'it''s', \"say \\\"x\\\"\", 'a\\nb\\\\'", "SELECT ?, ?, ?", [
        (b"it's",), (b'say "x"',), (b"a\nb\\",),
    ]),
    ("SELECT 'grün', _latin1'a', x'41', -1.5e3", "SELECT ?, ?, ?, ?", [
        ("grün".encode(),), (b"a",), (b"A",), (b"-1.5e3",),
    ]),
    ("/* who */ SELECT 1 -- why\n, # what\n 2", "SELECT ?, ?", [(b"1",), (b"2",)]),
    ("SELECT k FROM sbtest1 WHERE id IN (3, 4,5) LIMIT 2", "SELECT k FROM sbtest? WHERE id IN (?+) LIMIT ?", [
        (b"1",), (b"3", b"4", b"5"), (b"2",),
    ]),
    ("INSERT INTO note (a, b) VALUES (1, 'x'), (2, NULL)", "INSERT INTO note (a, b) VALUES (?+, ?+)", [
        (b"1", b"2"), (b"x",),
    ]),
    ("SELECT '# Time: \n# User@Host: x\n;' AS a", "SELECT ? AS a", [(b"# Time: \n# User@Host: x\n;",)]),
]  # fmt: skip


def test_statements_come_back_as_they_were_sent(site: Site) -> None:
    schema = SCHEMAS["sbtest"]
    site.server.query(f"CREATE TABLE {schema}.note (a INT, b VARCHAR(10))")

    def run() -> tuple[int, int]:
        flag = pymysql.constants.CLIENT.MULTI_STATEMENTS
        with closing(site.server.connect(database=schema, client_flag=flag)) as connection:
            for text, _, _ in STATEMENTS:
                connection.query(text)
            connection.query("SELECT 10 ; SELECT a FROM note WHERE b = ';'")
            while connection.next_result():
                pass
        return 0, 0

    done = site.log("sent", schema, run)
    for path in (done.slow, done.general):
        log = logs.read([path], families=FAMILIES)
        found = [
            (one.sql, [tuple(sorted(value for value, _ in slot.top)) for slot in one.slots])
            for one in done.templates(log)
        ]
        for _, sql, values in STATEMENTS:
            assert (sql, values) in found
        assert {"SELECT ?", "SELECT a FROM note WHERE b = ?"} <= {sql for sql, _ in found}
        assert log.left_out == ()
