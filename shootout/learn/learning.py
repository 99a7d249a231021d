"""Learns a workload from a log and the dump that its server's data are in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from msgspec.structs import replace

from shootout.errors import InputError
from shootout.learn import writing
from shootout.learn.binding import Bound
from shootout.learn.keys import inserted, numbered, without_parents
from shootout.learn.places import Statement
from shootout.learn.ranks import Values
from shootout.learn.schema import Schema
from shootout.learn.shapes import Learner
from shootout.learn.transactions import Builder
from shootout.learn.values import LeftOut, Log, LogSequence, Template
from shootout.measure import columns
from shootout.model.program import Numbers, ProgramColumn
from shootout.model.value import Count, Quantity, Value
from shootout.model.workload import Dump, Group, Learned, Parameter, Transaction, Workload
from shootout.servers.running import Running

REASONS_MAX = 3  # in a message
SEQUENCES_MAX = 200  # kinds of transactions in a workload; rarer ones are left out
FASTEST_MAX_S = 0.001  # some statement of a log that has them all is faster
TABLE_NUMBER = "table_number"  # the parameter for it
_LABELS = {"table": TABLE_NUMBER, "limit": "limit"}  # of parameters, by the use of a slot without a column
WEIGHTS = 100_000  # of all transactions together

# Fields of a report that the log has, too.
_OF_LOG = ("transactions", "connections", "think_s", "ordered", "lost_begins", "lost_commits")

# Statements that a workload cannot send again and again, by their first words, and why.
_UNSENT = {
    "changes tables": "CREATE DROP ALTER TRUNCATE RENAME ANALYZE OPTIMIZE REPAIR CHECK",
    "reads a file": "LOAD",
    "belongs to a session or to the server": "SET USE KILL FLUSH RESET GRANT REVOKE LOCK UNLOCK PREPARE "
    "EXECUTE DEALLOCATE CHANGE START STOP INSTALL UNINSTALL SHUTDOWN PURGE XA HANDLER",
}

# Statements that drivers send when they take a connection, and that no other statement depends on.
_SETS_UP = re.compile(
    r"SET\s+(?:NAMES|(?:SESSION\s+)?TRANSACTION\s+ISOLATION|(?:@@)?(?:SESSION[\s.]+)?CHARACTER_SET_RESULTS)\b",
    re.IGNORECASE,
)


class LearnedStatement(Value):
    """A statement of a learned workload, and the log's figures for it."""

    name: str
    sql: str  # the template
    count: Count
    share: Quantity  # of the log's statements
    seconds: Quantity | None
    rows_examined: Quantity | None  # of an execution, mean
    rows_sent: Quantity | None
    unbound: Count  # slots that belong to no column
    problem: str = ""  # why it could not be parsed


class LearningReport(Value):
    """Everything learned from a log, and what was left out."""

    logs: tuple[str, ...]
    server: str  # that loaded the dump
    rows: dict[str, Count]  # by table
    statements: tuple[LearnedStatement, ...]
    left_out: tuple[LeftOut, ...]
    transactions: Count
    kinds: Count  # of transactions
    per_transaction: Quantity  # statements, mean
    connections: Count
    think_s: Quantity
    ordered: bool
    kept_values: bool
    lost_begins: Count = 0  # that the log lacks, of transactions that were found nevertheless
    lost_commits: Count = 0
    warnings: tuple[str, ...] = ()  # why the workload may not be what the server ran


def values_of(instance: Running, schema: str) -> Callable[[str], Values]:
    """Make a reader of the values of TABLE.COLUMN, each column once. It raises MeasureError."""

    @cache
    def values(name: str) -> Values:
        read = columns.read(ProgramColumn(name=name), schema, instance)
        type = columns.data_type(instance, schema, name)
        whole = isinstance(read.values, Numbers) or len(read.values or ()) <= columns.VALUES_MAX // 2
        return Values(read, type, None if whole else partial(columns.present, name, schema, instance))

    return values


def learn(
    log: Log,
    bound: Sequence[Bound],
    known: Schema,
    values: Callable[[str], Values],
    *,
    server: str,
    dump: str,
    logs: Sequence[str],
    keep: bool = False,
    settings: Sequence[str] = (),
    refused: Mapping[str, str] | None = None,
) -> tuple[str, LearningReport]:
    """Write workload file and report; `refused`: templates to leave out, and why. Raises InputError."""
    log = replace(log, templates=tuple(map(_with_plain_lists, log.templates)))
    learner = Learner(values, _grown(bound, known), keep, known, inserted(log.templates, bound))
    statements = _statements(log.templates, bound, learner)
    reasons = {
        number: why
        for number, (template, one) in enumerate(zip(log.templates, bound, strict=True))
        if (why := _unsent(template, one) or (refused or {}).get(template.sql, ""))
    }
    sequences, lost = _sequences(log, bound, known, reasons)
    left_out = (*log.left_out, *lost)
    if not sequences:
        most = sorted(left_out, key=lambda left: -left.statements)[:REASONS_MAX]
        why = "; ".join(f"{left.statements} x {left.reason}" for left in most)
        raise InputError(f"{', '.join(logs)}: no statement is left that a workload can send: {why}")
    builder = Builder(statements, learner)
    builder.find_new(sequences)
    workload, notes = _workload(log, sequences, builder, dump)
    workload = replace(workload, settings=tuple(settings))
    report = LearningReport(
        logs=tuple(logs),
        server=server,
        rows=dict(known.rows),
        statements=_said(statements, bound),
        left_out=left_out,
        kinds=len(sequences),
        per_transaction=mean_statements(sequences),
        kept_values=keep,
        warnings=tuple(warnings(log)),
        **{name: getattr(log, name) for name in _OF_LOG},
    )
    return writing.text(workload, _head(report), notes), report


def _with_plain_lists(template: Template) -> Template:
    plain = (
        replace(slot, sizes=()) if {size for size, _ in slot.sizes} == {1} else slot
        for slot in template.slots
    )
    return replace(template, slots=tuple(plain))


def _grown(bound: Sequence[Bound], known: Schema) -> frozenset[str]:
    slots = (to for template in bound for to in template.slots)
    inserted = {to.column for to in slots if to.use == "insert" and to.column is not None}
    numbered = (each for own in inserted for each in known.tables[own.table].values() if each.automatic)
    return frozenset(column.full_name for column in (*inserted, *numbered))


def _workload(
    log: Log, sequences: Sequence[LogSequence], builder: Builder, dump: str
) -> tuple[Workload, list[str]]:
    whole = sum(sequence.count for sequence in sequences)
    transactions, notes = [], []
    for sequence in sequences:
        transaction = builder.transaction(sequence, max(1, round(WEIGHTS * sequence.count / whole)))
        transactions.append(transaction)
        sent = writing.summary(transaction)
        notes.append(f"{100 * sequence.count / whole:.3g} % of transactions: {sent}")
    used = _used(builder.parameters, transactions)
    only_text = any(
        (isinstance(parameter, Learned) and parameter.counts) or name.startswith(TABLE_NUMBER)
        for name, parameter in used.items()
    )
    workload = Workload(
        title="Learned",
        description=f"Learned from {log.statements} statements in {log.transactions} transactions.",
        dataset=Dump(dump=dump),
        protocol="text" if only_text else None,
        parameters=used,
        transactions=tuple(transactions),
    )
    return workload, notes


def _statements(templates: Sequence[Template], bound: Sequence[Bound], learner: Learner) -> list[Statement]:
    times: Counter[str] = Counter()
    names: dict[int, str] = {}
    for number in sorted(range(len(templates)), key=lambda number: -templates[number].count):
        word = re.search(r"[A-Za-z]+", templates[number].sql)
        stem = writing.name(word[0] if word else "statement", *bound[number].tables[:1])
        times[stem] += 1
        names[number] = stem if times[stem] == 1 else f"{stem}_{times[stem]}"
    statements = []
    for number, (template, one) in enumerate(zip(templates, bound, strict=True)):
        shapes = tuple(
            learner.shape(slot, binding, template.count)
            for slot, binding in zip(template.slots, one.slots, strict=True)
        )
        labels = tuple(
            writing.name(to.column.name) if to.column else _LABELS.get(to.use, slot.kind)
            for slot, to in zip(template.slots, one.slots, strict=True)
        )
        numbers = numbered(template, one.slots, one.tables, learner.schema)
        statements.append(Statement(names[number], template, shapes, one.slots, one.outputs, labels, numbers))
    return statements


def _unsent(template: Template, bound: Bound) -> str:
    if bound.missing:
        return f"needs {bound.missing[0]}, which the dump does not have"
    word = re.sub(r"^[\s(]*(\w*).*", r"\1", template.sql, flags=re.DOTALL).upper()
    if _SETS_UP.match(template.sql):
        return ""
    return next((why for why, words in _UNSENT.items() if word in words.split()), "")


def _sequences(
    log: Log, bound: Sequence[Bound], known: Schema, reasons: Mapping[int, str]
) -> tuple[list[LogSequence], list[LeftOut]]:
    """The kinds of transactions to send, frequent first, without statements that cannot be."""
    kinds: dict[tuple[object, ...], LogSequence] = {}
    orphans: Counter[int] = Counter()
    for sequence in log.sequences:
        lacking = without_parents(sequence, log.templates, bound, known)
        for place in lacking:
            orphans[sequence.statements[place]] += sequence.count
        kept = [
            place
            for place, number in enumerate(sequence.statements)
            if number not in reasons and place not in lacking
        ]
        if not kept:
            continue
        kind = _part(sequence, kept)
        key = (kind.statements, kind.explicit, kind.end)
        if (other := kinds.get(key)) is not None:
            sums = tuple(map(sum, zip(kind.rows_sent, other.rows_sent, strict=False)))
            kind = replace(other, count=other.count + kind.count, rows_sent=sums)
        kinds[key] = kind
    ordered = sorted(kinds.values(), key=lambda sequence: -sequence.count)
    why = "writes a unique foreign key, whose parents run out"
    lost = [(why, log.templates[number].count, number) for number, why in reasons.items()]
    lost += [(why, count, number) for number, count in orphans.items() if number not in reasons]
    left = [
        LeftOut(reason=why, statements=count, example=log.templates[number].sql)
        for why, count, number in lost
    ]
    if rest := ordered[SEQUENCES_MAX:]:
        rare = sum(sequence.count * len(sequence.statements) for sequence in rest)
        left.append(LeftOut(reason="a rare kind of transaction", statements=rare, example=""))
    return ordered[:SEQUENCES_MAX], left


def _part(sequence: LogSequence, kept: Sequence[int]) -> LogSequence:
    moved = {place: index for index, place in enumerate(kept)}
    return replace(
        sequence,
        statements=tuple(sequence.statements[place] for place in kept),
        links=tuple(
            replace(link, statement=moved[link.statement], of_statement=moved[link.of_statement])
            for link in sequence.links
            if {link.statement, link.of_statement} <= moved.keys()
        ),
        rows_sent=tuple(sequence.rows_sent[place] for place in kept) if sequence.rows_sent else (),
        **{
            name: tuple((moved[place], *what) for place, *what in getattr(sequence, name) if place in moved)
            for name in ("constants", "texts")
        },
    )


def warnings(log: Log) -> Iterator[str]:
    """Say why a workload learned from the log may not be what the server ran."""
    if log.kind == "slow" and log.fastest_s > FASTEST_MAX_S:
        fastest = f"the log's fastest statement took {log.fastest_s:.2g} s"
        yield f"{fastest}, so long_query_time has hidden faster ones: set it to 0"
    if log.sampled > 1:
        what, lost = ("statements", "transactions, links between statements and rates are lost; shares hold")
        if log.sampled_sessions:
            what, lost = ("sessions", "rates and connections are too low; shares and transactions hold")
        yield f"the server logged one of {log.sampled} {what} (Log_slow_rate_limit): {lost}"
    if calls := sum(template.count for template in log.templates if template.sql.upper().startswith("CALL ")):
        yield f"{calls} statements are CALLs; if the log also has what the procedures run, that is sent twice"


def _used(parameters: Mapping[str, Parameter], transactions: Sequence[Transaction]) -> dict[str, Parameter]:
    steps = [step for transaction in transactions for step in transaction.steps]
    texts = [statement.sql for step in steps for statement in step.statements]
    needed = {name for step in steps for statement in step.statements for name in statement.into}
    for name, parameter in reversed(list(parameters.items())):
        if name in needed or any(f"{{{name}}}" in text for text in texts):
            needed.add(name)
            if isinstance(parameter, Group):
                texts.append(parameter.sql)
            elif isinstance(parameter, Learned) and parameter.of is not None:
                needed.add(parameter.of)
    return {name: parameter for name, parameter in parameters.items() if name in needed}


def mean_statements(sequences: Sequence[LogSequence]) -> float:
    """Count the statements of a transaction."""
    count = max(1, sum(sequence.count for sequence in sequences))
    return sum(sequence.count * len(sequence.statements) for sequence in sequences) / count


def _said(statements: Sequence[Statement], bound: Sequence[Bound]) -> tuple[LearnedStatement, ...]:
    whole = max(1, sum(statement.template.count for statement in statements))
    said = (
        LearnedStatement(
            name=statement.name,
            sql=(template := statement.template).sql,
            count=template.count,
            share=template.count / whole,
            seconds=template.seconds,
            rows_examined=template.mean(template.rows_examined),
            rows_sent=template.mean(template.rows_sent),
            unbound=sum(to.use == "other" for to in one.slots),
            problem=one.problem,
        )
        for statement, one in zip(statements, bound, strict=True)
    )
    return tuple(sorted(said, key=lambda statement: -statement.count))


def _head(report: LearningReport) -> list[str]:
    none = "No literal of the log is in this file, except for small numbers and formats that belong to "
    lost = "The log does not have the order of statements: each is a transaction of its own."
    return [
        f"Learned from {', '.join(report.logs)}.",
        f"{report.connections} connections at most; a client's mean time between two statements of a "
        f"transaction was {report.think_s * 1000:.3g} ms.",
        "A parameter draws its column's values in the dataset by position, from 0 (the first) to 1.",
        "This file has literals of the log." if report.kept_values else f"{none}no column.",
        *(f"Warning: {warning}." for warning in report.warnings),
        *([] if report.ordered else [lost]),
    ]
