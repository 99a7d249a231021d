"""A workload's statements, as the engine sends them."""

from __future__ import annotations

import pytest
from msgspec import structs

from shootout.inputs import workload
from shootout.inputs.workload import CLOSED_LOOP
from shootout.measure import statements
from shootout.model.plan import DatasetSize

SENT = {
    "simple_range": "SELECT c FROM sbtest2 WHERE id BETWEEN 7 AND 106",
    "insert": "INSERT INTO sbtest1 (id, k, c, pad) VALUES (7, 8, 'it''s, AND', NULL)",
}


@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_prepared_statements_have_their_values_beside_them(protocol: str) -> None:
    loaded = workload.load("oltp_read_write")
    dataset = workload.dataset_of(loaded, DatasetSize(tables=2, rows=100), "oltp_read_write")
    load = structs.replace(CLOSED_LOOP, protocol=protocol)
    program = workload.compile_program("oltp_read_write", loaded, dataset, load)
    expected = {
        "simple_range": ("SELECT c FROM sbtest2 WHERE id BETWEEN ? AND ?", ("7", "106")),
        "insert": (
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            ("7", "8", "'it''s, AND'", "NULL"),
        ),
    }
    assert statements.prepared(program, SENT) == (expected if protocol == "prepared" else {})
