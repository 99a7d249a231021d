"""Explanations made up for tests, and folders of results that have one."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from shootout.document import journal
from shootout.explain.documents import EXPLANATIONS
from shootout.explain.values import CallTree, Explanation, Profile
from shootout.model.execution_plan import ExecutionPlan, PlanStep
from shootout.model.plan import Cell
from shootout.model.run import RunDocument, Samples
from tests.support import builders

CELL = builders.a_block("oltp_read_write", 8).cell(builders.HEAD)
# Call paths, and how many samples a start of base and head has on each.
PATHS = {
    ("start_thread", "do_command", "mysql_execute"): (200, 200),
    ("start_thread", "do_command", "mysql_execute", "row_search_mvcc"): (900, 1500),
    ("start_thread", "do_command", "mysql_execute", "row_search_mvcc", "memcpy [libc]"): (300, 300),
    ("start_thread", "do_command", "send", "tcp_sendmsg [kernel]"): (800, 800),
    ("start_thread", "do_command", "lex_one_token"): (100, 98),
    ("start_thread", "old_only"): (60, 0),
}
STARTS = 4
TRANSACTIONS = 10_000


def a_tree(paths: Iterable[tuple[str, ...]]) -> tuple[CallTree, dict[tuple[str, ...], int]]:
    """The tree of these call paths, and the node of each."""
    nodes: dict[tuple[str, ...], int] = {(): 0}
    functions: dict[str, int] = {}
    for path in paths:
        for depth in range(1, len(path) + 1):
            functions.setdefault(path[depth - 1], len(functions))
            nodes.setdefault(path[:depth], len(nodes))
    parents = (-1, *(nodes[path[:-1]] for path in nodes if path))
    function = (-1, *(functions[path[-1]] for path in nodes if path))
    return CallTree(functions=tuple(functions), parents=parents, function=function), nodes


def an_explanation(run: str = "20261120T024100Z-7f3a", cell: Cell = CELL) -> Explanation:
    """The head needs more for row_search_mvcc, and reads a table whole."""
    dice = random.Random(7)
    tree, nodes = a_tree(PATHS)
    profiles = []
    for start in range(1, STARTS + 1):
        for index, server in enumerate(("base", "head")):
            drawn = {
                nodes[path]: round(dice.gauss(each[index], each[index] ** 0.5))
                for path, each in PATHS.items()
            }
            drawn = {node: count for node, count in drawn.items() if count > 0}
            profiles.append(
                Profile(
                    start=start, server=server, transactions=TRANSACTIONS, cpu_s=sum(drawn.values()) / 500,
                    nodes=tuple(drawn), samples=tuple(drawn.values()),
                )
            )  # fmt: skip
    plans = [
        ExecutionPlan(
            start=1, server=server, kind="SELECT", sql="SELECT c FROM sbtest1 WHERE id = 7",
            steps=(
                PlanStep(
                    select="SIMPLE", table="sbtest1", access=access, key=key, key_length="", ref="",
                    extra=("Using where",),
                ),
            ),
            text=f"-> {access}",
            handlers={handler: rows},
        )
        for server, access, key, handler, rows in (
            ("base", "const", "PRIMARY", "Handler_read_key", 1.0),
            ("head", "ALL", "", "Handler_read_rnd_next", 10_000.0),
        )
    ]  # fmt: skip
    same = {"port": "3306", "innodb_buffer_pool_size": "67108864", "performance_schema": "ON"}
    return Explanation(
        format=2, run=run, cell=cell, base=builders.BASE, document="20261121T024100Z-7f3a.jsonl",
        profiler="cpu-clock", not_profiled="", tree=tree, profiles=tuple(profiles), plans=tuple(plans),
        variables={
            "base": same | {"sync_binlog": "0", "only_here": "", "back_log": "80"},
            "head": same | {"sync_binlog": "1", "performance_schema": "OFF", "back_log": "151"},
        },
    )  # fmt: skip


def profiled() -> RunDocument:
    """The profiled starts' run document."""
    header = builders.a_header(["base", "head"], ["oltp_read_write"], [8], run="20261121T024100Z-7f3a")
    digests = {"oltp_read_write": "d"}
    header = structs.replace(header, workloads=(builders.a_record("oltp_read_write"),), digests=digests)
    document = builders.a_run(header, failing=False)
    starts = (
        structs.replace(start, samples=tuple(map(_with_kinds, start.samples))) for start in document.starts
    )
    return structs.replace(document, starts=tuple(starts))


def _with_kinds(samples: Samples) -> Samples:
    return structs.replace(
        samples, statements=dict.fromkeys(("begin", "SELECT", "INSERT"), samples.latencies)
    )


def written(results: Path, explanation: Explanation) -> Path:
    """Write an explanation and its run document; returns the explanation's file."""
    path = EXPLANATIONS.replace(results, explanation)
    (path.parent / explanation.document).write_bytes(journal.encoded(profiled()))
    return path
