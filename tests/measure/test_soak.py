"""What a soak reads of InnoDB's status, which versions word in their own ways."""

from __future__ import annotations

import pytest

from shootout.measure.soak import innodb_gauges

OF_5_0 = """
Log sequence number 1 84000620
Log flushed up to   1 84000611
Last checkpoint at  0 4294967000
Modified db pages  17
History list length 15
"""
OF_8_0 = """
Log sequence number          84000620
Log buffer assigned up to    84000620
Last checkpoint at           84000120
Modified db pages  17
History list length 0
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (OF_5_0, {"checkpoint_age": 84_000_620.0 + 296.0, "dirty_pages": 17.0, "history_list": 15.0}),
        (OF_8_0, {"checkpoint_age": 500.0, "dirty_pages": 17.0, "history_list": 0.0}),
        (OF_8_0.replace("Last checkpoint at", "Checkpoint"), {"dirty_pages": 17.0, "history_list": 0.0}),
        ("", {}),
    ],
)
def test_gauges_of_each_versions_status(text: str, found: dict[str, float]) -> None:
    assert innodb_gauges(text) == found
