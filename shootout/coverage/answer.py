"""The words of a change's coverage, and of a map's."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from shootout.answer import Answer, Field, Figure, Table, Topic
from shootout.coverage.judge import ChangeCoverage, Execution, FunctionCoverage
from shootout.coverage.values import MapDocument, MapServer
from shootout.figures import counted
from shootout.numbers import number, share

KINDS_MAX = 3  # in a cell of a table
TOUCHED_MAX = 12  # executed, unseen and unknown functions each, on a run's page
NAMED_MIN = 0.9  # of a program's functions: fewer have a remark
BLIND_MAX = 2  # of a part
COLUMNS = ("function", "file", "touched", "kinds", "executed by (share of its instructions)")
PART_COLUMNS = (
    "part", "functions", "executed", "KiB of code", "in executed functions", "largest blind spots (KiB)",
)  # fmt: skip
NOTHING = "no workload executes what changed"


def headline(coverage: ChangeCoverage) -> str:
    """Say in a sentence which statements execute the change."""
    if not coverage.functions:
        return "The change touches no function in C or C++."
    said = f"The change touches {counted(len(coverage.functions), 'function')}"
    if coverage.is_unseen:
        return f"{said}: {NOTHING}."
    parts = []
    if executed := coverage.executed:
        most = executed[0]
        largest = f"most: {most.touched.name}, {_execution(most.executions[0])}"
        by = f"executed by {counted(len(coverage.kinds), 'kind')} of statement ({largest})"
        if len(executed) == len(coverage.functions):
            return f"{said}, {by}."
        parts.append(f"{len(executed)} {by}")
    others = {"not executed": coverage.unseen, "not known": coverage.unknown}
    parts += [f"{len(group)} {state}" for state, group in others.items() if group]
    return f"{said}: {', '.join(parts)}."


def remarks(coverage: ChangeCoverage) -> Iterator[str]:
    """Say what the headline cannot."""
    if coverage.unseen and not coverage.is_unseen:
        yield "A gate on the workloads of this map does not see what none of them executes."
    touches = coverage.touches
    if touches.macros:
        names = ", ".join(dict.fromkeys(name for name, _ in touches.macros))
        yield f"Macros are touched: {names}. Which functions use them cannot be told by function."
    if touches.outside:
        files = ", ".join(touches.outside)
        yield f"Lines outside of functions are touched, in {files}: types and variables can change any."
    if coverage.unseen:
        yield "A function that none executes may be inlined into others, in headers above all."
    few = [server for server in coverage.map.mapped if server.named is not None and server.named < NAMED_MIN]
    if few and coverage.unknown:
        named = "; ".join(f"{server.label} {share(round(server.named or 0, 2))}" for server in few)
        yield f"Some of a program's functions have no name, and are not known. Named are: {named}."
    if touches.reordered:
        yield f"Moved within its file, and nothing else: {', '.join(touches.reordered)}."
    if touches.comments:
        yield f"Only comments or spaces differ in {', '.join(touches.comments)}."
    if touches.others:
        yield f"Not C or C++, and not looked at: {counted(len(touches.others), 'file')}."


def of_run(coverage: ChangeCoverage, workloads: Collection[str]) -> str:
    """Say in a run's page which statements execute a change, and which of the run's workloads."""
    said = headline(coverage)
    if coverage.elsewhere:
        said += " Macros, types or variables are touched, too: what they reach cannot be told."
    known = {kind.workload for kind in coverage.map.kinds}
    if unknown := [name for name in workloads if name not in known]:
        said += f" The map does not know {', '.join(unknown)}."
    if blind := [name for name in workloads if name in known - coverage.workloads]:
        what = "what is known of it" if coverage.unknown else "it"
        said += f" {', '.join(blind)} {'executes' if len(blind) == 1 else 'execute'} none of {what}."
    return said


def touched(coverage: ChangeCoverage) -> Iterator[str]:
    """Say what executes each function, for a run's page: the executed ones first, then the others."""
    groups = {"executed": coverage.executed, "not executed": coverage.unseen, "not known": coverage.unknown}
    for state, group in groups.items():
        for each in group[:TOUCHED_MAX]:
            yield f"{each.touched.name} ({each.touched.file}; {_how(each)}): {_by(each)}"
        if (more := len(group) - TOUCHED_MAX) > 0:
            yield f"{counted(more, 'more function')}, {state}"


def answer(coverage: ChangeCoverage) -> Answer:
    """Say which statements execute a change."""
    rows = tuple(map(_row, coverage.functions))
    table = Table(COLUMNS, rows, whole=True)
    said = (*remarks(coverage), _map(coverage.map))
    return Answer(
        name="Coverage of a change",
        headline=headline(coverage),
        topics=(*([Topic(tables=(table,))] if rows else []), Topic(lines=said)),
        value=value(coverage),
    )


def value(coverage: ChangeCoverage) -> dict[str, object]:
    """Give the coverage of a change as JSON has it."""
    return {
        "map": coverage.map.run,
        "headline": headline(coverage),
        "remarks": [*remarks(coverage)],
        "functions": coverage.functions,
        "macros": coverage.touches.macros,
        "outside": coverage.touches.outside,
        "workloads": sorted(coverage.workloads),
    }


def _row(each: FunctionCoverage) -> tuple[Field, ...]:
    executions = None if each.unknown else Figure(len(each.executions), places=0)
    return each.touched.name, each.touched.file, _how(each), executions, _by(each)


def _how(each: FunctionCoverage) -> str:
    return each.touched.how + (", in a header" if each.touched.header else "")


def _by(each: FunctionCoverage) -> str:
    """The kinds that execute most of a function."""
    shown = [_execution(one) for one in each.executions[:KINDS_MAX]]
    more = len(each.executions) - len(shown)
    by = "; ".join(shown) + (f"; {more} more" if more else "")
    unseen = "not executed" + (", but by threads without a connection" if each.beside else "")
    return by or (f"not known: {each.unknown}" if each.unknown else unseen)


def _execution(one: Execution) -> str:
    much = share(one.share) if one.share else "less than 0.1 %"
    return f"{much} of {one.kind.workload}, {one.kind.name}"


def _map(document: MapDocument) -> str:
    servers = ", ".join(server.label for server in document.mapped)
    kinds = counted(len(document.kinds), "kind")
    functions = counted(len(document.functions), "function")
    return f"Map {document.run}: {kinds} of statement, {functions}, of {servers}."


# --- coverage -------------------------------------------------------------------------------------


def covered(server: MapServer) -> str:
    """Say how much of a server's program is executed, in a sentence."""
    functions = sum(part.functions for part in server.parts)
    executed = sum(part.executed for part in server.parts)
    if not functions:
        return f"{server.label}: its program has no symbols, so its functions are not known."
    return (
        f"{server.label}: {number(executed, 0)} of {number(functions, 0)} of its own functions are executed "
        f"({share(round(executed / functions, 3))}){_named(server)}."
    )


def _named(server: MapServer) -> str:
    if server.named is None:
        return ""
    others = ", and the others are not known" if server.named < NAMED_MIN else ""
    return f"; {share(round(server.named, 2))} of all its functions have a name{others}"


def of_map(document: MapDocument) -> Answer:
    """Say which parts of each server's program a map covers, and its largest blind spots."""
    said = {server.label: {"parts": server.parts, "blind": server.blind} for server in document.mapped}
    return Answer(
        name=f"Coverage map {document.run}",
        headline=_map(document),
        topics=tuple(
            Topic(covered(server), tables=(Table(PART_COLUMNS, tuple(_parts(server)), whole=True),))
            for server in document.mapped
        ),
        value={"map": document.run, "kinds": document.kinds, "servers": said},
    )


def _parts(server: MapServer) -> Iterator[tuple[Field, ...]]:
    for part in server.parts:
        counts = (Figure(each, places=0) for each in (part.functions, part.executed, part.bytes // 1024))
        blind = [spot for spot in server.blind if spot.part == part.name][:BLIND_MAX]
        spots = ", ".join(f"{spot.name} {number(spot.bytes // 1024, 0)}" for spot in blind)
        yield part.name, *counts, Figure(100 * part.executed_bytes / max(part.bytes, 1), "%", 1), spots
