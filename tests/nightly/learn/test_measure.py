from __future__ import annotations

import random
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.learn.measure import REPORT, WORKLOAD
from tests.real.learn.test_measure import SHOP, Logged, general, learned

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
