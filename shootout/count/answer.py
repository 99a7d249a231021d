"""The words of counts: topics that terminal, Markdown and page show alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shootout import figures
from shootout.analysis.exit_codes import exit_code
from shootout.answer import Answer, Field, Figure, Mark, Table, Topic, change, factor, filled
from shootout.count import by_version
from shootout.count.evidence import PLACES, by, counted
from shootout.count.findings import findings
from shootout.count.values import (
    FRAME,
    MIX,
    TRANSACTION,
    CountChange,
    CountComparison,
    CountDocument,
    CountedFunctions,
    CountFailure,
    CountSeries,
)
from shootout.model.run import MODES_DROPPED
from shootout.model.verdict import Verdict
from shootout.numbers import share

HEADS_MAX = 2  # with a sentence of their own, and all rows in the terminal
FUNCTIONS_MAX = 8  # of a kind on each server
QUOTIENT = (
    "A change compares equal statements start by start, so the quotient of the printed means may differ."
)


def answer(comparison: CountComparison) -> Answer:
    """Say what a statement costs on each server."""
    document = comparison.document
    labels = [server.label for server in document.servers]
    table = by_version.heat(comparison)
    which = ", ".join(labels) if len(labels) <= HEADS_MAX else f"{len(labels)} servers"
    verdicts = {change.verdict for change in comparison.changes}
    return Answer(
        name=f"What a statement costs: {which}",
        headline=headline(comparison) if table is None else table.headline,
        topics=(
            *((*_workloads(comparison), *_findings(comparison)) if table is None else (table.topic,)),
            *(Topic("Not counted", said, is_problem=True) for said in [failures(comparison)] if said),
            _servers(document),
        ),
        value=value(comparison),
        exit_code=exit_code(
            failed=not all(failure.lacks for failure in document.failures) or Verdict.FAILED in verdicts,
            regressed=Verdict.REGRESSED in verdicts,
        ),
        conditions=(
            f"Instructions of the connection's thread for each statement, counted by {document.valgrind}: "
            f"work, not time. {QUOTIENT}"
        ),
        footer=f"Counted {figures.moment(document.started)} by shootout {document.version}.",
        listed=(figures.moment(document.started), ", ".join(labels)),
    )


def value(comparison: CountComparison) -> dict[str, object]:
    """Give a comparison as JSON has it."""
    document = comparison.document
    return {
        "run": document.run, "bar": document.bar, "changes": comparison.changes,
        "findings": [
            {"workload": workload, "kind": kind, "server": server, "texts": texts}
            for (workload, kind, server), texts in findings(comparison).items()
        ],
        "failures": document.failures,
    }  # fmt: skip


# --- the answer in a sentence ------------------------------------------------------------------------


def headline(comparison: CountComparison) -> str:
    """Give the result in one sentence for each head; in one for all of them, if there are many."""
    if len(heads(comparison)) > HEADS_MAX:
        return _of_all(comparison)
    return " ".join(_of_head(comparison, head) for head in heads(comparison)) or "One server, counted."


def heads(comparison: CountComparison) -> tuple[str, ...]:
    """List the servers that are compared with the base."""
    compared = (change.server for change in comparison.changes if change.server != comparison.base)
    return tuple(dict.fromkeys(compared))


def _of_all(comparison: CountComparison) -> str:
    verdicts = [change.verdict for change in comparison.changes if change.server != comparison.base]
    worse, better = (verdicts.count(verdict) for verdict in (Verdict.REGRESSED, Verdict.IMPROVED))
    return (
        f"{len(heads(comparison))} servers against {comparison.base}: more instructions in {worse} of "
        f"{len(verdicts)} comparisons, fewer in {better}."
    )


def _of_head(comparison: CountComparison, head: str) -> str:
    changes = [change for change in comparison.changes if change.server == head]
    if not any(change.ratio for change in changes):
        return f"{head} could not be compared with {comparison.base}."
    worse = [(each.ratio, each) for each in changes if each.ratio and each.verdict is Verdict.REGRESSED]
    better = sum(change.verdict is Verdict.IMPROVED for change in changes)
    base, of = comparison.base, figures.counted(len(changes), "kind")
    if not worse and not better:
        return f"{head} against {base}: no certain change of instructions in {of}."
    if not worse:
        return f"{head} executes fewer instructions than {base} for {better} of {of}, more for none."
    ratio, most = max(worse, key=lambda each: each[0].estimate)
    return (
        f"{head} executes more instructions than {base} for {len(worse)} of {of} "
        f"(most: {factor(ratio, PLACES)}, {most.kind} of {most.workload}), fewer for {better or 'none'}."
    )


# --- topics --------------------------------------------------------------------------------------------


def _workloads(comparison: CountComparison) -> Iterator[Topic]:
    document, compared = comparison.document, heads(comparison)
    several = len(compared) > 1
    columns = (
        "kind", *(("server",) * several), "change", "interval", "verdict", "instructions, base",
        "instructions", "spread of starts", "allocations, base", "allocations", "system calls, base",
        "system calls",
    )  # fmt: skip
    caption = "Instructions for each statement; ×: how often a transaction has it"
    profiles = {(each.workload, each.kind, each.server): each for each in document.profiles}
    every = [each for each in comparison.changes if each.server in (compared or (comparison.base,))]
    for workload in dict.fromkeys(kind.workload for kind in document.kinds):
        often = {kind.name: kind.per_transaction for kind in document.kinds if kind.workload == workload}
        rows = tuple(
            (
                each.kind if often[each.kind] in (0, 1) else f"{each.kind} ×{often[each.kind]:g}",
                *((each.server,) * several),
                *_fields(each, comparison.base, profiles),
            )
            for each in every
            if each.workload == workload
        )
        whole = len(compared) <= HEADS_MAX
        counts = filled(Table(columns, rows, caption, sortable=True, whole=whole))
        yield Topic(workload, tables=(counts, _functions(document, workload)))


def _fields(
    each: CountChange, base: str, profiles: Mapping[tuple[str, str, str], CountedFunctions]
) -> Iterator[Field]:
    beside = "" if each.server == base else base
    yield from by(each.ratio)
    yield Mark(each.verdict, "lacks it" * (each.lacks and each.head is None), each.reason)
    yield from (counted(each.base) if beside else None, counted(each.head))
    yield None if each.spread is None else Figure(100 * each.spread, "%", 2)
    computed = each.kind in (FRAME, MIX)  # from other kinds, which have allocations and system calls
    sides = [profiles.get((each.workload, each.kind, label)) for label in (beside, each.server)]
    yield from (None if computed or one is None else Figure(one.allocations, places=1) for one in sides)
    yield from (None if computed or one is None else Figure(one.system_calls, places=1) for one in sides)


def _functions(document: CountDocument, workload: str) -> Table:
    rows: list[tuple[Field, ...]] = []
    for each in document.profiles:
        if each.workload == workload:
            costs = zip(each.names, each.exclusive, each.inclusive, strict=True)
            for name, own, whole in sorted(costs, key=lambda cost: -cost[1])[:FUNCTIONS_MAX]:
                costs_of = (Figure(own, places=0), Figure(whole, places=0))
                rows.append((each.kind, each.server, document.functions[name], *costs_of))
    columns = ("kind", "server", "function", "its own", "with what it calls")
    caption = "Functions with most instructions for each statement"
    return Table(columns, tuple(rows), caption, sortable=True, page_only=True)


def _findings(comparison: CountComparison) -> Iterator[Topic]:
    several = len(heads(comparison)) > 1
    lines = tuple(
        f"{workload}, {kind}{f', {server}' if several else ''}: {'; '.join(texts)}"
        for (workload, kind, server), texts in findings(comparison).items()
    )
    if lines:
        yield Topic("Other plans, more calls, and where more instructions are", lines)


def failures(comparison: CountComparison) -> tuple[str, ...]:
    """Say why there are no counts, or of other data."""
    document = comparison.document
    made = max((count.start for count in document.counts), default=0)
    fewer = [f"Later starts: counted in {made} of {document.starts} starts"] * (0 < made < document.starts)
    lacking: dict[str, list[CountFailure]] = {}
    for each in document.failures:
        if each.lacks:
            lacking.setdefault(each.server, []).append(each)
    failed = (
        f"{', '.join(filter(None, (each.server, each.workload, each.kind)))}: {each.reason}"
        for each in document.failures
        if not each.lacks
    )
    return (*fewer, *modes_dropped(document), *failed, *map(_lacking, lacking.values()))


def modes_dropped(document: CountDocument) -> list[str]:
    """Say which session modes of a dump the servers lack."""
    every = ((server.label, each) for server in document.servers for each in server.warnings)
    return [f"{label}: {each.text}" for label, each in every if each.code == MODES_DROPPED]


def _lacking(failures: Sequence[CountFailure]) -> str:
    first, *others = failures
    if not others:
        return f"{first.server} lacks {', '.join(filter(None, (first.workload, first.kind)))}: {first.reason}"
    names = ", ".join(each.kind or each.workload for each in failures)
    return f"{first.server} lacks {len(failures)} kinds of statement: {names}"


def _servers(document: CountDocument) -> Topic:
    facts: list[tuple[str, Field]] = [(each.label, figures.server(each)) for each in document.servers]
    options = ", ".join(f"{name} = {value}" for name, value in document.options.items())
    datasets = "; ".join(dict.fromkeys(map(figures.dataset, document.datasets)))
    facts += [
        ("Counted with", options), ("Dataset", datasets), ("Seed", str(document.seed)),
        ("Bar", share(document.bar)),
    ]  # fmt: skip
    return Topic("Servers", facts=tuple(facts), page_only=True)


# --- over time -----------------------------------------------------------------------------------------


def history(series: Iterable[CountSeries]) -> Topic | None:
    """Show the instructions of each kind over time, and steps of the bar or more; None: there are none."""
    every = [*series]
    kinds = {one.workload for one in every if one.kind not in (TRANSACTION, MIX)}
    shown = (one for one in every if one.workload not in kinds or one.kind not in (TRANSACTION, MIX))
    rows = tuple(map(_history_row, shown))
    if not rows:
        return None
    columns = ("workload", "kind", "server", "counts", "first", "newest", "steps")
    return Topic(
        "Over time",
        ("Counts of equal statements on equal tables, under equal settings.",),
        tables=(Table(columns, rows, "Instructions for each statement", sortable=True, whole=True),),
    )


def _history_row(series: CountSeries) -> tuple[Field, ...]:
    steps = [
        f"{change(point.step, PLACES)} in {point.commit[:12] or point.run}"
        for point in reversed(series.steps)
        if point.step is not None
    ]
    first, newest = (Figure(series.points[end].instructions, places=0) for end in (0, -1))
    return (
        series.workload, series.kind, series.server, Figure(len(series.points), places=0), first, newest,
        ", ".join(steps) or "none",
    )  # fmt: skip
