"""All settings that a profile can name: their meanings, and their options in each version of each family.

The first matching row applies. Source: the server's own `--verbose --help` for versions in the catalogue
(tests/nightly/settings/test_table.py), the manual's change history for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shootout.settings.innodb import INNODB
from shootout.settings.rows import MARIADB, MYSQL, ORACLE, PERCONA, V5_1, V5_5, V5_5_3, fixed, one
from shootout.settings.setting import Reading, Row, Setting, normalise, product, smallest

MIB = 2**20

_NO_STATEMENT_LIMIT = "no limit before 4.1.19 and 5.0.21"
_UTF8 = "utf8mb4 came with 5.5.3; utf8, with at most three bytes per character, replaces it"
_POOL = "pool-of-threads"
_PLUGIN, _SINCE = "thread_pool.so", (5, 5, 16)
# MySQL's thread pool is a plugin that not every server has. These rows follow those of versions with a pool.
_WITHOUT_POOL = (
    Row(since=_SINCE, families=MYSQL, lacks=f"MySQL has it in a plugin, {_PLUGIN}, which this server lacks"),
    Row(lacks="came with MariaDB 5.1, Percona Server 5.5.29, and a plugin for MySQL 5.5.16"),
)


def _query_cache(values: Sequence[str]) -> str:
    kind, size = (normalise(value) for value in values)
    return "0" if kind == "0" else size


# fmt: off
_MEMORY: Mapping[str, Setting] = {
    "buffer_pool_bytes": one(
        "bytes", "innodb-buffer-pool-size", "InnoDB's buffer pool, all instances together"
    ),
    "buffer_pool_of_data": Setting(
        "share", "the buffer pool as a share of the run's data: 0.25 is a quarter"
    ),
    "buffer_pool_instances": one(
        "number", "innodb-buffer-pool-instances",
        "parts of the buffer pool with separate locks; a pool below 1 GiB has one",
        *fixed("one buffer pool before 5.5", 1, before=V5_5),
        *fixed("one buffer pool since MariaDB 10.5", 1, since=(10, 5, 0), families=MARIADB),
        synonyms={"0": "1"},  # MariaDB 10.5 still has the variable
    ),
    "additional_mem_pool_bytes": one(
        "bytes", "innodb-additional-mem-pool-size",
        "InnoDB's memory for its dictionary, in versions that do not use the system's allocator",
        *fixed("the system's allocator since 5.7.4", since=(5, 7, 4), families=ORACLE),
        *fixed("the system's allocator since MariaDB 10.2", since=(10, 2, 2), families=MARIADB),
    ),
    "log_buffer_bytes": one("bytes", "innodb-log-buffer-size", "buffer of the redo log", step=MIB),
    "key_buffer_bytes": one("bytes", "key-buffer-size", "MyISAM's index cache", step=4096),
    "key_cache_segments": one(
        "number", "key-cache-segments", "parts of MyISAM's index cache with separate locks; 0: undivided",
        *fixed("only MariaDB divides the key cache", 0, families=ORACLE),
        *fixed("came with MariaDB 5.2", 0, before=(5, 2, 0)),
    ),
    "query_cache_bytes": Setting(
        "bytes", "cache of complete query results; 0: none",
        rows=(
            *fixed("no query cache since 8.0.3", 0, since=(8, 0, 3), families=ORACLE),
            Row({"query-cache-type": "0", "query-cache-size": "0"}, when=0),
            Row({"query-cache-type": "1", "query-cache-size": "{}"}),
        ),
        readings=(Reading(("query_cache_type", "query_cache_size"), _query_cache),),
        step=1024,
    ),
    "tmp_table_bytes": Setting(
        "bytes", "larger temporary tables go to disk",
        rows=(Row({"tmp-table-size": "{}", "max-heap-table-size": "{}"}),),
        readings=(Reading(("tmp_table_size", "max_heap_table_size"), smallest),),
        step=1024,
    ),
    "join_buffer_bytes": one("bytes", "join-buffer-size", "per join without an index", step=4096),
    "sort_buffer_bytes": one("bytes", "sort-buffer-size", "per sort", step=4096),
    "read_buffer_bytes": one("bytes", "read-buffer-size", "per sequential scan", step=4096),
    "read_rnd_buffer_bytes": one(
        "bytes", "read-rnd-buffer-size", "for reading rows in sorted order", step=4096
    ),
}

_DURABILITY: Mapping[str, Setting] = {
    "redo_capacity_bytes": Setting(
        "bytes", "InnoDB's redo log, all of its files together",
        rows=(
            Row({"innodb-redo-log-capacity": "{}"}, since=(8, 0, 30), families=ORACLE),
            # A single file; the number of files is still accepted, but ignored.
            Row({"innodb-log-file-size": "{}"}, since=(10, 5, 2), families=MARIADB),
            Row({"innodb-log-file-size": "{half}", "innodb-log-files-in-group": "2"}),
        ),
        readings=(
            Reading(("innodb_redo_log_capacity",)),
            Reading(("innodb_log_file_size", "innodb_log_files_in_group"), product),
            Reading(("innodb_log_file_size",)),
        ),
        step=2 * MIB, minimum=8 * MIB,
        in_files=True,  # with a different size, every start would write a new log
    ),
    "flush_log_at_trx_commit": one(
        "number", "innodb-flush-log-at-trx-commit",
        "where a commit is 1: on disk, 2: in the system's cache, 0: in the server; on disk within a second",
    ),
    "doublewrite": one(
        "switch", "innodb-doublewrite", "pages are written twice, so that torn ones can be repaired",
        *fixed("always on before 5.0.3", True, before=(5, 0, 3)),
        synonyms={"detect_and_recover": "ON"},  # its synonym since 8.0.30
    ),
    "flush_method": one(
        "text", "innodb-flush-method",
        "how data files are written; by default O_DIRECT in MySQL 8.4 and MariaDB 10.6, fsync before",
        Row(before=V5_5, when="fsync"),  # the default, under another name
        Row(since=(11, 0, 1), families=MARIADB, when="O_DIRECT"),  # the default; the option is deprecated
        Row(before=(5, 6, 7), when="O_DIRECT_NO_FSYNC", lacks="came with 5.6.7 and MariaDB 10.0"),
        synonyms={"": "fsync", "fdatasync": "fsync"},
        choices=("fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC"),
    ),
    "binary_log": one(
        "switch", "log-bin", "log of changes for replicas; on by default in MySQL 8.0",
        Row({"log-bin": "binlog", "server-id": "1"}, when=True),
        Row(before=V5_5, when=False),
        Row({"skip-log-bin": ""}, when=False),
        whole=True,
    ),
    "binlog_format": one(
        "text", "binlog-format", "format of the binary log",
        *fixed("only STATEMENT before 5.1.5", "STATEMENT", before=(5, 1, 5)),
        Row(since=(8, 0, 34), families=ORACLE, when="ROW"),  # the default; the option is deprecated
        choices=("ROW", "STATEMENT", "MIXED"),
    ),
    "sync_binlog": one(
        "number", "sync-binlog", "commits after which the binary log is synced; 0: left to the system"
    ),
    "binlog_row_image": one(
        "text", "binlog-row-image", "columns of a changed row in the binary log",
        *fixed("all columns before 5.6.2", "FULL", before=(5, 6, 2), families=ORACLE),
        *fixed("all columns before MariaDB 10.1.6", "FULL", before=(10, 1, 6), families=MARIADB),
        choices=("FULL", "MINIMAL", "NOBLOB"),
    ),
    "gtid": one(
        "switch", "gtid-mode", "transactions in the binary log have global ids; on by default in MySQL 9.5",
        *fixed("came with MySQL 5.6.9", False, before=(5, 6, 9), families=ORACLE),
        Row(
            {"gtid-mode": "ON", "enforce-gtid-consistency": "ON", "log-slave-updates": "1"},
            before=(5, 7, 5), families=ORACLE, when=True,
        ),
        Row({"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}, families=ORACLE, when=True),
        Row({"gtid-mode": "OFF"}, families=ORACLE, when=False),
        *fixed("came with MariaDB 10.0.2", False, before=(10, 0, 2), families=MARIADB),
        *fixed("always on since MariaDB 10.0.2", True, families=MARIADB),
        whole=True,
    ),
}

_SERVER: Mapping[str, Setting] = {
    "max_connections": one("number", "max-connections", "concurrent connections"),
    "back_log": one("number", "back-log", "connections that may wait for acceptance"),
    "open_files_limit": one(
        "number", "open-files-limit", "open files; a higher limit on the server satisfies it",
        at_least=True,
    ),
    "table_open_cache": one(
        "number", "table-open-cache", "open tables in the cache",
        Row({"table-cache": "{}"}, before=(5, 1, 3)),
        other_names=("table_cache",),
    ),
    "thread_cache": one("number", "thread-cache-size", "idle threads kept for new connections"),
    "max_prepared_stmt_count": one(
        "number", "max-prepared-stmt-count", "prepared statements of all connections together",
        Row(before=(4, 1, 19), lacks=_NO_STATEMENT_LIMIT),
        Row(since=(5, 0, 0), before=(5, 0, 21), lacks=_NO_STATEMENT_LIMIT),
    ),
    "skip_name_resolve": one(
        "switch", "skip-name-resolve", "no DNS lookups of client hosts",
        Row({"skip-name-resolve": ""}, when=True), Row(when=False), whole=True,
    ),
    "thread_handling": one(
        "text", "thread-handling", "how connections get threads",
        Row(when="one-thread-per-connection"),  # the default
        Row({"thread-handling": _POOL}, since=V5_1, families=MARIADB),
        Row({"thread-handling": _POOL}, since=(5, 5, 29), families=PERCONA),
        Row({"plugin-load": _PLUGIN}, since=_SINCE, before=(5, 6, 0), families=MYSQL, plugin=_PLUGIN),
        Row({"plugin-load-add": _PLUGIN}, since=(5, 6, 0), families=MYSQL, plugin=_PLUGIN),
        *_WITHOUT_POOL, whole=True, synonyms={"loaded-dynamically": _POOL},
        choices=("one-thread-per-connection", _POOL),
    ),
    "thread_pool_size": one(
        "number", "thread-pool-size", "thread groups in the pool",
        Row({"thread-pool-size": "{}"}, since=V5_1, families=MARIADB),
        Row({"thread-pool-size": "{}"}, since=(5, 5, 29), families=PERCONA),
        # `loose`: initialising the data directory does not load the plugin.
        Row({"loose-thread-pool-size": "{}"}, since=_SINCE, families=MYSQL, plugin=_PLUGIN),
        *_WITHOUT_POOL, whole=True,
    ),
    "thread_pool_max_threads": one(
        "number", "thread-pool-max-threads", "maximum number of threads in the pool",
        Row({"thread-pool-max-threads": "{}"}, since=(5, 5, 0), families=MARIADB),
        Row({"thread-pool-max-threads": "{}"}, since=(5, 5, 29), families=PERCONA),
        Row(since=_SINCE, families=MYSQL, plugin=_PLUGIN, lacks="MySQL's plugin has no such limit"),
        *_WITHOUT_POOL, whole=True,
    ),
    "thread_pool_high_prio_mode": Setting(
        "text", "statements with priority in the pool: those of open transactions, all, or none",
        rows=(
            Row({"thread-pool-priority": "auto"}, since=(10, 2, 2), families=MARIADB, when="transactions"),
            Row(families=MARIADB, lacks="MariaDB has only transactions, since 10.2"),
            Row({"thread-pool-high-prio-mode": "{}"}, since=(5, 6, 15), families=PERCONA),
            Row({"thread-pool-high-prio-mode": "{}"}, since=(5, 5, 35), before=(5, 6, 0), families=PERCONA),
            Row(families=PERCONA, lacks="came with Percona Server 5.5.35 and 5.6.15"),
            Row(since=_SINCE, families=MYSQL, plugin=_PLUGIN, when="transactions"),
            Row(since=_SINCE, families=MYSQL, plugin=_PLUGIN, lacks="MySQL's plugin has no such mode"),
            *_WITHOUT_POOL,
        ),
        readings=(
            Reading(("thread_pool_high_prio_mode",)),
            Reading(("thread_pool_priority",), synonyms={"auto": "transactions"}),
        ),
        choices=("transactions", "statements", "none"),
    ),
    "performance_schema": one(
        "switch", "performance-schema", "the Performance Schema; on by default in MySQL 5.6",
        *fixed("came with 5.5.3", False, before=V5_5_3),
    ),
    "isolation": one(
        "text", "transaction-isolation", "transaction isolation level",
        other_names=("tx_isolation",),
        choices=("READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"),
    ),
    "character_set": one(
        "text", "character-set-server", "character set of new tables",
        Row({"character-set-server": "utf8"}, before=V5_5_3, when="utf8mb4", lacks=_UTF8),
        in_files=True,
    ),
    "collation": one(
        "text", "collation-server", "collation of new tables",
        *(
            Row({"collation-server": f"utf8_{tail}"}, before=V5_5_3, when=f"utf8mb4_{tail}", lacks=_UTF8)
            for tail in ("bin", "general_ci", "unicode_ci")
        ),
        Row(before=V5_5_3, when="utf8mb4_*", lacks="came with 5.5.3"),
        Row(before=(8, 0, 1), families=ORACLE, when="utf8mb4_0900_*", lacks="came with MySQL 8.0"),
        Row(families=MARIADB, when="utf8mb4_0900_*", lacks="a collation of MySQL"),
        Row(families=ORACLE, when="*uca1400_*", lacks="a collation of MariaDB"),
        Row(before=(10, 10, 1), when="*uca1400_*", lacks="came with MariaDB 10.10"),
        in_files=True,
    ),
    "default_storage_engine": one(
        "text", "default-storage-engine",
        "storage engine of tables without ENGINE; MyISAM by default before 5.5.5",
        other_names=("storage_engine",),
        in_files=True,
    ),
}

# fmt: on
SETTINGS: Mapping[str, Setting] = {**_MEMORY, **_DURABILITY, **INNODB, **_SERVER}

# Variables without a setting that may explain differences between servers; always recorded.
NOTABLE = (
    "default_authentication_plugin", "innodb_autoextend_increment", "innodb_buffer_pool_chunk_size",
    "innodb_deadlock_detect", "innodb_fill_factor", "innodb_log_writer_threads", "innodb_lru_scan_depth",
    "innodb_spin_wait_delay", "innodb_stats_persistent", "innodb_sync_spin_loops",
    "innodb_undo_tablespaces", "innodb_version", "internal_tmp_mem_storage_engine", "optimizer_switch",
    "sql_mode", "table_definition_cache", "table_open_cache_instances",
)  # fmt: skip

# The differences to try first when a server got slower, those that cost most in published comparisons first.
SUSPECTED = (
    "innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_flush_method", "innodb_doublewrite",
    "gtid_mode", "performance_schema", "innodb_buffer_pool_size", "innodb_adaptive_hash_index",
    "query_cache_type", "innodb_change_buffering", "innodb_io_capacity", "innodb_purge_threads",
    "innodb_log_writer_threads", "binlog_row_image", "internal_tmp_mem_storage_engine",
    "transaction_isolation",
)  # fmt: skip

# Settings that only writes can feel: flushing, logs and their writers, the doublewrite buffer.
FOR_WRITES = frozenset((
    "binlog_row_image", "gtid_mode", "innodb_change_buffering", "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_flush_neighbors",
    "innodb_io_capacity", "innodb_io_capacity_max", "innodb_log_buffer_size", "innodb_log_file_size",
    "innodb_log_writer_threads", "innodb_max_dirty_pages_pct", "innodb_page_cleaners",
    "innodb_purge_threads", "innodb_redo_log_capacity", "innodb_write_io_threads", "log_bin",
    "sync_binlog",
))  # fmt: skip

# Settings whose cost is time that instructions do not show.
BY_TIME = FOR_WRITES | {"innodb_buffer_pool_size", "innodb_read_io_threads", "innodb_use_native_aio"}

# Settings that plans depend on.
PLANNING = (
    "optimizer_switch", "innodb_stats_persistent", "innodb_stats_persistent_sample_pages",
    "innodb_stats_transient_sample_pages", "innodb_stats_method", "eq_range_index_dive_limit",
    "range_optimizer_max_mem_size", "optimizer_search_depth", "optimizer_prune_level",
    "optimizer_use_condition_selectivity", "use_stat_tables", "max_seeks_for_key", "join_cache_level",
    "join_buffer_size", "sort_buffer_size", "collation_server", "character_set_server",
)  # fmt: skip

# Variables without a setting that newer versions call otherwise.
RENAMED = {
    "innodb_undo_logs": "innodb_rollback_segments", "log_slow_queries": "slow_query_log",
    "max_statement_time": "max_execution_time", "myisam_recover": "myisam_recover_options",
    "sql_big_tables": "big_tables", "sql_low_priority_updates": "low_priority_updates",
    "sql_max_join_size": "max_join_size", "tx_read_only": "transaction_read_only",
}  # fmt: skip


def title(name: str, variables: Sequence[str] = ()) -> str:
    """Name a setting as a server does: by these variables, or by those that it is first known by."""
    readings = SETTINGS[name].readings if name in SETTINGS else ()
    return " and ".join(variables or (readings[0].variables if readings else (name,)))
