"""Splits a workload into units to count: each kind of statement, and whole transactions. Pure.

A kind of statement is counted alone, by a program that sends nothing else. If the workload sends it inside of
a transaction, it is counted inside of an open one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from shootout.measure.plan import BoundWorkload
from shootout.model.program import Program, ProgramResult, ProgramStatement, ProgramStep, ProgramTransaction
from shootout.work.values import FRAME, JOINT, MIX, TRANSACTION, WorkKind

STATEMENTS = 50  # in a repetition, about
TRANSACTIONS_MIN = 10  # in a repetition


@dataclass(frozen=True)
class Unit:
    """A kind, and how it is counted."""

    kind: WorkKind
    program: Program
    open: bool = False  # inside of a transaction that nobody commits


def units(name: str, bound: BoundWorkload) -> tuple[Unit, ...]:
    """The kinds of a workload, the whole transaction last.

    Several transactions, and steps that need each other's results, are counted only as wholes.
    """
    program = bound.program
    if len(program.transactions) > 1:
        return _of_transactions(name, program)
    (transaction,) = program.transactions
    steps = [] if _entangled(program, transaction) else _of_steps(name, program, transaction)
    if len(steps) == 1 and transaction.steps[0].repeat == 1 and not transaction.begin:
        return tuple(steps)
    frame = _frame(name, program, transaction, steps) if transaction.begin and steps else ()
    whole = WorkKind(workload=name, name=TRANSACTION, per_transaction=1, units=_fitting(transaction))
    return (*steps, *frame, Unit(whole, program))


def kinds_of(counted: Sequence[Unit]) -> tuple[WorkKind, ...]:
    """A workload's kinds: those that are counted, and the sum of its parts before the whole transaction."""
    (*parts, whole) = (unit.kind for unit in counted)
    if len(parts) < 2:
        return *parts, whole
    times = {kind.name: kind.per_transaction for kind in parts}
    mix = WorkKind(workload=whole.workload, name=MIX, per_transaction=1, units=1, sums=times)
    return *parts, mix, whole


def _of_steps(name: str, program: Program, transaction: ProgramTransaction) -> list[Unit]:
    """Each step as a kind of its own; its statements need each other."""
    steps = []
    for step in transaction.steps:
        names = dict.fromkeys(program.kinds[statement.kind].name for statement in step.statements)
        alone = ProgramTransaction(weight=1, begin=False, steps=(structs.replace(step, repeat=1),))
        kind = WorkKind(
            workload=name,
            name=JOINT.join(names),
            per_transaction=step.repeat,
            units=max(TRANSACTIONS_MIN, STATEMENTS // len(step.statements)),
        )
        steps.append(Unit(kind, structs.replace(program, transactions=(alone,)), open=transaction.begin))
    return steps


def _frame(
    name: str, program: Program, transaction: ProgramTransaction, steps: Sequence[Unit]
) -> tuple[Unit, ...]:
    """BEGIN and COMMIT around the smallest step that writes, less this step: larger ones would add noise."""
    writing = [
        (step, unit) for step, unit in zip(transaction.steps, steps, strict=True) if _writes(program, step)
    ]
    if not writing:
        return ()
    step, unit = min(writing, key=lambda pair: len(pair[0].statements))
    framed = structs.replace(transaction, steps=(structs.replace(step, repeat=1),))
    kind = WorkKind(
        workload=name, name=FRAME, per_transaction=1, units=_fitting(framed), less={unit.kind.name: 1.0}
    )
    return (Unit(kind, structs.replace(program, transactions=(framed,))),)


def _of_transactions(name: str, program: Program) -> tuple[Unit, ...]:
    weights = sum(transaction.weight for transaction in program.transactions)
    parts = []
    for number, transaction in enumerate(program.transactions, 1):
        first = program.kinds[transaction.steps[0].statements[0].kind].name
        kind = WorkKind(
            workload=name,
            name=f"{TRANSACTION} {number}, {first}",
            per_transaction=transaction.weight / weights,
            units=_fitting(transaction),
        )
        parts.append(Unit(kind, structs.replace(program, transactions=(transaction,))))
    whole = WorkKind(workload=name, name=TRANSACTION, per_transaction=1, units=4 * TRANSACTIONS_MIN)
    return (*parts, Unit(whole, program))


def _entangled(program: Program, transaction: ProgramTransaction) -> bool:
    """Whether a step needs the results of another one, or a parameter says how often it is sent."""
    names = [" + ".join(str(statement.kind) for statement in step.statements) for step in transaction.steps]
    return len(set(names)) < len(names) or any(
        step.repeat_of is not None or not _results(program, step.statements) <= _filled(step.statements)
        for step in transaction.steps
    )


def _results(program: Program, statements: Sequence[ProgramStatement]) -> set[int]:
    pieces = (piece for statement in statements for piece in statement.pieces)
    used = {piece for piece in pieces if isinstance(piece, int) and piece >= 0}
    return {index for index in used if isinstance(program.parameters[index], ProgramResult)}


def _filled(statements: Sequence[ProgramStatement]) -> set[int]:
    return {index for statement in statements for index in statement.into}


def _writes(program: Program, step: ProgramStep) -> bool:
    return any(program.kinds[statement.kind].effect == "write" for statement in step.statements)


def _fitting(transaction: ProgramTransaction) -> int:
    statements = sum(step.repeat * len(step.statements) for step in transaction.steps)
    return max(TRANSACTIONS_MIN, STATEMENTS // max(1, statements))
