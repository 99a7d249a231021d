"""The words of an explanation, for terminal, comments and pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shootout import figures
from shootout.answer import Answer, Detail, Field, Figure, Point, Table, Topic, Whole
from shootout.count import evidence
from shootout.count.instructions import Instructions
from shootout.explain import cause, flame
from shootout.explain.functions import Change
from shootout.explain.judge import Explained, Trial
from shootout.explain.values import Explanation
from shootout.model.execution_plan import PlanChange
from shootout.model.verdict import Interval, Verdict
from shootout.numbers import number, share
from shootout.report import commands, differing
from shootout.report.sections import Section

NAMED_MAX = 5  # functions in a list; the page lists all
SLOWED_MIN = 0.05  # by profiling, worth a sentence
UNNAMED_MIN = 0.05  # share of the CPU time that is worth a sentence
DECIDED = {
    Verdict.IMPROVED: "decided: faster",
    Verdict.REGRESSED: "decided: slower",
    Verdict.EQUIVALENT: "decided: no difference",
}
VARIABLES_MAX = 12  # in one sentence; the page lists all


def title(explanation: Explanation) -> str:
    """The cell, and what it is compared with."""
    cell = explanation.cell
    return f"{cell.workload}, {figures.threads(cell.threads)}: {cell.server} against {explanation.base}"


def answer(explained: Explained, counted: Instructions | None, out: Path | None = None) -> Answer:
    """Say what explains a change; `counted`: its servers' instructions; `out`: the folder in commands."""
    name = title(explained.explanation)
    return Answer(
        name=name,
        headline=f"{name}: {cause.main_cause(explained) or 'no certain cause'}",
        topics=topics(explained, counted, out),
        value=value(explained, counted),
    )


def section(explained: Explained, counted: Instructions | None) -> Section:
    """Give what a cell's page shows of an explanation."""
    return Section(
        name="why",
        about="statements, functions, plans, settings",
        title=title(explained.explanation),
        topics=topics(explained, counted),
        cause=cause.main_cause(explained),
    )


def value(explained: Explained, counted: Instructions | None) -> dict[str, object]:
    """An explanation as JSON has it."""
    explanation = explained.explanation
    return {
        "cell": explanation.cell, "base": explanation.base, "not_profiled": explanation.not_profiled,
        "throughput": explained.ratio, "throughput_with": explained.tried, "suspects": explained.suspects,
        "response_time": explained.wall_clock, "server_cpu": explained.cpu, "functions": explained.functions,
        "functions_with_callees": explained.inclusive, "instructions": counted, "plans": explained.plans,
        "variables": explained.variables,
    }  # fmt: skip


def topics(explained: Explained, counted: Instructions | None, out: Path | None = None) -> tuple[Topic, ...]:
    """Everything that an explanation has, what matters most first."""
    return (
        Topic("Why", points=tuple(points(explained, counted, out))),
        *_waits(explained),
        *_functions(explained),
        *([] if counted is None else evidence.topics(counted)),
        *_plans(explained),
        *_variables(explained),
    )


def points(explained: Explained, counted: Instructions | None, out: Path | None = None) -> Iterator[Point]:
    """Explain the change, the most certain cause first; `out`: the folder that its commands name."""
    if explained.ratio is not None:
        yield Point(f"Throughput in the sampled starts: {_change(explained.ratio)}.")
    if explained.slowed and explained.slowed[0] >= (1 + SLOWED_MIN) * explained.slowed[1]:
        here, before = (figures.amount(seconds, "s") for seconds in explained.slowed)
        yield Point(f"Sampling slows: on the base, {here} per transaction instead of the run's {before}.")
    for setting, trial in explained.tried.items():
        yield Point(f"With {setting} on the head: {_tried(trial)}.")
    yield from _wall_clock(explained)
    yield from functions(explained)
    yield from evidence.points(counted, explained.header)
    changed = tuple(differing.plan(change) for change in explained.plans if change.changed)
    if changed:
        yield Point("These plans changed:", changed)
    elif explained.plans:
        compared = figures.counted(len(explained.plans), "kind")
        yield Point(f"Plans: no change, {compared} of statement compared.")
    if explained.unplanned:
        yield Point("These plans were not compared:", explained.unplanned)
    yield variables(explained)
    if explained.suspects and not explained.tried:
        run, cell = explained.explanation.run, explained.explanation.cell.name
        asked = [{"--try": suspect} | ({"--out": str(out)} if out else {}) for suspect in explained.suspects]
        trials = tuple(commands.line("explain", options, run, cell) for options in asked)
        yield Point("To measure the head with the base's value of a setting:", commands=trials)


def _wall_clock(explained: Explained) -> Iterator[Point]:
    if not explained.wall_clock:
        return
    whole, *parts = explained.wall_clock
    largest = sorted(parts, key=lambda part: -abs(part.difference.estimate))[:NAMED_MAX]
    yield Point(f"{_instead('Response time', whole)}:", tuple(_part(part, whole) for part in largest))


def functions(explained: Explained) -> Iterator[Point]:
    """Show where the server spends more or less CPU time."""
    cpu, explanation = explained.cpu, explained.explanation
    if cpu is None:
        yield Point(f"No profile: {explanation.not_profiled or 'fewer than two starts were profiled'}.")
        return
    parts = tuple(_part(part, cpu) for part in explained.parts[:NAMED_MAX])
    yield Point(f"{_instead('Server CPU time', cpu)}:", parts)
    if explained.unnamed >= UNNAMED_MIN:
        yield Point(f"{share(round(explained.unnamed, 2))} of it is in functions without a name.")
    if not explained.named:
        yield Point(f"No function certainly changed; {len(explained.functions)} were compared.")
    for text, changes in (
        ("Functions that changed most, without what they call", explained.named),
        ("Functions that locate the change, with what they call (these overlap)", explained.narrowed),
    ):
        if changes:
            more = f", {NAMED_MAX} of {len(changes)}" if len(changes) > NAMED_MAX else ""
            shown = tuple(_part(each, cpu, _only(each, explanation)) for each in changes[:NAMED_MAX])
            yield Point(f"{text}{more}:", shown)


def _instead(what: str, change: Change) -> str:
    head, base = figures.amount(change.head, "s"), figures.amount(change.base, "s")
    return f"{what} per transaction: {head} instead of {base}, {figures.difference(change.difference)}"


def _only(change: Change, explanation: Explanation) -> str:
    if change.base and change.head:
        return ""
    return f", only in {explanation.cell.server if change.head else explanation.base}"


def _part(change: Change, whole: Change, note: str = "") -> str:
    """A part may change by more than its whole."""
    beyond = abs(change.difference.estimate) > abs(whole.difference.estimate)
    others = ", more than the whole: others make up for it" if beyond else ""
    return f"{change.name} {figures.difference(change.difference)}{note}{others}"


def variables(explained: Explained) -> Point:
    """The variables that differ; those that are known to matter by name."""
    notable = [variable for variable in explained.variables if variable.notable]
    if not explained.variables:
        return Point("Settings: no variable differs.")
    more = f", the first {VARIABLES_MAX}" if len(notable) > VARIABLES_MAX else ""
    count = figures.counted(len(explained.variables), "variable")
    differ = "differs" if len(explained.variables) == 1 else "differ"
    if not notable:
        return Point(f"Settings: {count} {differ}, but none that is known to matter.")
    return Point(
        f"Settings: {count} {differ}, {len(notable)} of them known to matter{more}:",
        tuple(f"{one.name}: {differing.variable_change(one)}" for one in notable[:VARIABLES_MAX]),
    )


def _tried(trial: Trial) -> str:
    """Compare the head with a setting to the base, and to the head without it."""
    if trial.to_base is None or trial.to_head is None:
        return "no steady start"
    decided = DECIDED.get(trial.verdict, "undecided")
    return f"{_change(trial.to_base)}; beside the head without it {_change(trial.to_head)}, {decided}"


def _change(ratio: Interval) -> str:
    return f"{figures.change(ratio)} ({figures.change_range(ratio)})"


# --- on the page alone ----------------------------------------------------------------------------


def _waits(explained: Explained) -> Iterator[Topic]:
    """The response time, by where transactions spend it."""
    variables = explained.explanation.variables
    hidden = "".join(
        f"; not visible on {label}, whose performance_schema is off"
        for label, values in variables.items()
        if values.get("performance_schema") != "ON"
    )
    rows = tuple((row.name, *_per_transaction(row)) for row in explained.wall_clock)
    caption = (
        "Time per transaction, µs, with intervals over starts. CPU and run queue: of all the server's "
        f"threads. Waits: of connections, as performance_schema counts them{hidden}."
    )
    if rows:
        yield Topic(
            "Where transactions wait",
            tables=(Table(("spent", "base", "head", "difference"), rows, caption),),
            page_only=True,
        )


def _functions(explained: Explained) -> Iterator[Topic]:
    if explained.cpu is None:
        return
    said = (
        "Callers above, what they call below. A frame is as wide as its CPU time per transaction, the mean "
        "of both servers. Functions that only one server has are left out between functions that both have. "
        f"Sampled with {explained.explanation.profiler}."
    )
    graph = flame.Graph(explained.paths, explained.confidence)
    yield Topic("Where the CPU time goes", (said,), drawing=graph, page_only=True)
    caption = (
        "CPU time per transaction by function, µs. Intervals are for one function each; the last column says "
        "which differences are certain after correction for the number of functions. [file]: all functions "
        "of a file that have no name. A function may change by more than all together: others make up for it."
    )
    own = {change.name: change for change in explained.functions}
    whole = {change.name: change for change in explained.inclusive}
    both = ((name, own.get(name), whole.get(name)) for name in {**own, **whole})
    rows = tuple((name, *_per_transaction(a), *_per_transaction(b), _certain(a, b)) for name, a, b in both)
    columns = (
        "function", "base", "head", "difference", "with callees, base", "head", "difference", "certain",
    )  # fmt: skip
    table = Table(columns, rows, caption, sortable=True)
    yield Topic("CPU time by function", tables=(table,), page_only=True)


def _per_transaction(change: Change | None) -> tuple[Field, ...]:
    """Microseconds on base and head, and their difference; without change: too few samples."""
    if change is None:
        return None, None, None
    by = change.difference
    base, head, estimate, low, high = (
        1e6 * each for each in (change.base, change.head, by.estimate, by.low, by.high)
    )
    return Figure(base), Figure(head), Whole(Figure(estimate, form="signed", low=low, high=high))


def _certain(own: Change | None, whole: Change | None) -> str:
    sides = bool(own and own.certain), bool(whole and whole.certain)
    return {(True, True): "both", (True, False): "by itself", (False, True): "with callees"}.get(sides, "")


def _plans(explained: Explained) -> Iterator[Topic]:
    explanation = explained.explanation
    if details := tuple(
        _plan(change, explanation.base, explanation.cell.server) for change in explained.plans
    ):
        yield Topic("Plans", details=details, page_only=True)


def _plan(change: PlanChange, base: str, head: str) -> Detail:
    said = [f"{change.kind}: {'changed' if change.changed else 'the same'}"]
    said += ["differs between starts"] if change.unsteady else []
    plan = differing.side_by_side(change, base, head, "; ".join((*said, *differing.rows_read(change))))
    theirs, ours = change.base.handlers, change.head.handlers
    counts = ((name, *(number(of.get(name, 0.0), 0) for of in (theirs, ours))) for name in {**theirs, **ours})
    handlers = (f"{name}: {before} → {after}" for name, before, after in counts)
    return replace(plan, lines=(*plan.lines, *handlers), open=change.changed)


def _variables(explained: Explained) -> Iterator[Topic]:
    shown = differing.variable_value
    rows = tuple(
        (each.name, shown(each, each.base), shown(each, each.head), each.origin)
        for each in explained.variables
    )
    if rows:
        caption = "Global variables, those known to matter first"
        table = Table(("variable", "base", "head", "because"), rows, caption, sortable=True)
        yield Topic("Variables that differ", tables=(table,), page_only=True)
