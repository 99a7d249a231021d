"""Splits a workload into units to count: each kind of statement, and whole transactions. Pure.

A kind of statement is counted alone, by a program that sends nothing else. If the workload sends it inside of
a transaction, it is counted inside of an open one. So is one of several that write: rolled back, it leaves
the rows as they were for those that follow. Committing is a kind of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from shootout.count.values import COMMIT, FRAME, JOINT, MIX, TRANSACTION, CountedKind
from shootout.measure.plan import BoundWorkload
from shootout.model.program import Program, ProgramResult, ProgramStatement, ProgramTransaction

STATEMENTS = 50  # in a repetition, at most
INSTRUCTIONS = 3_000_000  # in a repetition, about
SIZES = (1, 2, 5, 10, 25, 50)  # of repetitions: so coarse that they seldom depend on what was tried
WRITES_MIN = 10  # in a repetition: what pages do, which writes find, needs many to even out
WRITES_INSTRUCTIONS = 100_000_000  # in a repetition, about: one that writes many rows evens out by itself
PRIMING = 10  # repetitions before anything is counted, as far as they take no more than …
PRIMING_INSTRUCTIONS = 500_000_000
PRIMED = 2_500  # executions, or more than those repetitions, as far as they take no more than …
PRIMED_INSTRUCTIONS = 150_000_000
TRANSACTIONS_MIN = 10  # in a repetition


@dataclass(frozen=True)
class Unit:
    """A kind, and how it is counted."""

    kind: CountedKind
    program: Program
    open: bool = False  # inside of a transaction that nobody commits
    scaled: bool = False  # a repetition has fewer of them, if they take much

    @property
    def key(self) -> tuple[str, str]:
        """Workload and kind."""
        return self.kind.workload, self.kind.name

    @property
    def writes(self) -> bool:
        """Whether it writes rows."""
        return "write" in self._effects

    @property
    def leaves(self) -> bool:
        """Whether rows may be others afterwards."""
        return not self.open and self._effects != {"read"}

    @property
    def locks(self) -> bool:
        """Whether what follows may have to wait until its connection is gone."""
        return self.open or self._effects != {"read"}

    @property
    def _effects(self) -> set[str]:
        steps = (step for transaction in self.program.transactions for step in transaction.steps)
        return {self.program.kinds[statement.kind].effect for step in steps for statement in step.statements}


def units(name: str, bound: BoundWorkload) -> tuple[Unit, ...]:
    """List the kinds of a workload, the whole transaction last; what is entangled only as a whole."""
    program = bound.program
    if len(program.transactions) > 1:
        return _of_transactions(name, program)
    (transaction,) = program.transactions
    steps = [] if _entangled(program, transaction) else _of_steps(name, program, transaction)
    if len(steps) == 1 and not transaction.begin:
        return tuple(steps)
    frame = _frame(name, program, transaction, steps)
    if steps and not transaction.begin:
        return (*steps, *frame)
    whole = CountedKind(workload=name, name=TRANSACTION, per_transaction=1, units=_fitting(transaction))
    return (*steps, *frame, Unit(whole, program))


def kinds_of(counted: Sequence[Unit]) -> tuple[CountedKind, ...]:
    """List a workload's kinds: those that are counted, and the parts' sum before the whole transaction."""
    kinds = [unit.kind for unit in counted]
    whole = [kind for kind in kinds[-1:] if kind.name == TRANSACTION]
    parts = kinds[: len(kinds) - len(whole)]
    if len(parts) < 2:
        return tuple(kinds)
    times = {kind.name: kind.per_transaction for kind in parts}
    mix = CountedKind(workload=parts[0].workload, name=MIX, per_transaction=1, units=1, sums=times)
    return *parts, mix, *whole


def repetition(unit: Unit, instructions: int | None) -> int:
    """Say how often a repetition does a unit that takes so many instructions; None: not known."""
    if instructions is None:
        return unit.kind.units
    least = min(WRITES_MIN, WRITES_INSTRUCTIONS / max(1, instructions)) if unit.writes else 1
    fitting = min(unit.kind.units, max(least, INSTRUCTIONS / max(1, instructions)))
    return max((size for size in SIZES if size <= fitting), default=1)


def priming(unit: Unit, instructions: int | None, *, quick: bool = False) -> int:
    """Say how often it runs before anything is counted.

    InnoDB hashes a page after a hundred searches or more, which takes up to 800 000 instructions. Cheap
    statements must have that behind them. `quick`: to hold a budget.
    """
    least = PRIMING * repetition(unit, instructions)
    if instructions is None:
        return least
    cost = max(1, instructions)
    most = PRIMED_INSTRUCTIONS if quick else PRIMING_INSTRUCTIONS
    return max(1, min(least, most // cost), min(PRIMED, PRIMED_INSTRUCTIONS // cost))


def _of_steps(name: str, program: Program, transaction: ProgramTransaction) -> list[Unit]:
    steps = []
    for step in transaction.steps:
        names = dict.fromkeys(program.kinds[statement.kind].name for statement in step.statements)
        alone = ProgramTransaction(weight=1, begin=False, steps=(structs.replace(step, repeat=1),))
        kind = CountedKind(
            workload=name, name=JOINT.join(names), per_transaction=step.repeat,
            units=max(TRANSACTIONS_MIN, STATEMENTS // len(step.statements)),
        )  # fmt: skip
        unit = Unit(kind, structs.replace(program, transactions=(alone,)), scaled=True)
        commits = any(program.kinds[statement.kind].effect == "other" for statement in step.statements)
        beside = len(transaction.steps) > 1 and not commits  # it can be rolled back
        steps.append(replace(unit, open=transaction.begin or (unit.leaves and beside)))
    return steps


def _frame(
    name: str, program: Program, transaction: ProgramTransaction, steps: Sequence[Unit]
) -> tuple[Unit, ...]:
    """BEGIN and COMMIT around the smallest step that writes, less this step: larger ones would add noise.

    Without BEGIN, this step with what it takes that it commits by itself.
    """
    writing = [
        (step, unit)
        for step, unit in zip(transaction.steps, steps, strict=False)  # no steps: entangled
        if unit.open and any(program.kinds[each.kind].effect == "write" for each in step.statements)
    ]
    if not writing:
        return ()
    step, unit = min(writing, key=lambda pair: len(pair[0].statements))
    framed = structs.replace(transaction, steps=(structs.replace(step, repeat=1),))
    commits = sum(each.repeat * len(each.statements) for each, _ in writing) / len(step.statements)
    kind = CountedKind(
        workload=name, name=FRAME if transaction.begin else COMMIT,
        per_transaction=1 if transaction.begin else commits, units=_fitting(framed),
        less={unit.kind.name: 1.0},
    )  # fmt: skip
    return (Unit(kind, structs.replace(program, transactions=(framed,))),)


def _of_transactions(name: str, program: Program) -> tuple[Unit, ...]:
    weights = sum(transaction.weight for transaction in program.transactions)
    parts = []
    for number, transaction in enumerate(program.transactions, 1):
        first = program.kinds[transaction.steps[0].statements[0].kind].name
        kind = CountedKind(
            workload=name, name=f"{TRANSACTION} {number}, {first}",
            per_transaction=transaction.weight / weights, units=_fitting(transaction),
        )  # fmt: skip
        parts.append(Unit(kind, structs.replace(program, transactions=(transaction,))))
    whole = CountedKind(workload=name, name=TRANSACTION, per_transaction=1, units=4 * TRANSACTIONS_MIN)
    return (*parts, Unit(whole, program))


def _entangled(program: Program, transaction: ProgramTransaction) -> bool:
    names = [" + ".join(str(statement.kind) for statement in step.statements) for step in transaction.steps]
    return len(set(names)) < len(names) or any(
        step.repeat_of is not None
        or not _results(program, step.statements) <= {at for each in step.statements for at in each.into}
        for step in transaction.steps
    )


def _results(program: Program, statements: Sequence[ProgramStatement]) -> set[int]:
    pieces = (piece for statement in statements for piece in statement.pieces)
    used = {piece for piece in pieces if isinstance(piece, int) and piece >= 0}
    return {index for index in used if isinstance(program.parameters[index], ProgramResult)}


def _fitting(transaction: ProgramTransaction) -> int:
    statements = sum(step.repeat * len(step.statements) for step in transaction.steps)
    return max(TRANSACTIONS_MIN, STATEMENTS // max(1, statements))
