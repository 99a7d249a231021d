"""Requested settings held against a server's variables and its error log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from shootout.settings import profiles, readback
from shootout.settings.profiles import SettingsProfile


def own(options: Mapping[str, str]) -> profiles.Compiled:
    profile = SettingsProfile(name="own", options=dict(options))
    return profiles.compile(profile, "mysql", (8, 0, 12))


def test_requested_and_effective_are_held_against_each_other() -> None:
    requested = {
        "innodb-buffer-pool-size": "512M", "skip-log-bin": "", "skip_name_resolve": "",
        "innodb_log_group_home_dir": "redo/", "max-connections": "1000", "early-plugin-load": "x",
        "loose-thread_pool_size": "8",
    }  # fmt: skip
    effective = {
        "innodb_buffer_pool_size": "536870912", "log_bin": "OFF", "skip_name_resolve": "ON",
        "innodb_log_group_home_dir": "./redo", "max_connections": "214", "sync_binlog": "1",
    }  # fmt: skip
    records, warnings = readback.compare(own(requested), effective)
    by_name = {record.name: record for record in records}
    assert {name for name, record in by_name.items() if record.differs} == {
        "max_connections",
        "thread_pool_size",
    }
    assert by_name["buffer_pool_bytes"].requested == "536870912"
    assert by_name["early_plugin_load"].effective is None
    assert by_name["sync_binlog"].requested is None
    assert [warning.text for warning in warnings] == [
        "max_connections: requested 1000, the server has 214.",
        "thread_pool_size: requested 8, the server has nothing.",
    ]


def test_what_another_server_of_the_run_sets_is_recorded_too() -> None:
    compiled = replace(own({}), beside=frozenset({"table_open_cache", "unknown"}))
    effective = {"table_open_cache": "2000", "lower_case_table_names": "0"}
    (record,), _ = readback.compare(compiled, effective)
    assert (record.name, record.requested, record.effective) == ("table_open_cache", None, "2000")
    flush = "innodb_flush_log_at_trx_commit"
    records, _ = readback.compare(replace(own({}), beside=frozenset({flush})), {flush: "2"})
    assert [each.name for each in records] == ["flush_log_at_trx_commit"]


def test_the_binary_logs_name_is_not_its_variable() -> None:
    (record,), warnings = readback.compare(own({"log-bin": "binlog"}), {"log_bin": "ON"})
    assert not warnings
    assert (record.name, record.requested, record.differs) == ("binary_log", "ON", False)
    assert readback.compare(own({"log-bin": "binlog"}), {"log_bin": "OFF"})[1]


@pytest.mark.parametrize(
    ("variables", "effective"),
    [
        ({"innodb_log_file_size": "134217728", "innodb_log_files_in_group": "2"}, "268435456"),
        ({"innodb_redo_log_capacity": "268435456", "innodb_log_file_size": "50331648"}, "268435456"),
        ({"innodb_log_file_size": "268435456"}, "268435456"),
        ({"innodb_log_file_size": "268435456", "innodb_log_files_in_group": "1"}, "268435456"),
        ({"innodb_log_file_size": "134217728"}, "134217728"),
    ],
)
def test_redo_logs_are_compared_by_their_total(variables: dict[str, str], effective: str) -> None:
    compiled = profiles.compile(profiles.load("in-memory"), "mariadb", (10, 11, 5))
    records, warnings = readback.compare(compiled, variables)
    record = next(record for record in records if record.name == "redo_capacity_bytes")
    assert (record.requested, record.effective) == ("268435456", effective)
    assert record.differs == (effective != "268435456") == bool(warnings)


@pytest.mark.parametrize(
    ("setting", "variables", "fits"),
    [
        ("doublewrite = true", {"innodb_doublewrite": "DETECT_AND_RECOVER"}, True),
        ("doublewrite = true", {"innodb_doublewrite": "DETECT_ONLY"}, False),
        ('flush_method = "fsync"', {"innodb_flush_method": ""}, True),
        ('flush_method = "O_DIRECT"', {"innodb_flush_method": "fsync"}, False),
        ("flush_neighbors = 2", {"innodb_flush_neighbors": "2"}, True),
        ('isolation = "read-committed"', {"tx_isolation": "READ-COMMITTED"}, True),
        ('tmp_table_bytes = "1M"', {"tmp_table_size": "1048576", "max_heap_table_size": "16384"}, False),
        ("query_cache_bytes = 0", {"query_cache_type": "OFF", "query_cache_size": "1048576"}, True),
        ("open_files_limit = 8192", {"open_files_limit": "262144"}, True),
        ("open_files_limit = 8192", {"open_files_limit": "4096"}, False),
        ("max_dirty_pages_pct = 90", {"innodb_max_dirty_pages_pct": "90.000000"}, True),
        ("table_open_cache = 4000", {"table_open_cache": "431"}, False),
    ],
)
def test_what_each_version_calls_it_is_the_same(
    tmp_path: Path, setting: str, variables: dict[str, str], fits: bool
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"[settings]\n{setting}\n")
    compiled = profiles.compile(profiles.load(str(file)), "mysql", (5, 7, 22))
    _, warnings = readback.compare(compiled, variables)
    assert [warning.code for warning in warnings] == ([] if fits else ["settings-differ"])


@pytest.mark.parametrize(
    ("option", "value", "found", "fits"),
    [
        ("optimizer_switch", "'mrr=off,icp=ON'", "bka=off,icp=on,mrr=off", True),
        ("optimizer_switch", "mrr=off", "mrr=on,bka=off", False),
        ("sql_mode", "STRICT_ALL_TABLES, ANSI_QUOTES", "ANSI_QUOTES,STRICT_ALL_TABLES", True),
        ("sql_mode", "ANSI_QUOTES", "ANSI_QUOTES,STRICT_ALL_TABLES", False),
        ("sql-mode", '""', "", True),
        ("character-set-server", "utf8", "utf8mb3", True),
        ("collation-server", "utf8_bin", "utf8mb3_bin", True),
        ("character-set-server", "utf8", "utf8mb4", False),
    ],
)
def test_lists_and_flags_are_compared_by_their_parts(option: str, value: str, found: str, fits: bool) -> None:
    _, warnings = readback.compare(own({option: value}), {option.replace("-", "_"): found})
    assert [warning.code for warning in warnings] == ([] if fits else ["settings-differ"])


def test_what_nobody_asked_for_goes_by_the_same_names() -> None:
    defaults = profiles.compile(profiles.load("defaults"), "mysql", (5, 7, 22))
    variables = {
        "tx_isolation": "REPEATABLE-READ", "innodb_log_file_size": "50331648",
        "innodb_log_files_in_group": "2", "innodb_lru_scan_depth": "4", "datadir": "/var/lib/mysql",
    }  # fmt: skip
    records, warnings = readback.compare(defaults, variables)
    assert {record.name: record.effective for record in records} == {
        "isolation": "REPEATABLE-READ", "redo_capacity_bytes": "100663296", "innodb_lru_scan_depth": "4",
    }  # fmt: skip
    assert {record.variables for record in records} >= {("innodb_log_file_size", "innodb_log_files_in_group")}
    assert not any(record.requested or record.differs for record in records)
    assert not warnings


LOGS = """
141121 15:02:11 [Warning] The option innodb (skip-innodb) is deprecated and will be removed
141121 15:02:11 [Note] Server hostname (bind-address): '127.0.0.1'; innodb-flush-method is new
2026-11-21 15:02:11 0 [Warning] 'innodb-flush-method' was removed. It does nothing now
2026-11-21T15:02:11.1Z 0 [Warning] [MY-013907] [InnoDB] Deprecated: innodb_flush_method is going away.
2026-11-21T15:02:12.2Z 0 [Warning] [MY-013907] [InnoDB] Deprecated: innodb_flush_method is going away.
2026-11-21T15:02:12.2Z 0 [ERROR] [MY-000067] [Server] unknown variable 'loose-thread_pool_size=8'.
2026-11-21T15:02:12.2Z 0 [Warning] [MY-010068] [Server] CA certificate ca.pem is self signed.
2026-11-21 15:02:12 0 [Warning] 'proxies_priv' entry '@% root@vm' ignored in --skip-name-resolve mode.
"""


def test_what_a_server_says_of_its_options_is_passed_on() -> None:
    compiled = own({"innodb-flush-method": "fsync", "loose-thread_pool_size": "8", "skip-name-resolve": ""})
    warnings = readback.log_warnings(LOGS, compiled)
    assert [warning.text for warning in warnings] == [
        "The server says: 'innodb-flush-method' was removed. It does nothing now",
        "The server says: Deprecated: innodb_flush_method is going away.",
        "The server says: unknown variable 'loose-thread_pool_size=8'.",
    ]
    assert {warning.code for warning in warnings} == {"settings-told"}
    assert readback.log_warnings(LOGS, own({})) == ()
