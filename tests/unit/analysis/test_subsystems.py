"""The parts of a server that functions belong to."""

from __future__ import annotations

import pytest

from shootout.analysis import subsystems


@pytest.mark.parametrize(
    ("function", "part"),
    [
        ("row_search_mvcc", "InnoDB"),
        ("ha_innobase::index_read", "InnoDB"),
        ("MYSQLparse", "the parser"),
        ("my_sql_parser_parse", "the parser"),
        ("PT_select_stmt::make_cmd", "the parser"),
        ("JOIN::optimize", "the optimiser"),
        ("Item_func_eq::val_int", "the executor"),
        ("Protocol_classic::end_row", "the network"),
        ("pfs_start_stage_v1", "performance_schema"),
        ("pfs_rw_lock_s_lock_func", "performance_schema"),
        ("start_mutex_wait_v1", "performance_schema"),
        ("alloc_root", "memory"),
        ("operator new", "memory"),
        ("malloc [libc.so]", "memory"),
        ("MDL_context::acquire_lock", "locks on tables"),
        ("MYSQL_BIN_LOG::commit", "the binary log"),
        ("memcpy [libc.so]", "libraries"),
        ("row_search [libother.so]", "libraries"),
        ("tcp_sendmsg [kernel]", "the kernel"),
        ("[kernel]", "the kernel"),
        ("[mysqld]", "elsewhere in the server"),
        ("start_thread", "elsewhere in the server"),
    ],
)
def test_functions_have_their_part(function: str, part: str) -> None:
    assert subsystems.subsystem_of(function) == part
    assert part in subsystems.ALL
