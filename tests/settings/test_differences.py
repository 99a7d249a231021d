"""What two servers differ in."""

from __future__ import annotations

from shootout.model.run import SettingRecord
from shootout.settings import differences
from tests import builders


def a_setting(name: str, requested: str | None, effective: str) -> SettingRecord:
    return SettingRecord(name=name, requested=requested, effective=effective, differs=False)


def test_records_that_differ_are_told_apart_by_whether_anybody_asked() -> None:
    base = builders.a_server(
        "base",
        settings=(
            a_setting("adaptive_hash_index", None, "ON"),
            a_setting("max_connections", "5000", "5000"),
            a_setting("buffer_pool_bytes", "536870912", "536870912"),
            a_setting("page_cleaners", None, "1"),
        ),
    )
    head = builders.a_server(
        "head",
        settings=(
            a_setting("adaptive_hash_index", "OFF", "OFF"),
            a_setting("max_connections", "5000", "214"),
            a_setting("buffer_pool_bytes", "536870912", "536870912"),
            a_setting("page_cleaners", None, "1"),
        ),
    )
    assert differences.of_records(base, head) == (("adaptive_hash_index",), ("max_connections",))
    assert differences.of_records(base, base) == ((), ())


def test_places_and_names_of_a_server_are_no_difference() -> None:
    base = {"datadir": "/a", "log_bin_index": "a", "innodb_adaptive_hash_index": "ON", "server_uuid": "a"}
    head = {"datadir": "/b", "log_bin_index": "b", "innodb_adaptive_hash_index": "OFF", "server_uuid": "b"}
    (found,) = differences.differences(base, head)
    assert (found.name, found.base, found.head, found.notable) == (
        "innodb_adaptive_hash_index", "ON", "OFF", True,
    )  # fmt: skip
