"""Compares the rows that servers return: the workloads' reads, as the engine sends them, on untouched data.

The base gets a number of transactions, and its general log gives the statements. Each server then starts with
a fresh copy of its data and answers the reads among them. Rows are compared in any order; inexact numbers to
six digits.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pymysql

from shootout._engine import LoadError
from shootout.document import journal
from shootout.errors import InputError, MeasureError, without_literals, without_values
from shootout.measure import managed
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.rounds import reason
from shootout.measure.statements import each_kind, is_answer, logged
from shootout.measure.workplace import workplace
from shootout.model.run import COMPARES, NOT_COMPARED, OTHER_ROWS, Observe, Progress, Warning
from shootout.servers.processes.instances import Instance

TRANSACTIONS = 50  # of each workload
PER_KIND = 20  # statements
DIGITS = 6
ANSWER_TIMEOUT_S = 120.0
_READ = re.compile(r"\s*(?:SELECT|WITH|\()", re.IGNORECASE)

Statements = Mapping[str, Mapping[str, Sequence[str]]]  # by workload and kind
Answer = Counter[tuple[object, ...]] | str  # rows, or the server's error
Answers = Mapping[tuple[str, str], Sequence[Answer]]  # by workload and kind


def checked(plan: Plan, observe: Observe) -> tuple[Plan, list[str]]:
    """Compare the servers' rows; return the plan with the outcome, and that in words. Raises InputError."""
    told: dict[str, list[Warning]] = {}  # of this alone
    try:
        for server, said in compared(plan, observe):
            told.setdefault(server, []).append(Warning(code=OTHER_ROWS, text=said))
    except MeasureError as error:
        told[plan.base] = [Warning(code=NOT_COMPARED, text=f"results are not compared: {error}")]
    together = {label: (*plan.told.get(label, ()), *told.get(label, ())) for label in {**plan.told, **told}}
    texts = [warning.text for warnings in told.values() for warning in warnings]
    return replace(plan, given={**plan.given, COMPARES: ""}, told=together), texts


def compared(plan: Plan, observe: Observe) -> tuple[tuple[str, str], ...]:
    """Name servers with each kind of other rows than the base's. Raises InputError and MeasureError."""
    for planned in plan.servers.values():
        if planned.reference.source == "dsn":
            raise InputError(f"{planned.reference.text}: {COMPARES} needs servers that shootout starts")
    labels = [label for label, server in plan.servers.items() if not server.absent]
    with workplace(journal.new_run(datetime.now(UTC)), plan.data) as (directory, held):
        servers = {label: ManagedServer.find(plan, label, None, held) for label in labels}
        base, *heads = labels
        observe(Progress(stage="prepare", detail=f"{base}: collecting statements"))
        with _started(servers[base], directory / "collecting", held) as instance:
            statements = dict(_captured(plan, instance))
        answers: dict[str, Answers] = {}
        for number, (label, server) in enumerate(servers.items()):
            observe(Progress(stage="prepare", detail=f"{label}: comparing results"))
            with _started(server, directory / str(number), held) as instance:
                answers[label] = dict(_answers(plan, instance, statements))
    return tuple(itertools.chain(*(differences(base, head, answers[base], answers[head]) for head in heads)))


@contextmanager
def _started(server: ManagedServer, home: Path, held: ExitStack) -> Iterator[Instance]:
    instance = server.start(server.load(held), home, ())
    try:
        yield instance
    finally:
        instance.kill()


def _captured(plan: Plan, instance: Instance) -> Iterator[tuple[str, dict[str, list[str]]]]:
    for name, bound in plan.workloads.items():
        hooks = Hooks(instance, bound.workload, bound.dataset)
        hooks.set_up(1)
        engine = managed.engine(bound.program, hooks.schema, instance, plan.seed)
        number = managed.connect(engine, instance, hooks.schema, 1)
        try:
            sent = logged(instance, lambda: engine.count(number, TRANSACTIONS, ANSWER_TIMEOUT_S))  # noqa: B023
        except LoadError as error:
            raise MeasureError(reason(error) + instance.post_mortem()) from None
        reads: dict[str, list[str]] = {}
        for kind, sql in each_kind(bound.program, sent):
            of_kind = reads.setdefault(kind, [])
            if _READ.match(sql) and len(of_kind) < PER_KIND:
                of_kind.append(sql)
        yield name, reads


def _answers(
    plan: Plan, instance: Instance, statements: Statements
) -> Iterator[tuple[tuple[str, str], list[Answer]]]:
    for name, by_kind in statements.items():
        bound = plan.workloads[name]
        hooks = Hooks(instance, bound.workload, bound.dataset)
        hooks.set_up(1)
        with closing(instance.connect(database=hooks.schema)) as connection, connection.cursor() as cursor:
            for statement in bound.program.session:
                cursor.execute(statement)
            for kind, sent in by_kind.items():
                yield (name, kind), [_answer(cursor, sql) for sql in sent]


def _answer(cursor: pymysql.cursors.Cursor, sql: str) -> Answer:
    try:
        cursor.execute(sql)
        return Counter(tuple(map(_rounded, row)) for row in cursor.fetchall())
    except pymysql.Error as error:
        if not is_answer(error):
            raise MeasureError(f"{without_literals(sql)[:200]}: {without_values(str(error))}") from error
        return f"error {error.args[0]}"


def _rounded(value: object) -> object:
    """The value as it is compared: numbers without trailing zeros, inexact ones to so many digits."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def differences(base: str, head: str, of_base: Answers, of_head: Answers) -> Iterator[tuple[str, str]]:
    """Name the head with each kind to which it returns other rows. Raises MeasureError without any rows."""
    if all(isinstance(answer, str) for answer in itertools.chain(*of_base.values())):
        raise MeasureError(f"no statement returns rows on {base}; there is nothing to compare")
    for (workload, kind), expected in of_base.items():
        pairs = [*zip(expected, of_head[workload, kind], strict=True)]
        differing = [pair for pair in pairs if pair[0] != pair[1]]
        if differing:
            then, now = map(_size, differing[0])
            example = f"{now} instead of {then}" if now != then else f"{now} with other values"
            yield (
                head,
                f"{workload}, statement `{kind}`: {head} returns other rows than {base} in "
                f"{len(differing)} of {len(pairs)} executions; in the first, {example}",
            )


def _size(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer
    return "1 row" if answer.total() == 1 else f"{answer.total()} rows"
