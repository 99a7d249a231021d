"""Learns a workload from a log and the dump that its server's data are in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from msgspec.structs import replace

from shootout.errors import InputError
from shootout.learn import writing
from shootout.learn.binding import Binding, Bound
from shootout.learn.keys import inserted, numbered, without_parents
from shootout.learn.places import Statement
from shootout.learn.ranks import Values
from shootout.learn.schema import Schema
from shootout.learn.shapes import Learner
from shootout.learn.transactions import Builder
from shootout.learn.values import LeftOut, Log, LogSequence, Slot, Template
from shootout.measure import columns
from shootout.model.program import Numbers, ProgramColumn
from shootout.model.value import Count, Quantity, Value
from shootout.model.workload import Dump, Group, Learned, Parameter, Transaction, Workload
from shootout.servers.running import Running

SEQUENCES_MAX = 200  # kinds of transactions in a workload; rarer ones are left out
FASTEST_MAX_S = 0.001  # some statement of a log that has them all is faster
TABLE_NUMBER = "table_number"  # the parameter for it
WEIGHTS = 100_000  # of all transactions together

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
    """A statement of a learned workload, and what the log says of it."""

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
    """Write the workload file and the report, from a log, its bound templates, and the dump's columns.

    `server`: the version that has loaded the dump. `refused`: templates to leave out, with the reason.

    Raises InputError if the log has nothing to send, and what `values` raises.
    """
    log = replace(log, templates=tuple(map(_with_plain_lists, log.templates)))
    learner = Learner(values, _grown(bound, known), keep, known, inserted(log.templates, bound))
    statements = _statements(log.templates, bound, learner)
    reasons = {
        number: why
        for number, (template, one) in enumerate(zip(log.templates, bound, strict=True))
        if (why := _unsent(template, one) or (refused or {}).get(template.sql, ""))
    }
    builder = Builder(statements, learner)
    sequences, rare = _sequences(log, bound, known, reasons)
    builder.find_new(sequences)
    if not sequences:
        raise InputError("the log has no statement that a workload can send")
    workload, notes = _workload(log, sequences, builder, dump)
    workload = replace(workload, settings=tuple(settings))
    report = LearningReport(
        logs=tuple(logs),
        server=server,
        rows=dict(known.rows),
        statements=_said(statements, bound),
        left_out=(*_left_out(log, reasons), *rare),
        transactions=log.transactions,
        kinds=len(sequences),
        per_transaction=mean_statements(sequences),
        connections=log.connections,
        think_s=log.think_s,
        ordered=log.ordered,
        kept_values=keep,
        lost_begins=log.lost_begins,
        lost_commits=log.lost_commits,
        warnings=tuple(warnings(log)),
    )
    return writing.text(workload, _head(report), notes), report


def _with_plain_lists(template: Template) -> Template:
    """The template with lists that always have one value as that value."""
    plain = (
        replace(slot, sizes=()) if {size for size, _ in slot.sizes} == {1} else slot
        for slot in template.slots
    )
    return replace(template, slots=tuple(plain))


def _grown(bound: Sequence[Bound], known: Schema) -> frozenset[str]:
    """The columns that statements insert, and those that the server numbers in their rows."""
    inserted = {
        to.column
        for template in bound
        for to in template.slots
        if to.use == "insert" and to.column is not None
    }
    return frozenset(
        column.full_name
        for own in inserted
        for column in (own, *(other for other in known.tables[own.table].values() if other.automatic))
    )


def _workload(
    log: Log, sequences: Sequence[LogSequence], builder: Builder, dump: str
) -> tuple[Workload, list[str]]:
    """The workload that sends these, and a note for each transaction."""
    whole = sum(sequence.count for sequence in sequences)
    transactions, notes = [], []
    for sequence in sequences:
        transaction = builder.transaction(sequence, max(1, round(WEIGHTS * sequence.count / whole)))
        transactions.append(transaction)
        sent = [
            (statement.name, 1 if step.repeat == 1 else int(step.repeat))
            for step in transaction.steps
            for statement in step.statements
        ]
        notes.append(f"{100 * sequence.count / whole:.3g} % of transactions: {writing.summary(sent)}")
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
    names: Counter[str] = Counter()
    statements = []
    order = sorted(range(len(templates)), key=lambda number: -templates[number].count)
    named: dict[int, str] = {}
    for number in order:
        word = re.search(r"[A-Za-z]+", templates[number].sql)
        stem = writing.name(word[0] if word else "statement", *bound[number].tables[:1])
        names[stem] += 1
        named[number] = stem if names[stem] == 1 else f"{stem}_{names[stem]}"
    for number, (template, one) in enumerate(zip(templates, bound, strict=True)):
        shapes = tuple(
            learner.shape(slot, binding, template.count)
            for slot, binding in zip(template.slots, one.slots, strict=True)
        )
        labels = tuple(map(_label, template.slots, one.slots))
        numbers = numbered(template, one.slots, one.tables, learner.schema)
        statements.append(Statement(named[number], template, shapes, one.slots, one.outputs, labels, numbers))
    return statements


def _label(slot: Slot, binding: Binding) -> str:
    if binding.column is not None:
        return writing.name(binding.column.name)
    return {"table": TABLE_NUMBER, "limit": "limit"}.get(binding.use, slot.kind)


def _unsent(template: Template, bound: Bound) -> str:
    """Say why a workload cannot have this statement; empty: it can."""
    if bound.missing:
        return f"needs {bound.missing[0]}, which the dump does not have"
    word = re.match(r"[\s(]*(\w*)", template.sql)
    assert word is not None  # matches anything
    if _SETS_UP.match(template.sql):
        return ""
    return next((why for why, words in _UNSENT.items() if word[1].upper() in words.split()), "")


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
        moved = {place: index for index, place in enumerate(kept)}
        links = tuple(
            replace(link, statement=moved[link.statement], of_statement=moved[link.of_statement])
            for link in sequence.links
            if link.statement in moved and link.of_statement in moved
        )
        statements = tuple(sequence.statements[place] for place in kept)
        constants, texts = (
            tuple((moved[place], slot, what) for place, slot, what in every if place in moved)
            for every in (sequence.constants, sequence.texts)
        )
        rows = tuple(sequence.rows_sent[place] for place in kept) if sequence.rows_sent else ()
        key = (statements, sequence.explicit, sequence.end)
        kind = replace(
            sequence, statements=statements, links=links, constants=constants, texts=texts, rows_sent=rows
        )
        if (other := kinds.get(key)) is not None:
            sums = tuple(map(sum, zip(rows, other.rows_sent, strict=False)))
            kind = replace(other, count=other.count + kind.count, rows_sent=sums)
        kinds[key] = kind
    ordered = sorted(kinds.values(), key=lambda sequence: -sequence.count)
    rest = ordered[SEQUENCES_MAX:]
    rare = sum(sequence.count * len(sequence.statements) for sequence in rest)
    why = "writes a unique foreign key, whose parents run out"
    left = [
        LeftOut(reason=why, statements=count, example=log.templates[number].sql)
        for number, count in orphans.items()
        if number not in reasons
    ]
    if rest:
        left.append(LeftOut(reason="a rare kind of transaction", statements=rare, example=""))
    return ordered[:SEQUENCES_MAX], left


def warnings(log: Log) -> Iterator[str]:
    """Say why a workload learned from the log may not be what the server ran."""
    if log.kind == "slow" and log.fastest_s > FASTEST_MAX_S:
        fastest = f"the log's fastest statement took {log.fastest_s:.2g} s"
        yield f"{fastest}, so long_query_time has hidden faster ones: set it to 0"
    if log.sampled > 1 and log.sampled_sessions:
        yield (
            f"the server logged one of {log.sampled} sessions (Log_slow_rate_limit): connections and "
            "transactions per second are as much too few; shares and transactions hold"
        )
    elif log.sampled > 1:
        yield (
            f"the server logged one of {log.sampled} statements (Log_slow_rate_limit): transactions, links "
            "between statements and rates are lost; the statements' shares hold"
        )
    if calls := sum(template.count for template in log.templates if template.sql.upper().startswith("CALL ")):
        yield f"{calls} statements are CALLs; if the log also has what the procedures run, that is sent twice"


def _left_out(log: Log, reasons: Mapping[int, str]) -> list[LeftOut]:
    own = [
        LeftOut(reason=why, statements=log.templates[number].count, example=log.templates[number].sql)
        for number, why in reasons.items()
    ]
    return [*log.left_out, *own]


def _used(parameters: Mapping[str, Parameter], transactions: Sequence[Transaction]) -> dict[str, Parameter]:
    """The parameters that statements need, or that other parameters are made of."""
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
    """Sum up what the log says of each statement, frequent ones first."""
    whole = max(1, sum(statement.template.count for statement in statements))
    said = []
    for statement, one in zip(statements, bound, strict=True):
        template, count = statement.template, max(1, statement.template.count)
        examined, sent = template.rows_examined, template.rows_sent
        said.append(
            LearnedStatement(
                name=statement.name,
                sql=template.sql,
                count=template.count,
                share=template.count / whole,
                seconds=template.seconds,
                rows_examined=None if examined is None else examined / count,
                rows_sent=None if sent is None else sent / count,
                unbound=sum(to.use == "other" for to in one.slots),
                problem=one.problem,
            )
        )
    return tuple(sorted(said, key=lambda statement: -statement.count))


def _head(report: LearningReport) -> list[str]:
    lines = [
        f"Learned from {', '.join(report.logs)}.",
        f"{report.connections} connections at most; a client's mean time between two statements of a "
        f"transaction was {report.think_s * 1000:.3g} ms.",
        "A parameter draws its column's values in the dataset by position, from 0 (the first) to 1.",
        "This file has literals of the log."
        if report.kept_values
        else "No literal of the log is in this file, "
        "except for small numbers and formats that belong to no column.",
    ]
    lines += [f"Warning: {warning}." for warning in report.warnings]
    if not report.ordered:
        lines.append("The log does not have the order of statements: each is a transaction of its own.")
    return lines
