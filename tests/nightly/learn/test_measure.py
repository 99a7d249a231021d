from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.learn.answer import answer
from shootout.learn.measure import REPORT, WORKLOAD
from tests.real.learn.test_measure import SHOP, Logged, general, learned
from tests.support.report.site.pages import Document
from tests.support.screen import answered

PLANTED = 10_000


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


def test_no_literal_of_the_log_is_in_any_file(tmp_path: Path) -> None:
    given, literals = planted(random.Random(5), tmp_path)
    assert len(set(literals)) == PLANTED
    learned(given.dump, given.log, tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        text = file.read_text("utf-8")
        assert not [each for each in literals if each in text or each.encode().hex() in text.lower()], (
            file.name
        )


def test_kept_values_are_in_the_file(tmp_path: Path) -> None:
    given, literals = planted(random.Random(5), tmp_path)
    learned(given.dump, given.log, tmp_path / "out", keep=True)
    text = (tmp_path / "out" / WORKLOAD).read_text("utf-8")
    assert "This file has literals of the log." in text
    assert sum(each in text for each in literals) > 100


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


def test_a_log_of_slow_statements_only_is_called_incomplete(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(SHOP)
    log = tmp_path / "slow.log"
    log.write_text(slow(["SELECT id FROM parent WHERE id = 2"] * 48, s=1))
    out = tmp_path / "out"
    found = learned(tmp_path / "dump.sql", log, out)
    said = "the log's fastest statement took 1 s, so long_query_time has hidden faster ones: set it to 0"
    assert found.learned.warnings == (said,)
    assert said in (out / WORKLOAD).read_text("utf-8").replace("\n# ", " ")
    assert said in Document((out / "fidelity.html").read_text("utf-8")).text
    assert f"Warning: {said}." in answered(answer(found), 1000)


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
    assert said in answered(answer(found), 1000)
