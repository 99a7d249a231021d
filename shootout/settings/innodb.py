"""InnoDB's settings: pages, background work, locks. A part of the table (table.py)."""

from __future__ import annotations

from collections.abc import Mapping

from shootout.settings.rows import MARIADB, MYSQL, ORACLE, V5_1, V5_5, builtin, fixed, one
from shootout.settings.setting import Reading, Row, Setting

# fmt: off
INNODB: Mapping[str, Setting] = {
    "page_bytes": one(
        "bytes", "innodb-page-size", "size of InnoDB's pages",
        *fixed("16 KiB before 5.6.4", 16_384, before=(5, 6, 4)),
        in_files=True,
    ),
    "file_per_table": one(
        "switch", "innodb-file-per-table",
        "each InnoDB table has its own file; off by default before 5.6.6 and MariaDB 10.0",
        Row(since=(11, 0, 1), families=MARIADB, when=True),  # the default; the option is deprecated
        in_files=True,
    ),
    "adaptive_hash_index": one(
        "switch", "innodb-adaptive-hash-index",
        "InnoDB's hash index of frequent lookups; off by default in MySQL 8.4 and MariaDB 10.5",
        *fixed("always on before 5.0.52", True, before=(5, 0, 52)),
    ),
    "page_checksums": Setting(
        "text",
        "checksums of pages, checked when one is read; crc32 by default in MySQL 5.7 and MariaDB 10.2",
        rows=(
            *fixed("always innodb before 5.0.3", "innodb", before=(5, 0, 3)),
            *(
                Row({option: "0"} if option else {}, before=before, families=families, when=value)
                for before, families in (((5, 6, 3), ORACLE), ((10, 0, 0), MARIADB))
                for value, option in (("innodb", ""), ("none", "innodb-checksums"))
            ),
            Row(before=(5, 6, 3), lacks="crc32 came with MySQL 5.6.3 and MariaDB 10.0"),
            Row(since=(10, 6, 0), families=MARIADB, when="innodb", lacks="only crc32 since MariaDB 10.6"),
            Row(since=(10, 6, 0), families=MARIADB, when="none", lacks="only crc32 since MariaDB 10.6"),
            Row({"innodb-checksum-algorithm": "{}"}),
        ),
        readings=(
            Reading(
                ("innodb_checksum_algorithm",),
                synonyms={
                    "full_crc32": "crc32", **{f"strict_{name}": name for name in ("crc32", "innodb", "none")}
                },
            ),
            Reading(("innodb_checksums",), synonyms={"1": "innodb", "0": "none"}),
        ),
        choices=("crc32", "innodb", "none"),
        in_files=True,  # MariaDB's full_crc32 stays as a table was made
    ),
    "change_buffering": one(
        "text", "innodb-change-buffering",
        "changes of secondary indexes that are buffered until the page is read; by default none in MySQL 8.4,"
        " all in others",
        *builtin("inserts", "only inserts"),
        Row({"innodb-change-buffering": "{}"}, before=V5_5, when="inserts"),
        Row({"innodb-change-buffering": "{}"}, before=V5_5, when="none"),
        Row(before=V5_5, lacks="only inserts or none before 5.5"),
        *fixed("no change buffer since MariaDB 11.0", "none", since=(11, 0, 0), families=MARIADB),
        choices=("none", "inserts", "deletes", "changes", "purges", "all"),
    ),
    "io_capacity": one(
        "number", "innodb-io-capacity", "writes per second that InnoDB's background work may assume",
        *builtin(100, "100"),
    ),
    "io_capacity_max": one(
        "number", "innodb-io-capacity-max", "the same while flushing lags behind",
        *fixed("came with 5.6.6 and MariaDB 10.0", before=(5, 6, 6)),
    ),
    "flush_neighbors": Setting(
        "number",
        "a page is written 0: alone, 1: with adjacent dirty pages, 2: with all dirty pages of its extent",
        rows=(
            *fixed("2 before 5.6.3", 2, before=V5_1),
            *fixed("2 before 5.6.3", 2, before=(5, 6, 3), families=MYSQL),
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
    "max_dirty_pages_pct": one(
        "number", "innodb-max-dirty-pages-pct", "share of the buffer pool that may be dirty"
    ),
    "purge_threads": one(
        "number", "innodb-purge-threads", "threads that remove old row versions",
        *fixed("part of the master thread before 5.5", before=V5_5),
        Row({"innodb-purge-threads": "1"}, before=(5, 6, 2), when=1),
        Row({"innodb-purge-threads": "1"}, before=(5, 6, 2), lacks="at most 1 before 5.6"),
    ),
    "page_cleaners": one(
        "number", "innodb-page-cleaners",
        "threads that write dirty pages; at most one for each part of the buffer pool",
        *fixed("one before MySQL 5.7.4", 1, before=(5, 7, 4), families=ORACLE),
        *fixed("one before MariaDB 10.2.2", 1, before=(10, 2, 2), families=MARIADB),
        *fixed("one since MariaDB 10.5.1", 1, since=(10, 5, 1), families=MARIADB),
    ),
    "read_io_threads": one(
        "number", "innodb-read-io-threads", "threads that complete reads",
        *builtin(1, "1"),
    ),
    "write_io_threads": one(
        "number", "innodb-write-io-threads", "threads that complete writes",
        Row(
            {"innodb-write-io-threads": "2"}, since=(10, 5, 0), families=MARIADB, when=1,
            lacks="at least 2 since MariaDB 10.5",
        ),
        *builtin(1, "1"),
    ),
    "native_aio": one(
        "switch", "innodb-use-native-aio", "the kernel's asynchronous I/O",
        *fixed("simulated with threads before 5.5", False, before=V5_5),
    ),
    "thread_concurrency": one(
        "number", "innodb-thread-concurrency", "concurrent threads inside InnoDB; 0: no limit",
        Row({"innodb-thread-concurrency": "999"}, before=(5, 0, 19), when=0),  # 20 and more meant no limit
        *fixed("no limit since MariaDB 10.5.5", 0, since=(10, 5, 5), families=MARIADB),
        synonyms={"999": "0"},
    ),
    "autoinc_lock_mode": one(
        "number", "innodb-autoinc-lock-mode",
        "auto-increment lock 0: per statement, 1: if the number of rows is unknown, 2: never",
        *fixed("0 before 5.1.22", 0, before=(5, 1, 22)),
    ),
    "lock_wait_timeout_s": one(
        "number", "innodb-lock-wait-timeout", "seconds that a statement waits for a row lock"
    ),
}
