"""Managed servers: their records, their restarts, and the limits that refuse connections."""

from __future__ import annotations

import pytest

from shootout.measure import managed

pytest_plugins = ["tests.support.runs"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("Handler_read_key", True),
        ("Handler_read_rnd_next", False),  # of SHOW GLOBAL STATUS itself
        ("Innodb_data_fsyncs", True),
        ("Innodb_buffer_pool_pages_flushed", True),
        ("Innodb_buffer_pool_pages_free", False),
        ("Innodb_row_lock_current_waits", False),
        ("Threads_connected", False),
    ],
)
def test_gauges_and_what_reading_raises_are_not_counters(name: str, counts: bool) -> None:
    assert managed.is_counted(name) is counts
