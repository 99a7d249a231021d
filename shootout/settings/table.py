"""All settings that a profile can name: their meanings, and their options in each version of each family.

A new version, family or setting needs a row here; the first matching row applies. Source: the server's own
`--verbose --help` for versions in the catalogue (tests/settings/test_table.py), the manual's change history
for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shootout.model.value import Family, Version
from shootout.settings.setting import Kind, Reading, Row, Setting, normalise, product, smallest, variable

MIB = 2**20

_MYSQL: tuple[Family, ...] = ("mysql",)
_PERCONA: tuple[Family, ...] = ("percona",)
_MARIADB: tuple[Family, ...] = ("mariadb",)
_ORACLE: tuple[Family, ...] = ("mysql", "percona")  # Percona Server's versions are those of MySQL

_ALWAYS: Version = (0, 0, 0)
_NEVER: Version = (1000, 0, 0)
_V5_1: Version = (5, 1, 0)  # Percona Server and MariaDB 5.1 introduced XtraDB, an extended InnoDB
_V5_5: Version = (5, 5, 4)  # the first version of MySQL's InnoDB with these options
_V5_5_3: Version = (5, 5, 3)  # utf8mb4 and the performance schema

_NO_STATEMENT_LIMIT = "no limit before 4.1.19 and 5.0.21"
_UTF8 = "utf8mb4 came with 5.5.3; utf8, with at most three bytes per character, replaces it"
_POOL = "pool-of-threads"
_PLUGIN = "thread_pool.so"
_NO_PLUGIN = f"MySQL has it in a plugin, {_PLUGIN}, which this server lacks"
_NO_POOL = "came with MariaDB 5.1, Percona Server 5.5.29, and a plugin for MySQL 5.5.16"


def _fixed(
    reason: str,
    *values: bool | int | str,
    since: Version = _ALWAYS,
    before: Version = _NEVER,
    families: tuple[Family, ...] = ("mysql", "percona", "mariadb"),
) -> tuple[Row, ...]:
    """Rows for versions without an option: they behave like `values` and lack all other values."""
    return (
        *(Row(since=since, before=before, families=families, when=value) for value in values),
        Row(since=since, before=before, families=families, lacks=reason),
    )


def _builtin(value: int | str, reason: str) -> tuple[Row, ...]:
    """Rows for MySQL's InnoDB before 5.5 and all families' before XtraDB: fixed at `value`."""
    return (
        *_fixed(f"{reason} in InnoDB of 5.0", value, before=_V5_1),
        *_fixed(f"{reason} in InnoDB of 5.1", value, before=_V5_5, families=_MYSQL),
    )


# MySQL's thread pool is a plugin that not every server has. These rows follow those of versions with a pool.
_WITHOUT_POOL = (Row(since=(5, 5, 16), families=_MYSQL, lacks=_NO_PLUGIN), Row(lacks=_NO_POOL))


def _plugin_lacks(reason: str) -> Row:
    return Row(since=(5, 5, 16), families=_MYSQL, plugin=_PLUGIN, lacks=reason)


def _one(
    kind: Kind,
    option: str,
    meaning: str,
    *rows: Row,
    synonyms: Mapping[str, str] | None = None,
    other_names: tuple[str, ...] = (),
    choices: tuple[str, ...] = (),
    step: int = 1,
    at_least: bool = False,
    in_files: bool = False,
) -> Setting:
    """A setting with one option and variable in all versions that have no row of their own."""
    return Setting(
        kind=kind,
        meaning=meaning,
        rows=(*rows, Row({option: "{}"})),
        readings=tuple(
            Reading((name,), synonyms=synonyms or {}) for name in (variable(option), *other_names)
        ),
        choices=choices,
        step=step,
        at_least=at_least,
        in_files=in_files,
    )


def _query_cache(values: Sequence[str]) -> str:
    """The cache's size from its type and size: 0 if it is off."""
    kind, size = (normalise(value) for value in values)
    return "0" if kind == "0" else size


_MEMORY: Mapping[str, Setting] = {
    "buffer_pool_bytes": _one(
        "bytes", "innodb-buffer-pool-size", "InnoDB's buffer pool, all instances together"
    ),
    "buffer_pool_of_data": Setting(
        "share", "the buffer pool as a share of the run's data: 0.25 is a quarter"
    ),
    "buffer_pool_instances": _one(
        "number",
        "innodb-buffer-pool-instances",
        "parts of the buffer pool with separate locks; a pool below 1 GiB has one",
        *_fixed("one buffer pool before 5.5", 1, before=_V5_5),
        *_fixed("one buffer pool since MariaDB 10.5", 1, since=(10, 5, 0), families=_MARIADB),
        synonyms={"0": "1"},  # MariaDB 10.5 still has the variable
    ),
    "additional_mem_pool_bytes": _one(
        "bytes",
        "innodb-additional-mem-pool-size",
        "InnoDB's memory for its dictionary, in versions that do not use the system's allocator",
        *_fixed("the system's allocator since 5.7.4", since=(5, 7, 4), families=_ORACLE),
        *_fixed("the system's allocator since MariaDB 10.2", since=(10, 2, 2), families=_MARIADB),
    ),
    "log_buffer_bytes": _one("bytes", "innodb-log-buffer-size", "buffer of the redo log", step=MIB),
    "key_buffer_bytes": _one("bytes", "key-buffer-size", "MyISAM's index cache", step=4096),
    "key_cache_segments": _one(
        "number",
        "key-cache-segments",
        "parts of MyISAM's index cache with separate locks; 0: undivided",
        *_fixed("only MariaDB divides the key cache", 0, families=_ORACLE),
        *_fixed("came with MariaDB 5.2", 0, before=(5, 2, 0)),
    ),
    "query_cache_bytes": Setting(
        "bytes",
        "cache of complete query results; 0: none",
        rows=(
            *_fixed("no query cache since 8.0.3", 0, since=(8, 0, 3), families=_ORACLE),
            Row({"query-cache-type": "0", "query-cache-size": "0"}, when=0),
            Row({"query-cache-type": "1", "query-cache-size": "{}"}),
        ),
        readings=(Reading(("query_cache_type", "query_cache_size"), _query_cache),),
        step=1024,
    ),
    "tmp_table_bytes": Setting(
        "bytes",
        "larger temporary tables go to disk",
        rows=(Row({"tmp-table-size": "{}", "max-heap-table-size": "{}"}),),
        readings=(Reading(("tmp_table_size", "max_heap_table_size"), smallest),),
        step=1024,
    ),
    "join_buffer_bytes": _one("bytes", "join-buffer-size", "per join without an index", step=4096),
    "sort_buffer_bytes": _one("bytes", "sort-buffer-size", "per sort", step=4096),
    "read_buffer_bytes": _one("bytes", "read-buffer-size", "per sequential scan", step=4096),
    "read_rnd_buffer_bytes": _one(
        "bytes", "read-rnd-buffer-size", "for reading rows in sorted order", step=4096
    ),
}

_DURABILITY: Mapping[str, Setting] = {
    "redo_capacity_bytes": Setting(
        "bytes",
        "InnoDB's redo log, all of its files together",
        rows=(
            Row({"innodb-redo-log-capacity": "{}"}, since=(8, 0, 30), families=_ORACLE),
            # A single file; the number of files is still accepted, but ignored.
            Row({"innodb-log-file-size": "{}"}, since=(10, 5, 2), families=_MARIADB),
            Row({"innodb-log-file-size": "{half}", "innodb-log-files-in-group": "2"}),
        ),
        readings=(
            Reading(("innodb_redo_log_capacity",)),
            Reading(("innodb_log_file_size", "innodb_log_files_in_group"), product),
            Reading(("innodb_log_file_size",)),
        ),
        step=2 * MIB,
        minimum=8 * MIB,
        in_files=True,  # with a different size, every start would write a new log
    ),
    "flush_log_at_trx_commit": _one(
        "number",
        "innodb-flush-log-at-trx-commit",
        "where a commit is 1: on disk, 2: in the system's cache, 0: in the server; on disk within a second",
    ),
    "doublewrite": _one(
        "switch",
        "innodb-doublewrite",
        "pages are written twice, so that torn ones can be repaired",
        *_fixed("always on before 5.0.3", True, before=(5, 0, 3)),
        synonyms={"detect_and_recover": "ON"},  # its synonym since 8.0.30
    ),
    "flush_method": _one(
        "text",
        "innodb-flush-method",
        "how data files are written; by default O_DIRECT in MySQL 8.4 and MariaDB 10.6, fsync before",
        Row(before=_V5_5, when="fsync"),  # the default, under another name
        Row(since=(11, 0, 1), families=_MARIADB, when="O_DIRECT"),  # the default; the option is deprecated
        Row(before=(5, 6, 7), when="O_DIRECT_NO_FSYNC", lacks="came with 5.6.7 and MariaDB 10.0"),
        synonyms={"": "fsync", "fdatasync": "fsync"},
        choices=("fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC"),
    ),
    "binary_log": Setting(
        "switch",
        "log of changes for replicas; on by default in MySQL 8.0",
        rows=(
            Row({"log-bin": "binlog", "server-id": "1"}, when=True),
            Row(before=_V5_5, when=False),
            Row({"skip-log-bin": ""}, when=False),
        ),
        readings=(Reading(("log_bin",)),),
    ),
    "binlog_format": _one(
        "text",
        "binlog-format",
        "format of the binary log",
        *_fixed("only STATEMENT before 5.1.5", "STATEMENT", before=(5, 1, 5)),
        Row(since=(8, 0, 34), families=_ORACLE, when="ROW"),  # the default; the option is deprecated
        choices=("ROW", "STATEMENT", "MIXED"),
    ),
    "sync_binlog": _one(
        "number", "sync-binlog", "commits after which the binary log is synced; 0: left to the system"
    ),
    "binlog_row_image": _one(
        "text",
        "binlog-row-image",
        "columns of a changed row in the binary log",
        *_fixed("all columns before 5.6.2", "FULL", before=(5, 6, 2), families=_ORACLE),
        *_fixed("all columns before MariaDB 10.1.6", "FULL", before=(10, 1, 6), families=_MARIADB),
        choices=("FULL", "MINIMAL", "NOBLOB"),
    ),
    "gtid": Setting(
        "switch",
        "transactions in the binary log have global ids; on by default in MySQL 9.5",
        rows=(
            *_fixed("came with MySQL 5.6.9", False, before=(5, 6, 9), families=_ORACLE),
            Row(
                {"gtid-mode": "ON", "enforce-gtid-consistency": "ON", "log-slave-updates": "1"},
                before=(5, 7, 5),
                families=_ORACLE,
                when=True,
            ),
            Row({"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}, families=_ORACLE, when=True),
            Row({"gtid-mode": "OFF"}, families=_ORACLE, when=False),
            *_fixed("came with MariaDB 10.0.2", False, before=(10, 0, 2), families=_MARIADB),
            *_fixed("always on since MariaDB 10.0.2", True, families=_MARIADB),
        ),
        readings=(Reading(("gtid_mode",)),),
    ),
}

_INNODB: Mapping[str, Setting] = {
    "page_bytes": _one(
        "bytes",
        "innodb-page-size",
        "size of InnoDB's pages",
        *_fixed("16 KiB before 5.6.4", 16_384, before=(5, 6, 4)),
        in_files=True,
    ),
    "file_per_table": _one(
        "switch",
        "innodb-file-per-table",
        "each InnoDB table has its own file; off by default before 5.6.6 and MariaDB 10.0",
        Row(since=(11, 0, 1), families=_MARIADB, when=True),  # the default; the option is deprecated
        in_files=True,
    ),
    "adaptive_hash_index": _one(
        "switch",
        "innodb-adaptive-hash-index",
        "InnoDB's hash index of frequent lookups; off by default in MySQL 8.4 and MariaDB 10.5",
        *_fixed("always on before 5.0.52", True, before=(5, 0, 52)),
    ),
    "page_checksums": Setting(
        "text",
        "checksums of pages, checked when one is read; crc32 by default in MySQL 5.7 and MariaDB 10.2",
        rows=(
            *_fixed("always innodb before 5.0.3", "innodb", before=(5, 0, 3)),
            *(
                Row({option: "0"} if option else {}, before=before, families=families, when=value)
                for before, families in (((5, 6, 3), _ORACLE), ((10, 0, 0), _MARIADB))
                for value, option in (("innodb", ""), ("none", "innodb-checksums"))
            ),
            Row(before=(5, 6, 3), lacks="crc32 came with MySQL 5.6.3 and MariaDB 10.0"),
            Row(since=(10, 6, 0), families=_MARIADB, when="innodb", lacks="only crc32 since MariaDB 10.6"),
            Row(since=(10, 6, 0), families=_MARIADB, when="none", lacks="only crc32 since MariaDB 10.6"),
            Row({"innodb-checksum-algorithm": "{}"}),
        ),
        readings=(
            Reading(
                ("innodb_checksum_algorithm",),
                synonyms={
                    "full_crc32": "crc32",
                    **{f"strict_{name}": name for name in ("crc32", "innodb", "none")},
                },
            ),
            Reading(("innodb_checksums",), synonyms={"1": "innodb", "0": "none"}),
        ),
        choices=("crc32", "innodb", "none"),
        in_files=True,  # MariaDB's full_crc32 stays as a table was made
    ),
    "change_buffering": _one(
        "text",
        "innodb-change-buffering",
        "changes of secondary indexes that are buffered until the page is read; by default none in MySQL 8.4,"
        " all in others",
        *_builtin("inserts", "only inserts"),
        Row({"innodb-change-buffering": "{}"}, before=_V5_5, when="inserts"),
        Row({"innodb-change-buffering": "{}"}, before=_V5_5, when="none"),
        Row(before=_V5_5, lacks="only inserts or none before 5.5"),
        *_fixed("no change buffer since MariaDB 11.0", "none", since=(11, 0, 0), families=_MARIADB),
        choices=("none", "inserts", "deletes", "changes", "purges", "all"),
    ),
    "io_capacity": _one(
        "number",
        "innodb-io-capacity",
        "writes per second that InnoDB's background work may assume",
        *_builtin(100, "100"),
    ),
    "io_capacity_max": _one(
        "number",
        "innodb-io-capacity-max",
        "the same while flushing lags behind",
        *_fixed("came with 5.6.6 and MariaDB 10.0", before=(5, 6, 6)),
    ),
    "flush_neighbors": Setting(
        "number",
        "a page is written 0: alone, 1: with adjacent dirty pages, 2: with all dirty pages of its extent",
        rows=(
            *_fixed("2 before 5.6.3", 2, before=_V5_1),
            *_fixed("2 before 5.6.3", 2, before=(5, 6, 3), families=_MYSQL),
            Row({"innodb-flush-neighbor-pages": "0"}, before=(5, 5, 19), when=0),
            Row({"innodb-flush-neighbor-pages": "1"}, before=(5, 5, 19), when=2),
            Row(before=(5, 5, 19), lacks="0 or 2 before 5.5.19"),
            Row({"innodb-flush-neighbor-pages": "none"}, before=(5, 6, 0), when=0),
            Row({"innodb-flush-neighbor-pages": "cont"}, before=(5, 6, 0), when=1),
            Row({"innodb-flush-neighbor-pages": "area"}, before=(5, 6, 0), when=2),
            Row({"innodb-flush-neighbors": "{}"}),
        ),
        readings=(
            Reading(("innodb_flush_neighbors",)),
            Reading(
                ("innodb_flush_neighbor_pages",), synonyms={"none": "0", "cont": "1", "area": "2", "1": "2"}
            ),
        ),
    ),
    "max_dirty_pages_pct": _one(
        "number", "innodb-max-dirty-pages-pct", "share of the buffer pool that may be dirty"
    ),
    "purge_threads": _one(
        "number",
        "innodb-purge-threads",
        "threads that remove old row versions",
        *_fixed("part of the master thread before 5.5", before=_V5_5),
        Row({"innodb-purge-threads": "1"}, before=(5, 6, 2), when=1),
        Row({"innodb-purge-threads": "1"}, before=(5, 6, 2), lacks="at most 1 before 5.6"),
    ),
    "page_cleaners": _one(
        "number",
        "innodb-page-cleaners",
        "threads that write dirty pages; at most one for each part of the buffer pool",
        *_fixed("one before MySQL 5.7.4", 1, before=(5, 7, 4), families=_ORACLE),
        *_fixed("one before MariaDB 10.2.2", 1, before=(10, 2, 2), families=_MARIADB),
        *_fixed("one since MariaDB 10.5.1", 1, since=(10, 5, 1), families=_MARIADB),
    ),
    "read_io_threads": _one(
        "number",
        "innodb-read-io-threads",
        "threads that complete reads",
        *_builtin(1, "1"),
    ),
    "write_io_threads": _one(
        "number",
        "innodb-write-io-threads",
        "threads that complete writes",
        Row(
            {"innodb-write-io-threads": "2"},
            since=(10, 5, 0),
            families=_MARIADB,
            when=1,
            lacks="at least 2 since MariaDB 10.5",
        ),
        *_builtin(1, "1"),
    ),
    "native_aio": _one(
        "switch",
        "innodb-use-native-aio",
        "the kernel's asynchronous I/O",
        *_fixed("simulated with threads before 5.5", False, before=_V5_5),
    ),
    "thread_concurrency": _one(
        "number",
        "innodb-thread-concurrency",
        "concurrent threads inside InnoDB; 0: no limit",
        Row({"innodb-thread-concurrency": "999"}, before=(5, 0, 19), when=0),  # 20 and more meant no limit
        *_fixed("no limit since MariaDB 10.5.5", 0, since=(10, 5, 5), families=_MARIADB),
        synonyms={"999": "0"},
    ),
    "autoinc_lock_mode": _one(
        "number",
        "innodb-autoinc-lock-mode",
        "auto-increment lock 0: per statement, 1: if the number of rows is unknown, 2: never",
        *_fixed("0 before 5.1.22", 0, before=(5, 1, 22)),
    ),
    "lock_wait_timeout_s": _one(
        "number", "innodb-lock-wait-timeout", "seconds that a statement waits for a row lock"
    ),
}

_SERVER: Mapping[str, Setting] = {
    "max_connections": _one("number", "max-connections", "concurrent connections"),
    "back_log": _one("number", "back-log", "connections that may wait for acceptance"),
    "open_files_limit": _one(
        "number",
        "open-files-limit",
        "open files; a higher limit on the server satisfies it",
        at_least=True,
    ),
    "table_open_cache": _one(
        "number",
        "table-open-cache",
        "open tables in the cache",
        Row({"table-cache": "{}"}, before=(5, 1, 3)),
        other_names=("table_cache",),
    ),
    "thread_cache": _one("number", "thread-cache-size", "idle threads kept for new connections"),
    "max_prepared_stmt_count": _one(
        "number",
        "max-prepared-stmt-count",
        "prepared statements of all connections together",
        Row(before=(4, 1, 19), lacks=_NO_STATEMENT_LIMIT),
        Row(since=(5, 0, 0), before=(5, 0, 21), lacks=_NO_STATEMENT_LIMIT),
    ),
    "skip_name_resolve": Setting(
        "switch",
        "no DNS lookups of client hosts",
        rows=(Row({"skip-name-resolve": ""}, when=True), Row(when=False)),
        readings=(Reading(("skip_name_resolve",)),),
    ),
    "thread_handling": Setting(
        "text",
        "how connections get threads",
        rows=(
            Row(when="one-thread-per-connection"),  # the default
            Row({"thread-handling": _POOL}, since=_V5_1, families=_MARIADB),
            Row({"thread-handling": _POOL}, since=(5, 5, 29), families=_PERCONA),
            Row(
                {"plugin-load": _PLUGIN},
                since=(5, 5, 16),
                before=(5, 6, 0),
                families=_MYSQL,
                plugin=_PLUGIN,
            ),
            Row({"plugin-load-add": _PLUGIN}, since=(5, 6, 0), families=_MYSQL, plugin=_PLUGIN),
            *_WITHOUT_POOL,
        ),
        readings=(Reading(("thread_handling",), synonyms={"loaded-dynamically": _POOL}),),
        choices=("one-thread-per-connection", _POOL),
    ),
    "thread_pool_size": Setting(
        "number",
        "thread groups in the pool",
        rows=(
            Row({"thread-pool-size": "{}"}, since=_V5_1, families=_MARIADB),
            Row({"thread-pool-size": "{}"}, since=(5, 5, 29), families=_PERCONA),
            # `loose`: initialising the data directory does not load the plugin.
            Row({"loose-thread-pool-size": "{}"}, since=(5, 5, 16), families=_MYSQL, plugin=_PLUGIN),
            *_WITHOUT_POOL,
        ),
        readings=(Reading(("thread_pool_size",)),),
    ),
    "thread_pool_max_threads": Setting(
        "number",
        "maximum number of threads in the pool",
        rows=(
            Row({"thread-pool-max-threads": "{}"}, since=(5, 5, 0), families=_MARIADB),
            Row({"thread-pool-max-threads": "{}"}, since=(5, 5, 29), families=_PERCONA),
            _plugin_lacks("MySQL's plugin has no such limit"),
            *_WITHOUT_POOL,
        ),
        readings=(Reading(("thread_pool_max_threads",)),),
    ),
    "thread_pool_high_prio_mode": Setting(
        "text",
        "statements with priority in the pool: those of open transactions, all, or none",
        rows=(
            Row({"thread-pool-priority": "auto"}, since=(10, 2, 2), families=_MARIADB, when="transactions"),
            Row(families=_MARIADB, lacks="MariaDB has only transactions, since 10.2"),
            Row({"thread-pool-high-prio-mode": "{}"}, since=(5, 6, 15), families=_PERCONA),
            Row(
                {"thread-pool-high-prio-mode": "{}"},
                since=(5, 5, 35),
                before=(5, 6, 0),
                families=_PERCONA,
            ),
            Row(families=_PERCONA, lacks="came with Percona Server 5.5.35 and 5.6.15"),
            Row(since=(5, 5, 16), families=_MYSQL, plugin=_PLUGIN, when="transactions"),
            _plugin_lacks("MySQL's plugin has no such mode"),
            *_WITHOUT_POOL,
        ),
        readings=(
            Reading(("thread_pool_high_prio_mode",)),
            Reading(("thread_pool_priority",), synonyms={"auto": "transactions"}),
        ),
        choices=("transactions", "statements", "none"),
    ),
    "performance_schema": _one(
        "switch",
        "performance-schema",
        "the Performance Schema; on by default in MySQL 5.6",
        *_fixed("came with 5.5.3", False, before=_V5_5_3),
    ),
    "isolation": _one(
        "text",
        "transaction-isolation",
        "transaction isolation level",
        other_names=("tx_isolation",),
        choices=("READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"),
    ),
    "character_set": _one(
        "text",
        "character-set-server",
        "character set of new tables",
        Row({"character-set-server": "utf8"}, before=_V5_5_3, when="utf8mb4", lacks=_UTF8),
        in_files=True,
    ),
    "collation": _one(
        "text",
        "collation-server",
        "collation of new tables",
        *(
            Row({"collation-server": f"utf8_{tail}"}, before=_V5_5_3, when=f"utf8mb4_{tail}", lacks=_UTF8)
            for tail in ("bin", "general_ci", "unicode_ci")
        ),
        Row(before=_V5_5_3, when="utf8mb4_*", lacks="came with 5.5.3"),
        Row(before=(8, 0, 1), families=_ORACLE, when="utf8mb4_0900_*", lacks="came with MySQL 8.0"),
        Row(families=_MARIADB, when="utf8mb4_0900_*", lacks="a collation of MySQL"),
        Row(families=_ORACLE, when="*uca1400_*", lacks="a collation of MariaDB"),
        Row(before=(10, 10, 1), when="*uca1400_*", lacks="came with MariaDB 10.10"),
        in_files=True,
    ),
    "default_storage_engine": _one(
        "text",
        "default-storage-engine",
        "storage engine of tables without ENGINE; MyISAM by default before 5.5.5",
        other_names=("storage_engine",),
        in_files=True,
    ),
}

SETTINGS: Mapping[str, Setting] = {**_MEMORY, **_DURABILITY, **_INNODB, **_SERVER}

# Variables without a setting that may explain differences between servers; always recorded.
NOTABLE = (
    "innodb_autoextend_increment",
    "innodb_buffer_pool_chunk_size",
    "innodb_deadlock_detect",
    "innodb_fill_factor",
    "innodb_log_writer_threads",
    "innodb_lru_scan_depth",
    "innodb_spin_wait_delay",
    "innodb_stats_persistent",
    "innodb_sync_spin_loops",
    "innodb_undo_tablespaces",
    "innodb_version",
    "table_definition_cache",
    "table_open_cache_instances",
)

# The differences to try first when a server got slower, those that cost most in published comparisons first.
SUSPECTED = (
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_flush_method",
    "innodb_doublewrite",
    "gtid_mode",
    "performance_schema",
    "innodb_buffer_pool_size",
    "innodb_adaptive_hash_index",
    "query_cache_type",
    "innodb_change_buffering",
    "innodb_io_capacity",
    "innodb_purge_threads",
    "innodb_log_writer_threads",
    "binlog_row_image",
    "transaction_isolation",
)
