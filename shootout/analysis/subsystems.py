"""The part of a server that a function belongs to, by the naming habits of MySQL's and MariaDB's sources."""

from __future__ import annotations

import re

from shootout.analysis.function_names import PROGRAMS

KERNEL, LIBRARIES, OTHER, MEMORY = "the kernel", "libraries", "elsewhere in the server", "memory"

# Beginnings of names. The first part that matches has the function: performance_schema wraps locks and
# files, the parser allocates.
_BEGINNINGS = {
    "performance_schema": r"pfs_ PFS_ (start|end|[gs]et)_\w+_v\d digest_ \w+_digest",
    MEMORY: r"""malloc calloc realloc free\b cfree _int_ my_malloc my_realloc my_free \w*alloc_root free_root
        reset_root multi_alloc MEM_ROOT Mem_root mem_(heap|alloc|area|strdup) ut_allocator operator\ new
        operator\ delete je_ tc_""",
    "the parser": r"MYSQLparse my_sql_parser_ MYSQLlex MARIADB lex_ Lex_ parse_ yy PT_ find_keyword",
    "locks on tables": r"MDL_ mdl_ thr_lock thr_multi mysql_(un)?lock lock_(tables|external)",
    "the binary log": r"MYSQL_BIN_LOG \w*[Bb]inlog THD::binlog Log_event \w+_log_event Gtid gtid rpl_",
    "InnoDB": r"""(row|btr|buf|lock|trx|mtr|log|page|rec|cmp|dict|fil|fsp|fseg|ibuf|os|que|read|ut|sync)_
        (mach|dtuple|data|dfield|eval|pars|srv|cur|flst|upd|lob|undo|redo|purge|rseg|recv|rw_lock)_
        ha_innobase innobase innodb Buf_ Log_ Page_ TTAS PolicyMutex ReadView MVCC TrxIn mtr_t trx_t ib_ ib::
        latch_ ssux_""",
    "the network": r"[Pp]rotocol net_ my_net vio_ Vio send_ store_lenenc do_command dispatch_command",
    "the optimiser": r"""JOIN:: make_join best_ choose_ greedy Opt optimi[sz]e SEL_ QUICK get_(key|mm|quick)
        get_best test_quick check_quick simplify remove_eq update_ref create_ref propagate substitute Cost_
        find_best calculate_(scan|condition)""",
    "the executor": r"""Item Field handler:: sub_select evaluate_join \w*Iterator [Ff]ilesort Query_block
        Query_expression (st_)?select_lex SELECT_LEX mysql_(execute|update|insert|delete|select|parse) Sql_cmd
        execute_ end_send rr_ join_ Prepared_statement Select_ fill_record write_record key_ Table_ TABLE
        open_ close_ setup_ my_(strnn|hash|charset|wc|utf8)""",
}
_PATTERNS = {part: re.compile("|".join(re.split(r"(?<!\\)\s+", text))) for part, text in _BEGINNINGS.items()}

ALL = (*_BEGINNINGS, OTHER, LIBRARIES, KERNEL)


def subsystem_of(function: str) -> str:
    """Find the one of `ALL` for a plain name, which ends with its module unless that is the program."""
    if function.endswith("[kernel]"):
        return KERNEL
    library = function.endswith("]") and function[1:-1] not in PROGRAMS
    for part, pattern in _PATTERNS.items():
        if pattern.match(function) and (not library or part == MEMORY):
            return part
    return LIBRARIES if library else OTHER
