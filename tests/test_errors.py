"""What shootout's own faults say."""

from __future__ import annotations

import pytest

from shootout.errors import without_values


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
