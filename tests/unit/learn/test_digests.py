"""Digests as servers and clients write them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shootout.errors import InputError
from shootout.learn import logs
from shootout.learn.values import Log

ROW = {
    "SCHEMA_NAME": "shop",
    "DIGEST_TEXT": "SELECT SUM ( `a` ) FROM `t` WHERE `id` IN (...) AND `b` = ?",
    "COUNT_STAR": 4,
    "SUM_TIMER_WAIT": 2 * 10**12,
    "SUM_ROWS_EXAMINED": 12,
    "SUM_ROWS_SENT": 8,
}
SAMPLED = ROW | {"QUERY_SAMPLE_TEXT": "SELECT SUM(a) FROM t\nWHERE id IN (1, 2) AND b = 'x\ty'"}


def read(folder: Path, content: bytes) -> Log:
    path = folder / "digests"
    path.write_bytes(content)
    return logs.read([path])


def batch(*rows: dict[str, object]) -> bytes:
    """As `mysql --batch` prints it."""

    def cell(value: object) -> str:
        if value is None:
            return "NULL"
        return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")

    lines = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines).encode()


@pytest.mark.parametrize("form", ["array", "lines", "batch", "csv"])
def test_all_forms_say_the_same(tmp_path: Path, form: str) -> None:
    lower = {name.lower(): value for name, value in SAMPLED.items()}
    content = {
        "array": msgspec.json.encode([SAMPLED]),
        "lines": msgspec.json.encode(lower) + b"\n",
        "batch": batch(SAMPLED),
        "csv": ";".join(f'"{name}"' for name in SAMPLED).encode()
        + b"\r\n"
        + ";".join(f'"{value}"' for value in SAMPLED.values()).encode(),
    }
    log = read(tmp_path, content[form])
    (template,) = log.templates
    assert template.sql == "SELECT SUM(a) FROM t WHERE id IN (?+) AND b = ?"
    assert (template.count, template.seconds) == (4, 2.0)
    assert (template.rows_examined, template.rows_sent) == (12, 8)
    assert [[value for value, _ in slot.top] for slot in template.slots] == [[b"1", b"2"], [b"x\ty"]]
    assert (log.kind, log.ordered, log.transactions, log.fastest_s) == ("digests", False, 4, 0.5)


@pytest.mark.parametrize("sample", [None, "SELECT SUM(a) FROM t WHERE id IN (1, ..."])
def test_a_digest_without_a_whole_sample_has_no_values(tmp_path: Path, sample: str | None) -> None:
    log = read(tmp_path, msgspec.json.encode([ROW | {"QUERY_SAMPLE_TEXT": sample}]))
    (template,) = log.templates
    assert template.sql == "SELECT SUM(`a`) FROM `t` WHERE `id` IN (?+) AND `b` = ?"
    assert [(slot.kind, slot.distinct, slot.sample) for slot in template.slots] == [("null", 0, ())] * 2


def test_what_has_no_whole_text_is_left_out(tmp_path: Path) -> None:
    others = ROW | {"SCHEMA_NAME": None, "DIGEST_TEXT": None, "COUNT_STAR": 7}
    cut = ROW | {"DIGEST_TEXT": "SELECT `a` FROM ..."}
    begin = ROW | {"DIGEST_TEXT": "BEGIN"}
    log = read(tmp_path, batch(others, cut, begin, ROW))
    assert [(left.reason, left.statements) for left in log.left_out] == [("digests without a whole text", 11)]
    assert (log.statements, len(log.templates), log.seconds) == (15, 1, 8.0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"DIGEST_TEXT": "SELECT ?"}]', "expected the columns sql_text"),
        (batch(ROW | {"COUNT_STAR": "many"}), "digests: expected a number, found 'many'"),
        (batch(ROW) + b"SELECT\n", "a row has 1 columns, expected 6"),
        (b'[1, "DIGEST_TEXT"]', "JSON without a log"),
        (b'[{"DIGEST_TEXT"', "cannot be read as an exported log"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, content)
