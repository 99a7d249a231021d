"""Exports of logs, as managed servers and clouds give them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.learn import logs
from shootout.learn.values import Log

HOST = "cook[cook] @ localhost []"
SQL = 'SELECT "x;\\y",\n1 FROM pot WHERE id = 7'
NAMES = [
    *("start_time", "user_host", "query_time", "lock_time", "rows_sent", "rows_examined", "db"),
    *("last_insert_id", "insert_id", "server_id", "sql_text", "thread_id"),
]
TIMES = ["2024-05-06 10:00:00.500000", HOST, "00:00:00.250000", "00:00:00.000001"]
ROWS = [[*TIMES, "1", "9", "shop", "0", "0", "1", *each] for each in ((SQL, "8"), ("COMMIT", "8"))]


def of_engine(rows: list[list[str]]) -> str:
    """As the engine CSV writes slow_log.CSV."""

    def field(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return text if text.isdigit() else f'"{escaped}"'

    return "".join(",".join(map(field, row)) + "\n" for row in rows)


def of_rfc(rows: list[list[str]], separator: str) -> str:
    """As most clients write CSV."""

    def field(text: str) -> str:
        return f'"{text.replace(chr(34), 2 * chr(34))}"'

    return "".join(separator.join(map(field, row)) + "\r\n" for row in rows)


def tabbed(rows: list[list[str]]) -> str:
    """As `mysql --batch` prints it."""
    escaped = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
    return "".join("\t".join(each.translate(escaped) for each in row) + "\n" for row in rows)


def read(folder: Path, text: str) -> Log:
    (folder / "export").write_text(text)
    logs.require([folder / "export"])
    return logs.read([folder / "export"])


ENTRY = (
    "# Time: 2024-05-06T10:00:00.750000Z\n# User@Host: cook[cook] @ localhost []  Id:     8\n"
    "# Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 9\n"
    f"use shop;\nSET timestamp=1714989600;\n{SQL};"
)
AZURE = {
    "sql_text_s": SQL, "query_time_d": 0.25, "start_time_t [UTC]": "2024-05-06T10:00:00.5Z",
    "thread_id_s": "8", "user_host_s": HOST, "rows_sent_d": 1, "rows_examined_d": 9,
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        of_engine(ROWS),
        of_engine([[*row, "0"] for row in ROWS]),  # MariaDB's rows_affected
        of_rfc([NAMES, *ROWS], ","),
        of_rfc([[*map(str.upper, NAMES)], *ROWS], ";"),
        tabbed([NAMES, *ROWS]),
        tabbed(ROWS),
        of_rfc([NAMES, [*ROWS[0][:10], f"0x{SQL.encode().hex()}", "8"]], ","),
        json.dumps({"timestamp": 1, "message": ENTRY}) + "\n" + json.dumps({"message": ""}),
        json.dumps({"events": [{"message": f"{ENTRY}\n"}]}, indent=1),
        "".join(json.dumps({"textPayload": line}) + "\n" for line in ENTRY.split("\n")),
        json.dumps([{"category": "MySqlSlowLogs", "properties": AZURE}]),
        json.dumps({"records": [{"SqlText": SQL, "QueryDurationMs": 250, "StartTime": "2024-05-06 10:00:00.5",
                                 "ThreadId": 8, "RowsSent": 1, "RowsExamined": 9}]}),
    ],
)  # fmt: skip
def test_every_form_of_a_slow_log_says_the_same(text: str, tmp_path: Path) -> None:
    log = read(tmp_path, text)
    (template,) = log.templates
    assert template.sql == "SELECT ?, ? FROM pot WHERE id = ?"
    assert template.slots[0].top == ((b"x;y", 1),)
    assert (template.seconds, template.rows_sent, template.rows_examined) == (0.25, 1, 9)
    assert (log.kind, log.connections, log.left_out) == ("slow", 1, ())


def test_a_general_log_s_table_is_read(tmp_path: Path) -> None:
    row = ["2024-05-06 10:00:00.500000", HOST, "8", "1", "Query", SQL]
    names = ["event_time", "user_host", "thread_id", "server_id", "command_type", "argument"]
    for text in (of_engine([row]), tabbed([row]), of_rfc([names, row], ",")):
        log = read(tmp_path, text)
        assert (log.kind, [each.count for each in log.templates]) == ("general", [1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (of_engine([ROWS[0][:3]]), "expected the columns sql_text and query_time, event_time"),
        (tabbed([NAMES, ROWS[0][:3]]), "a row has 3 columns, expected 12"),
        (tabbed([NAMES, ["today", *ROWS[0][1:]]]), "expected a time, found 'today'"),
        (tabbed([NAMES, [*ROWS[0][:2], "long", *ROWS[0][3:]]]), "could not convert string to float: 'long'"),
        (json.dumps({"sql_text": "", "query_time": 1e300, "start_time": "2024-05-06"}), "as an exported"),
        ('{"message": "x"}\n{"mess\n', "cannot be read as an exported log"),
    ],
)  # fmt: skip
def test_other_exports_are_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)


DIGEST = {
    "SCHEMA_NAME": "shop",
    "DIGEST_TEXT": "SELECT SUM ( `a` ) FROM `t` WHERE `id` IN (...) AND `b` = ?",
    "COUNT_STAR": 4,
    "SUM_TIMER_WAIT": 2 * 10**12,
    "SUM_ROWS_EXAMINED": 12,
    "SUM_ROWS_SENT": 8,
}
SAMPLED = DIGEST | {"QUERY_SAMPLE_TEXT": "SELECT SUM(a) FROM t\nWHERE id IN (1, 2) AND b = 'x\ty'"}


def batch(*rows: dict[str, object]) -> str:
    cells = [["NULL" if value is None else str(value) for value in row.values()] for row in rows]
    return tabbed([list(rows[0]), *cells])


@pytest.mark.parametrize("form", ["array", "lines", "batch", "csv"])
def test_every_form_of_digests_says_the_same(tmp_path: Path, form: str) -> None:
    lower = {name.lower(): value for name, value in SAMPLED.items()}
    content = {
        "array": json.dumps([SAMPLED]),
        "lines": json.dumps(lower) + "\n",
        "batch": batch(SAMPLED),
        "csv": of_rfc([[*SAMPLED], [str(value) for value in SAMPLED.values()]], ";"),
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
    log = read(tmp_path, json.dumps([DIGEST | {"QUERY_SAMPLE_TEXT": sample}]))
    (template,) = log.templates
    assert template.sql == "SELECT SUM(`a`) FROM `t` WHERE `id` IN (?+) AND `b` = ?"
    assert [(slot.kind, slot.distinct, slot.sample) for slot in template.slots] == [("null", 0, ())] * 2


def test_what_has_no_whole_text_is_left_out(tmp_path: Path) -> None:
    others = DIGEST | {"SCHEMA_NAME": None, "DIGEST_TEXT": None, "COUNT_STAR": 7}
    cut = DIGEST | {"DIGEST_TEXT": "SELECT `a` FROM ..."}
    begin = DIGEST | {"DIGEST_TEXT": "BEGIN"}
    log = read(tmp_path, batch(others, cut, begin, DIGEST))
    assert [(left.reason, left.statements) for left in log.left_out] == [("digests without a whole text", 11)]
    assert (log.statements, len(log.templates), log.seconds) == (15, 1, 8.0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"DIGEST_TEXT": "SELECT ?"}]', "expected the columns sql_text"),
        (batch(DIGEST | {"COUNT_STAR": "many"}), "digests: expected a number, found 'many'"),
        (batch(DIGEST) + "SELECT\n", "a row has 1 columns, expected 6"),
        ('[1, "DIGEST_TEXT"]', "JSON without a log"),
        ('[{"DIGEST_TEXT"', "cannot be read as an exported log"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, content)
