"""Reads workload files (docs/workloads.md) and compiles them, for one dataset, into programs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec.structs import replace

from shootout import files
from shootout.errors import InputError
from shootout.inputs import dump, report_sql, toml
from shootout.inputs.placeholders import FILES, NATURAL, QUOTED, THREAD, FieldError, Scope
from shootout.model.plan import NUMBERS, Dataset, DatasetSize, Load
from shootout.model.program import (
    Closed,
    Open,
    Program,
    ProgramKind,
    ProgramResult,
    ProgramStatement,
    ProgramStep,
    ProgramTransaction,
)
from shootout.model.value import Protocol
from shootout.model.workload import (
    Check,
    Distribution,
    Dump,
    Integer,
    NuRand,
    Result,
    Step,
    Transaction,
    Workload,
    WorkloadStatement,
)
from shootout.paths import FIXTURES

FOLDER = FIXTURES / "workloads"

Effect: TypeAlias = Literal["read", "write", "other"]

CLOSED_LOOP = Load()  # without think time

_FRAME = ("begin", "commit", "rollback")
_SWITCH = range(2)
_PARAMETERS_MAX = 65_535  # in a prepared statement
_WRITE = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL")  # as most procedures do
_EFFECTS: dict[str, Effect] = {"SELECT": "read", "SHOW": "read", **dict.fromkeys(_WRITE, "write")}

_NAMES_NUMBERS = re.compile(rf"\b{NUMBERS}\b", re.IGNORECASE)
_MAKES_NUMBERS = re.compile(
    rf"\bCREATE\s+(?:\w+\s+)*(?:TABLE|VIEW|SEQUENCE)\s+(?:IF\s+NOT\s+EXISTS\s+)?`?{NUMBERS}\b", re.IGNORECASE
)
_FIRST_WORD = re.compile(r"(?:[\s(]|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)
_WRITING = re.compile(r"\)(?:\s|/\*.*?\*/)*(UPDATE|DELETE)\b", re.DOTALL | re.IGNORECASE)  # not FOR UPDATE


def find(name_or_file: str) -> Path:
    """Find the workload's file. Raises InputError, which suggests a name, for an unknown one."""
    return toml.find(without_protocol(name_or_file), FOLDER, "workload")


def without_protocol(name: str) -> str:
    """Strip the protocol suffix, `.prepared` or `.text`."""
    return name.removesuffix(".prepared").removesuffix(".text")


def name_from(name_or_file: str) -> str:
    """Name the workload with its protocol suffix, if any; for a file without folder and ending."""
    name = without_protocol(name_or_file)
    stem = Path(name).stem if name.endswith((".toml", ".sql")) else name
    return stem + name_or_file.removeprefix(name)


def shipped() -> dict[str, str]:
    """Read the descriptions of the workloads that come with shootout, by name."""
    return {path.stem: load(path.stem).description for path in sorted(FOLDER.glob("*.toml"))}


def load(name_or_file: str) -> Workload:
    """Read the workload of that name or file; a protocol suffix sets its protocol. Raises InputError."""
    path = find(name_or_file)
    loaded = report_sql.load(path) if path.suffix == ".sql" else toml.load(path, Workload)
    protocol = name_or_file.removeprefix(without_protocol(name_or_file)).removeprefix(".")
    if loaded.protocol is not None and protocol not in ("", loaded.protocol):
        raise InputError(f"workload {name_or_file}: it supports only the {loaded.protocol} protocol")
    return replace(loaded, protocol=protocol) if protocol in get_args(Protocol) else loaded


def with_options(
    workload: Workload, options: Mapping[str, int], distribution: Distribution | None
) -> Workload:
    """Give the workload new values for the options that it has, and the distribution if given."""
    own = {name: options.get(name, value) for name, value in workload.options.items()}
    return replace(workload, options=own, distribution=distribution or workload.distribution)


def dataset_of(workload: Workload, size: DatasetSize, name_or_file: str) -> Dataset:
    """Read the dataset that the workload of this name or file runs on. Raises InputError."""
    if workload.dataset == "own":
        name = hashlib.sha256(name_from(name_or_file).encode())
        return replace(size.of_kind("own"), digest=name.hexdigest()[:12])
    if not isinstance(workload.dataset, Dump):
        return size.of_kind(workload.dataset)
    return dump_dataset(find(name_or_file).parent / workload.dataset.dump, size)


def dump_dataset(path: Path, size: DatasetSize) -> Dataset:
    """Describe a dump. Raises InputError if it cannot be read, or its beginning cannot be loaded."""
    dump.check(path)
    with files.reading(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    dump.database(path.resolve(), digest)
    return replace(size.of_kind("dump"), dump=str(path.resolve()), digest=digest)


def reads_numbers(workload: Workload) -> bool:
    """Whether an own workload names the table of numbers without making one of this name itself."""
    made = any(map(_MAKES_NUMBERS.search, workload.setup))
    return workload.dataset == "own" and not made and any(map(_NAMES_NUMBERS.search, _texts(workload)))


def uses_files(workload: Workload) -> bool:
    """Whether any statement names the folder of files."""
    return any(f"{{{FILES}}}" in sql for sql in _texts(workload))


def _texts(workload: Workload) -> Iterator[str]:
    yield from (*workload.setup, *workload.session, *(check.sql for check in workload.checks))
    steps = chain.from_iterable(transaction.steps for transaction in workload.transactions)
    yield from (statement.sql for step in steps for statement in step.statements)


def compile_program(name: str, workload: Workload, dataset: Dataset, load: Load = CLOSED_LOOP) -> Program:
    """Compile the workload, in its own protocol or the load's. Raises InputError naming the field."""
    try:
        return _program(workload, dataset, load)
    except FieldError as fault:
        raise InputError(f"workload {name}: {fault}") from None


def setup(workload: Workload, dataset: Dataset, threads: int, scope: Scope | None = None) -> tuple[str, ...]:
    """List the statements to run before a block; the workload must compile."""
    scope, statements = scope or Scope(workload, dataset), []
    for i, sql in enumerate(workload.setup):
        numbers = range(1, threads + 1) if f"{{{THREAD}}}" in sql else (1,)
        statements += [_filled(f"setup[{i}]", scope, sql, thread) for thread in numbers]
    return tuple(statements)


def checks(workload: Workload, dataset: Dataset, scope: Scope | None = None) -> tuple[Check, ...]:
    """List the queries that must return no row after a block; the workload must compile."""
    scope, numbered = scope or Scope(workload, dataset), enumerate(workload.checks)
    return tuple(replace(each, sql=_filled(f"checks[{i}].sql", scope, each.sql)) for i, each in numbered)


def _filled(where: str, scope: Scope, sql: str, thread: int | None = None) -> str:
    text = scope.text(where, sql, thread)
    _verb(where, text)  # it must be a statement
    return text


def _verb(where: str, sql: str) -> str:
    if (word := _FIRST_WORD.match(sql)) is None:
        raise FieldError(where, f"is not a statement: {sql!r}")
    if word[1].upper() == "WITH":
        word = _WRITING.search(QUOTED.sub("", sql))
    return word[1].upper() if word else "SELECT"


def _program(workload: Workload, dataset: Dataset, load: Load) -> Program:
    prepared = (workload.protocol or load.protocol) == "prepared"
    scope = Scope(workload, dataset, prepared)
    kinds: dict[str, Effect] = {}
    transactions = tuple(
        _transaction(f"transactions[{t}]", transaction, scope, kinds)
        for t, transaction in enumerate(workload.transactions)
    )
    framed = [transaction for transaction in transactions if transaction.begin]
    ends = {"rollback" if transaction.rollback else "commit" for transaction in framed}
    kinds |= {word: "other" for word in _FRAME if word in ends or (word == "begin" and framed)}
    setup(workload, dataset, 1, scope)
    checks(workload, dataset, scope)
    session = tuple(_filled(f"session[{i}]", scope, sql) for i, sql in enumerate(workload.session))
    scope.check_all_used()
    tables, rows = (dataset.tables, dataset.rows) if dataset.kind == "sbtest" else (1, 1)
    closed = Closed(think_s=load.think_s, exponential=load.think == "exponential")
    return Program(
        tables=tables,
        rows=rows,
        distribution=workload.distribution,
        prepared=prepared,
        pace=closed if load.rate is None else Open(rate=load.rate, poisson=load.arrivals == "poisson"),
        reconnect=load.reconnect,
        connects=workload.connects,
        kinds=tuple(ProgramKind(name=name, effect=effect) for name, effect in kinds.items()),
        parameters=tuple(scope.parameters),
        transactions=transactions,
        columns=tuple(scope.columns),
        session=session,
    )


def _transaction(
    where: str, transaction: Transaction, scope: Scope, kinds: dict[str, Effect]
) -> ProgramTransaction:
    known: set[int] = set()  # results that an earlier statement has set
    steps = []
    for s, step in enumerate(transaction.steps):
        repeat, repeat_of = _repeat(f"{where}.steps[{s}].repeat", step, scope)
        known_before = set(known)
        statements = tuple(
            _statement(f"{where}.steps[{s}].statements[{i}]", statement, scope, kinds, known)
            for i, statement in enumerate(step.statements)
        )
        if repeat:
            steps.append(ProgramStep(repeat=repeat, repeat_of=repeat_of, statements=statements))
        else:
            known = known_before
    if not steps:
        raise FieldError(where, "sends nothing: all of its steps have repeat 0")
    if all(step.repeat_of is not None for step in steps):
        raise FieldError(where, "may send nothing: expected a step that no parameter repeats")
    begin = not scope.amount(f"{where}.skip_trx", transaction.skip_trx, _SWITCH)
    rollback = begin and transaction.end == "rollback"
    return ProgramTransaction(weight=transaction.weight, begin=begin, rollback=rollback, steps=tuple(steps))


def _repeat(where: str, step: Step, scope: Scope) -> tuple[int, int | None]:
    declared = scope.workload.parameters
    if not (isinstance(step.repeat, str) and step.repeat in declared):
        return scope.amount(where, step.repeat, NATURAL), None
    index = scope.index(where, step.repeat, (Integer, NuRand), "cannot be a repeat count")
    parameter = scope.parameters[index]
    assert isinstance(parameter, Integer | NuRand)
    if parameter.per != "transaction":
        what = f'parameter {step.repeat!r} is drawn for each repetition; give it per = "transaction"'
        raise FieldError(where, what)
    if int(parameter.min) < 0:
        what = f"expected 0 or more, as it is a repeat count, found {parameter.min}"
        raise FieldError(f"parameters.{step.repeat}.min", what)
    return 1, index


def _statement(
    where: str, statement: WorkloadStatement, scope: Scope, kinds: dict[str, Effect], known: set[int]
) -> ProgramStatement:
    """Compile one statement; adds its kind to `kinds`, its results to `known`."""
    verb = _verb(f"{where}.sql", statement.sql)
    effect = _EFFECTS.get(verb, "other")
    if statement.name in _FRAME:
        raise FieldError(f"{where}.name", f"{statement.name!r} is reserved for what the engine sends itself")
    if (before := kinds.setdefault(statement.name, effect)) != effect:
        what = f"{statement.name!r} is a {effect} here and a {before} earlier; rename one"
        raise FieldError(f"{where}.name", what)
    pieces = scope.pieces(f"{where}.sql", statement.sql)
    used = [piece for piece in pieces if isinstance(piece, int) and piece >= 0]
    for index in used:
        if isinstance(scope.parameters[index], ProgramResult) and index not in known:
            what = f"{{{scope.name(index)}}} is not the result of an earlier statement"
            raise FieldError(f"{where}.sql", what)
    if scope.prepared and len(used) > _PARAMETERS_MAX:
        what = f"a prepared statement takes at most {_PARAMETERS_MAX} parameters, found {len(used)}"
        raise FieldError(f"{where}.sql", what)
    most = {"CALL": len(statement.into), "INSERT": 1}.get(verb, 0)
    if len(statement.into) > most and effect == "write":
        what = "an INSERT returns only the row's number" if most else "a statement that writes returns no row"
        raise FieldError(f"{where}.into", what)
    into = tuple(
        scope.index(f"{where}.into[{i}]", name, (Result,), "is not a result")
        for i, name in enumerate(statement.into)
    )
    known.update(into)
    return ProgramStatement(kind=list(kinds).index(statement.name), pieces=pieces, into=into)
