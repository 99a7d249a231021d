"""Messages of shootout's own faults."""

from __future__ import annotations

import pytest

from shootout.errors import without_literals, without_values


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Duplicate entry 'bob' for key 't.PRIMARY'", "Duplicate entry '…' for key 't.PRIMARY'"),
        ("Duplicate entry 'a' for key 'b' for key 't.u'", "Duplicate entry '…' for key 't.u'"),
        (
            "(1064, \"You have an error; check the right syntax to use near 'bob'' x' at line 1\")",
            "(1064, \"You have an error; check the right syntax to use near '…' at line 1\")",
        ),
        ("Incorrect integer value: 'bob' for column 'n'", "Incorrect integer value: '…' for column 'n'"),
        ("Truncated incorrect DOUBLE value: 'bob'", "Truncated incorrect DOUBLE value: '…'"),
        ("BIGINT value is out of range in '(`t`.`n` - 5)'", "BIGINT value is out of range in '…'"),
        ("Data too long for column 'name' at row 1", "Data too long for column 'name' at row 1"),
        ("Table 'db.t' doesn't exist", "Table 'db.t' doesn't exist"),
    ],
)  # fmt: skip
def test_messages_keep_names_and_lose_values(message: str, expected: str) -> None:
    assert without_values(message) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT a1 FROM t2 WHERE b='x''y' AND c=-5 AND d=X'0aff' LIMIT 3",
            "SELECT a1 FROM t2 WHERE b=? AND c=? AND d=? LIMIT ?",
        ),
        (
            "-> Lookup on t using PRIMARY (id=42)  (cost=0.35 rows=1)",
            "-> Lookup on t using PRIMARY (id=?)  (cost=0.35 rows=1)",
        ),
        (
            '{"rows": 12, "cost": "1.5", "c": "(`s`.`1t`.`id` = 7)"}',
            '{"rows": 12, "cost": "1.5", "c": "(`s`.`1t`.`id` = ?)"}',
        ),
    ],
)  # fmt: skip
def test_statements_and_plans_lose_their_literals(text: str, expected: str) -> None:
    assert without_literals(text) == expected
