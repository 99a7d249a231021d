"""The catalogue of statements: its programs by kind, and what a server makes of them.

PYTEST_DONT_REWRITE: as in tests.support.runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pymysql
import pytest
from msgspec import structs

from shootout.inputs import workload
from shootout.measure.plan import BoundWorkload
from shootout.model.plan import Profile
from shootout.model.program import Program
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import loaded

WORKLOADS = sorted(path.stem for path in workload.FOLDER.glob("statements_*.toml"))
SIMILAR = 3.0  # times as much of everything that the server counts
# Parts of a plan that depend on rows or costs, or are the server's own words for the statement.
_NUMBERS = re.compile(r"rows|cost|filtered|select_id|data_read|used_columns|condition|ref$|table_map|message")


def compiled_kinds(name: str) -> tuple[BoundWorkload, dict[str, Program]]:
    """A workload, and a program for each of its kinds: each is a step."""
    profile = Profile(description="", workloads=(name,), threads=(1,))
    bound = BoundWorkload.bind(name, name, workload.load(name), profile)
    (transaction,) = bound.program.transactions
    kinds = {}
    for step in transaction.steps:
        (kind,) = {bound.program.kinds[statement.kind].name for statement in step.statements}
        assert kind not in kinds
        alone = structs.replace(transaction, begin=False, steps=(structs.replace(step, repeat=1),))
        kinds[kind] = structs.replace(bound.program, transactions=(alone,))
    return bound, kinds


@dataclass(frozen=True)
class Seen:
    """A server's execution of a kind."""

    name: str
    shape: str  # its plan without numbers, and what the statement calls
    counts: Mapping[str, int]

    def resembles(self, other: Seen) -> bool:
        """Whether plan and functions are the same, and nothing is counted much more often."""
        pairs = [
            (self.counts.get(name, 0), other.counts.get(name, 0)) for name in {**self.counts, **other.counts}
        ]
        return self.shape == other.shape and all(max(pair) <= SIMILAR * min(pair) for pair in pairs)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    options = {"innodb-flush-log-at-trx-commit": "0", "skip-log-bin": "", "innodb-buffer-pool-size": "256M"}
    bound, _ = compiled_kinds(WORKLOADS[0])
    with loaded("mysql-8.0.33", tmp_path_factory.mktemp("server"), options, bound.dataset) as instance:
        instance.query("SET GLOBAL autocommit = 0")  # a savepoint needs a transaction
        yield instance


def plan(cursor: pymysql.cursors.Cursor, sql: str) -> object:
    cursor.execute(f"EXPLAIN FORMAT=JSON {sql}")
    ((text,),) = cursor.fetchall()
    return without_numbers(json.loads(text))


def without_numbers(node: object) -> object:
    match node:
        case dict():
            kept = {key: without_numbers(each) for key, each in node.items() if not _NUMBERS.search(key)}
            return kept | {key: True for key in node if "condition" in key}
        case list():
            return [without_numbers(each) for each in node]
    return node
