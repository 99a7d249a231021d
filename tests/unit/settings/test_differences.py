"""Differences between two servers' settings."""

from __future__ import annotations

import pytest

from shootout.model.run import SettingRecord
from shootout.settings import differences
from shootout.settings.behaviours import Evidence
from tests.support import builders


def a_setting(name: str, requested: str | None, effective: str) -> SettingRecord:
    return SettingRecord(name=name, requested=requested, effective=effective, differs=False)


def test_records_that_differ_are_told_apart_by_whether_anybody_asked() -> None:
    same = (a_setting("buffer_pool_bytes", "536870912", "536870912"), a_setting("page_cleaners", None, "1"))
    before = (a_setting("adaptive_hash_index", None, "ON"), a_setting("max_connections", "5000", "5000"))
    now = (a_setting("adaptive_hash_index", "OFF", "OFF"), a_setting("max_connections", "5000", "214"))
    base = builders.a_server("base", settings=(*before, *same))
    head = builders.a_server("head", settings=(*now, *same))
    assert differences.of_records(base, head) == (("adaptive_hash_index",), ("max_connections",))
    assert differences.of_records(base, base) == ((), ())


def test_places_and_names_of_a_server_are_no_difference() -> None:
    base = {"datadir": "/a", "log_bin_index": "a", "innodb_adaptive_hash_index": "ON", "server_uuid": "a"}
    head = {"datadir": "/b", "log_bin_index": "b", "innodb_adaptive_hash_index": "OFF", "server_uuid": "b"}
    (found,) = differences.differences(base, head)
    assert (found.name, found.base, found.head, found.notable) == (
        "innodb_adaptive_hash_index", "ON", "OFF", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ({"tx_isolation": "REPEATABLE-READ"}, {"transaction_isolation": "REPEATABLE-READ"}),
        ({"tx_read_only": "OFF"}, {"transaction_read_only": "0"}),
        ({"slave_net_timeout": "60"}, {"replica_net_timeout": "60"}),
        ({"innodb_flush_method": ""}, {"innodb_flush_method": "fsync"}),
        ({"query_cache_type": "OFF", "query_cache_size": "1048576"}, {}),
        (
            {"innodb_checksums": "ON", "innodb_checksum_algorithm": "crc32"},
            {"innodb_checksum_algorithm": "crc32"},
        ),
    ],
)
def test_new_names_and_values_that_mean_the_same_differ_in_nothing(
    base: dict[str, str], head: dict[str, str]
) -> None:
    assert differences.differences(base, head) == []


def test_a_renamed_variable_that_differs_stands_once_by_its_new_name() -> None:
    before = {"tx_isolation": "REPEATABLE-READ", "slave_net_timeout": "60"}
    now = {"transaction_isolation": "READ-COMMITTED", "replica_net_timeout": "70"}
    found = differences.differences(before, now)
    assert [(each.name, each.base, each.head) for each in found] == [
        ("transaction_isolation", "REPEATABLE-READ", "READ-COMMITTED"),
        ("replica_net_timeout", "60", "70"),
    ]
    assert differences.suspects(found, planned=False, writes=False) == [
        "transaction_isolation=REPEATABLE-READ"
    ]


def test_no_plan_depends_on_modes_which_the_head_may_refuse() -> None:
    base, head = (
        {"sql_mode": "NO_AUTO_CREATE_USER", "join_buffer_size": "1"},
        {"sql_mode": "", "join_buffer_size": "2"},
    )
    found = differences.differences(base, head)
    assert {each.name for each in found} == {"sql_mode", "join_buffer_size"}
    assert differences.suspects(found, planned=True, writes=True) == ["join_buffer_size=1"]


def test_suspects_are_what_the_statements_can_feel_and_what_plans_depend_on_first() -> None:
    base = {
        "sync_binlog": "0", "performance_schema": "OFF", "sort_buffer_size": "1",
        "optimizer_switch": "mrr=on,hash_join=off,gone=on",
    }  # fmt: skip
    head = {
        "sync_binlog": "1", "performance_schema": "ON", "sort_buffer_size": "2",
        "optimizer_switch": "mrr=on,hash_join=on,new=on",
    }  # fmt: skip
    found = differences.differences(base, head)
    plans = ["optimizer_switch=hash_join=off", "sort_buffer_size=1"]
    assert differences.suspects(found, planned=False, writes=True) == [
        "sync_binlog=0",
        "performance_schema=OFF",
    ]
    assert differences.suspects(found, planned=False, writes=False) == ["performance_schema=OFF"]
    assert differences.suspects(found, planned=True, writes=False) == [*plans, "performance_schema=OFF"]


def evident(warning: str = "", plans: tuple[str, str] = ("", ""), planned: bool = True) -> list[str]:
    base = {"optimizer_switch": "mrr=on,block_nested_loop=on", "join_buffer_size": "1"}
    head = {
        "optimizer_switch": "mrr=on,block_nested_loop=on,derived_merge=on,rowid_filter=off",
        "join_buffer_size": "2", "sort_buffer_size": "1",
        "range_optimizer_max_mem_size": "8388608", "in_predicate_conversion_threshold": "1000",
    }  # fmt: skip
    found = differences.differences(base, head)
    evidence = Evidence((warning,) if warning else (), (plans,))
    return differences.suspects(found, planned=planned, writes=True, head=head, evidence=evidence)


def test_what_servers_point_at_is_suspected_first() -> None:
    size, threshold = "range_optimizer_max_mem_size=0", "in_predicate_conversion_threshold=0"
    assert evident(planned=False) == []
    warning = "Memory capacity for 'range_optimizer_max_mem_size' exceeded. Range optimization was not done."
    assert evident(warning, planned=False) == [size]
    assert evident(warning) == [size, threshold, "join_buffer_size=1"]
    assert evident(plans=("SIMPLE t", "PRIMARY <subquery2>"))[0] == threshold
    assert evident(plans=("", "Using join buffer (hash join)"))[0] == "optimizer_switch=block_nested_loop=off"
    assert evident(plans=("PRIMARY <derived2>", "SIMPLE t"))[0] == "optimizer_switch=derived_merge=off"
    assert not any("rowid_filter" in each for each in evident(plans=("", "Using rowid filter")))
    both = evident("sort-buffer-size and join-buffer-size are small", planned=False)
    assert both == ["join_buffer_size=1"]  # a value that both have is no suspect
