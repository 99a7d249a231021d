"""Workload files, and what the engine runs: a workload compiled for one dataset.

In a statement `{table}` is a table of the dataset, `{NAME}` a parameter of the file; `{{` and `}}` are
braces. Numbers are put in as they are, texts between single quotes that the compiler adds (`c={c}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from shootout import toml
from shootout.errors import InputError
from shootout.model import (
    Amount,
    Dataset,
    Integer,
    Parameter,
    Program,
    ProgramKind,
    ProgramRangeEnd,
    ProgramStatement,
    ProgramStep,
    ProgramTransaction,
    RangeEnd,
    RowId,
    Text,
    Workload,
    WorkloadStatement,
)
from shootout.places import FIXTURES

FOLDER = FIXTURES / "workloads"

Effect: TypeAlias = Literal["read", "write", "other"]

_TABLE = "table"
_TABLE_NUMBER = -1
_FRAME = ("begin", "commit")
_AMOUNT_MAX = 2**31 - 1
_INTEGERS = range(-(2**63), 2**63)
_EFFECTS: dict[str, Effect] = {
    "SELECT": "read",
    "SHOW": "read",
    "INSERT": "write",
    "UPDATE": "write",
    "DELETE": "write",
    "REPLACE": "write",
}

_PIECE = re.compile(r"(?P<escaped>\{\{|\}\})|\{(?P<name>[^{}]*)\}|(?P<stray>[{}])")
_FIRST_WORD = re.compile(r"(?:[\s(]|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)


def find(name_or_file: str) -> Path:
    """The workload's file. Raises InputError with the nearest name for an unknown one."""
    return toml.find(name_or_file, FOLDER, "workload")


def shipped() -> frozenset[str]:
    """The names of the workloads that come with shootout."""
    return frozenset(path.stem for path in FOLDER.glob("*.toml"))


def load(name_or_file: str) -> Workload:
    """The workload of that name, or in that file. Raises InputError where there is none."""
    return toml.load(find(name_or_file), Workload)


def compile(name: str, workload: Workload, dataset: Dataset) -> Program:
    """The engine's program for the dataset; raises InputError, naming workload and field, for what it cannot.

    Statements of one name are one kind. A step that is repeated 0 times is left out.
    """
    try:
        return _program(workload, dataset)
    except _FieldError as fault:
        raise InputError(f"workload {name}: {fault}") from None


class _FieldError(Exception):
    """A field and what is wrong with it."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


def _program(workload: Workload, dataset: Dataset) -> Program:
    _check_names(workload)
    # The end of a range stands after what it starts at, as the engine draws them in this order.
    names = sorted(workload.parameters, key=lambda name: isinstance(workload.parameters[name], RangeEnd))
    kinds: dict[str, Effect] = {}
    transactions = []
    for t, transaction in enumerate(workload.transactions):
        steps = []
        for s, step in enumerate(transaction.steps):
            where = f"transactions[{t}].steps[{s}]"
            repeat = _amount(f"{where}.repeat", step.repeat, workload.options, least=0)
            statements = tuple(
                _statement(f"{where}.statements[{i}]", statement, workload.parameters, names, kinds)
                for i, statement in enumerate(step.statements)
            )
            if repeat:
                steps.append(ProgramStep(repeat=repeat, statements=statements))
        if not steps:
            raise _FieldError(f"transactions[{t}]", "sends nothing: all of its steps have repeat 0")
        transactions.append(
            ProgramTransaction(weight=transaction.weight, begin=transaction.begin, steps=tuple(steps))
        )
    if any(transaction.begin for transaction in transactions):
        kinds |= dict.fromkeys(_FRAME, "other")
    return Program(
        tables=dataset.tables,
        rows=dataset.rows,
        distribution=workload.distribution,
        kinds=tuple(ProgramKind(name=name, effect=effect) for name, effect in kinds.items()),
        parameters=tuple(_parameter(name, workload, names) for name in names),
        transactions=tuple(transactions),
    )


def _check_names(workload: Workload) -> None:
    """Everything that the file names must be used in it: what is not is a slip of the pen."""
    if _TABLE in workload.parameters:
        raise _FieldError(
            f"parameters.{_TABLE}", f"{{{_TABLE}}} is the table; give the parameter another name"
        )
    steps = [step for transaction in workload.transactions for step in transaction.steps]
    ends = [p for p in workload.parameters.values() if isinstance(p, RangeEnd)]
    placeholders = {
        match["name"]
        for step in steps
        for statement in step.statements
        for match in _PIECE.finditer(statement.sql)
    }
    _check_used("parameters", workload.parameters, placeholders | {end.of for end in ends})
    amounts = {step.repeat for step in steps} | {end.size for end in ends}
    _check_used("options", workload.options, {amount for amount in amounts if isinstance(amount, str)})


def _check_used(where: str, names: Iterable[str], used: set[str]) -> None:
    for name in names:
        if name not in used:
            raise _FieldError(f"{where}.{name}", "is not used by any statement or step")


def _amount(where: str, amount: Amount, options: Mapping[str, int], least: int) -> int:
    """The number itself, or the option's of that name."""
    if isinstance(amount, str):
        if amount not in options:
            raise _FieldError(where, f"unknown option {amount!r}{toml.hint(amount, options)}")
        where, amount = f"options.{amount}", options[amount]
    if not least <= amount <= _AMOUNT_MAX:
        raise _FieldError(where, f"expected {least} to {_AMOUNT_MAX}, found {amount}")
    return amount


def _parameter(name: str, workload: Workload, names: list[str]) -> RowId | ProgramRangeEnd | Integer | Text:
    where = f"parameters.{name}"
    parameter = workload.parameters[name]
    match parameter:
        case RangeEnd(of=of, size=size):
            starts = [n for n, p in workload.parameters.items() if isinstance(p, RowId | Integer)]
            if of not in starts:
                what = "cannot start a range" if of in names else "is not a parameter"
                raise _FieldError(f"{where}.of", f"{of!r} {what}{toml.hint(of, starts)}")
            size = _amount(f"{where}.size", size, workload.options, least=1)
            return ProgramRangeEnd(of=names.index(of), size=size)
        case Integer(min=least, max=most):
            for field, bound in (("min", least), ("max", most)):
                if bound not in _INTEGERS:
                    raise _FieldError(f"{where}.{field}", f"expected a 64-bit integer, found {bound}")
            if least > most:
                raise _FieldError(f"{where}.max", f"expected {least} (its min) or more, found {most}")
            return parameter
        case Text(pattern=pattern):
            # Without them no escaping is needed, which would depend on the server's sql_mode.
            if wrong := set(pattern) & {"'", "\\", "\0"}:
                raise _FieldError(f"{where}.pattern", f"must not contain {min(wrong)!r}")
            return parameter
        case RowId():
            return parameter


def _statement(
    where: str,
    statement: WorkloadStatement,
    parameters: Mapping[str, Parameter],
    names: list[str],
    kinds: dict[str, Effect],
) -> ProgramStatement:
    """One statement; its kind is added to `kinds` where it is the first."""
    word = _FIRST_WORD.match(statement.sql)
    if word is None:
        raise _FieldError(f"{where}.sql", f"is not a statement: {statement.sql!r}")
    if statement.name in _FRAME:
        raise _FieldError(f"{where}.name", f"{statement.name!r} is kept for what the engine sends by itself")
    effect = _EFFECTS.get(word[1].upper(), "other")
    if kinds.setdefault(statement.name, effect) != effect:
        before = kinds[statement.name]
        what = f"{statement.name!r} is a {effect} here and a {before} before; give one another name"
        raise _FieldError(f"{where}.name", what)
    pieces = _joined(_pieces(f"{where}.sql", statement.sql, parameters, names))
    return ProgramStatement(kind=list(kinds).index(statement.name), pieces=pieces)


def _pieces(
    where: str, sql: str, parameters: Mapping[str, Parameter], names: list[str]
) -> Iterator[str | int]:
    end = 0
    for match in _PIECE.finditer(sql):
        yield sql[end : match.start()]
        end = match.end()
        name = match["name"]
        if match["escaped"]:
            yield match["escaped"][0]
        elif match["stray"]:
            brace = match["stray"]
            raise _FieldError(
                where, f"unbalanced {brace!r} at character {match.start() + 1}; a brace is {brace * 2!r}"
            )
        elif name == _TABLE:
            yield "sbtest"
            yield _TABLE_NUMBER
        elif name not in parameters:
            raise _FieldError(
                where, f"unknown placeholder {{{name}}}{toml.hint(name, [_TABLE, *parameters])}"
            )
        elif isinstance(parameters[name], Text):
            if sql[match.start() - 1 : match.start()] == "'" == sql[end : end + 1]:
                raise _FieldError(
                    where, f"the quotes around {{{name}}} are one pair too many: texts get their own"
                )
            yield names.index(name)
        else:
            yield names.index(name)
    yield sql[end:]


def _joined(pieces: Iterable[str | int]) -> tuple[str | int, ...]:
    """The same with neighbouring texts in one, and no empty ones."""
    joined: list[str | int] = []
    for piece in pieces:
        if piece == "":
            continue
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return tuple(joined)
