"""What becomes of a my.cnf on a newer server."""

from __future__ import annotations

from shootout.upgrade import configuration
from shootout.upgrade.configuration import Probe

OPTIONS = {
    "query_cache_size": "16M",
    "innodb-log-file-size": "64M",
    "max_connections": "200",
    "tx_isolation": "READ-COMMITTED",
    "sql_mode": "NO_AUTO_CREATE_USER",
    "back_log": "90",
    "made_up": "1",
}
OLD = Probe(
    "5.7",
    {
        "query_cache_size": "16777216", "innodb_log_file_size": "67108864", "max_connections": "200",
        "tx_isolation": "READ-COMMITTED", "sql_mode": "NO_AUTO_CREATE_USER", "back_log": "90",
    },
    {},
)  # fmt: skip
NEW = Probe(
    "8.0",
    {
        "innodb_log_file_size": "67108864", "max_connections": "200", "sql_mode": "",
        "transaction_isolation": "READ-COMMITTED", "back_log": "200",
    },
    {"sql_mode": "no such mode"},
)  # fmt: skip


def test_options_that_are_removed_renamed_refused_or_read_otherwise_are_named() -> None:
    fates = tuple(configuration.fates(OPTIONS, OLD, NEW))
    lost = {fate.option: fate for fate in fates if not configuration.is_kept(fate)}
    assert [*lost] == ["query_cache_size", "tx_isolation", "sql_mode", "back_log"]
    assert lost["query_cache_size"].new is None
    assert lost["tx_isolation"].renamed == "transaction_isolation"
    assert lost["sql_mode"].refused == "no such mode"
    assert (lost["back_log"].old, lost["back_log"].new) == ("90", "200")
    given = configuration.migrated(OPTIONS, fates)
    assert "loose-transaction_isolation" in given
    assert "loose-sql_mode" not in given


def test_a_log_blames_an_option_by_name_or_by_value() -> None:
    log = (
        "2026-11-26T10:00:00Z 0 [ERROR] [MY-000077] [Server] /usr/sbin/mysqld: Error while setting value "
        "'NO_AUTO_CREATE_USER' to 'sql_mode'.\n"
        "2026-11-26T10:00:00Z 0 [Warning] [MY-000081] [Server] option 'back-log' is adjusted\n"
        "2026-11-26T10:00:00Z 0 [Note] max_connections is nice\n"
    )
    said = dict(configuration._said(log, OPTIONS))
    assert [*said] == ["sql_mode", "back_log"]
    assert said["sql_mode"].startswith("Error while setting value")
    assert "[Warning]" not in " ".join(configuration.warnings(log))
    assert len(configuration.warnings(log)) == 2
