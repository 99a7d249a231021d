"""The words of an explanation, for terminal, comments and pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shootout.explain import plan_changes
from shootout.explain.functions import Change
from shootout.explain.judge import Explained
from shootout.explain.plan_changes import PlanChange
from shootout.explain.values import Explanation, PlanStep, StatementPlan
from shootout.model.verdict import Interval
from shootout.numbers import SPACE, number, share
from shootout.report import commands, wording
from shootout.settings.differences import VariableDifference
from shootout.work import report as work
from shootout.work.instructions import Count, Statement

NAMED_MAX = 5  # functions in a list; the page lists all
UNNAMED_MIN = 0.05  # share of the CPU time that is worth a sentence
VARIABLES_MAX = 12  # in one sentence; the page lists all


@dataclass(frozen=True)
class Point:
    """A sentence, and what it introduces."""

    text: str
    items: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # for a shell


def title(found: Explained) -> str:
    cell = found.explanation.cell
    return f"{cell.workload}, {wording.threads(cell.threads)}: {cell.server} against {found.explanation.base}"


def value(found: Explained) -> dict[str, object]:
    return {
        "cell": found.explanation.cell,
        "base": found.explanation.base,
        "not_profiled": found.explanation.not_profiled,
        "throughput": found.ratio,
        "throughput_with": found.tried,
        "suspects": found.suspects,
        "response_time": found.wall_clock,
        "server_cpu": found.cpu,
        "functions": found.functions,
        "functions_with_callees": found.inclusive,
        "instructions": found.counted,
        "plans": found.plans,
        "variables": found.variables,
    }


def points(found: Explained, out: Path | None = None) -> Iterator[Point]:
    """What explains the change, the most certain first; `out`: the folder that its commands name."""
    if found.ratio is not None:
        yield Point(f"Throughput in the profiled starts: {_change(found.ratio)}.")
    for trial, ratio in found.tried.items():
        yield Point(f"With {trial} on the head: {_change(ratio) if ratio else 'no steady start'}.")
    yield from _wall_clock(found)
    yield from functions(found)
    yield from instructions(found)
    changed = tuple(plan(each) for each in found.plans if each.changed)
    if changed:
        yield Point("These plans changed:", changed)
    elif found.plans:
        yield Point(f"Plans: no change, {wording.counted(len(found.plans), 'kind')} of statement compared.")
    yield variables(found)
    if found.suspects and not found.tried:
        run, cell = found.explanation.run, found.explanation.cell
        trials = tuple(commands.explain(run, cell, each, out) for each in found.suspects)
        yield Point("To measure the head with the base's value of a setting:", commands=trials)


def _wall_clock(found: Explained) -> Iterator[Point]:
    if not found.wall_clock:
        return
    whole, *parts = found.wall_clock
    largest = sorted(parts, key=lambda each: -abs(each.difference.estimate))[:NAMED_MAX]
    yield Point(
        f"{_instead('Response time', whole)}:",
        tuple(f"{each.name} {difference(each.difference)}" for each in largest),
    )


def functions(found: Explained) -> Iterator[Point]:
    """Where the server spends more or less CPU time."""
    cpu, explanation = found.cpu, found.explanation
    if cpu is None:
        yield Point(f"No profile: {explanation.not_profiled or 'fewer than two starts were profiled'}.")
        return
    yield Point(
        f"{_instead('Server CPU time', cpu)}:",
        tuple(f"{each.name} {difference(each.difference)}" for each in found.parts[:NAMED_MAX]),
    )
    if found.unnamed >= UNNAMED_MIN:
        yield Point(f"{share(round(found.unnamed, 2))} of it is in functions without a name.")
    if not found.named:
        yield Point(f"No function certainly changed; {len(found.functions)} were compared.")
    for text, changes in (
        ("Functions that changed most, without what they call", found.named),
        ("Functions that locate the change, with what they call (these overlap)", found.narrowed),
    ):
        if changes:
            more = f", {NAMED_MAX} of {len(changes)}" if len(changes) > NAMED_MAX else ""
            yield Point(f"{text}{more}:", tuple(function(each, explanation) for each in changes[:NAMED_MAX]))


def instructions(found: Explained) -> Iterator[Point]:
    """What statements execute more or less, and which functions do; or the command that counts it."""
    if found.counted is None:
        command = commands.count(found.header)
        if command is not None:
            said = "Instructions of each statement are not counted yet; this counts them:"
            yield Point(said, commands=(command,))
        return
    whole = found.counted.whole
    yield Point(
        f"Instructions, counted in {found.counted.run}:", tuple(map(statement, found.counted.statements))
    )
    if whole.explaining:
        yield Point(
            "Functions that explain most of it, without what they call:",
            tuple(_of_whole(each, whole) for each in whole.explaining[:NAMED_MAX]),
        )
        yield Point(
            "By part of the server:", tuple(_of_whole(each, whole) for each in whole.parts[:NAMED_MAX])
        )
    unnamed, sizes = whole.unnamed, (whole.change.base, whole.change.head)
    if any(
        size and of >= UNNAMED_MIN * size.mean
        for size, of in zip(sizes, (unnamed.base, unnamed.head), strict=True)
    ):
        yield Point(f"Of them, {_of_whole(unnamed, whole)}.")


def statement(each: Statement) -> str:
    """A kind of statement: its instructions on head and base."""
    change = each.change
    if change.ratio is None:
        return f"{change.kind}: {change.reason}"
    by = f"{work.percent(change.ratio)} ({work.interval(change.ratio)})"
    return f"{change.kind}: {work.count(change.head)} instead of {work.count(change.base)}, {by}"


def _of_whole(each: Count, whole: Statement) -> str:
    part, total = (wording.rounded(value) for value in (each.difference, whole.difference or 0.0))
    return f"{part} of {total} instructions: {each.name}"


def _instead(what: str, each: Change) -> str:
    head, base = wording.amount(each.head, "s"), wording.amount(each.base, "s")
    return f"{what} per transaction: {head} instead of {base}, {difference(each.difference)}"


def function(each: Change, explanation: Explanation) -> str:
    only = ""
    if not each.base or not each.head:
        only = f", only in {explanation.cell.server if each.head else explanation.base}"
    return f"{each.name} {difference(each.difference)}{only}"


def difference(seconds: Interval) -> str:
    scale, unit = (1e6, "µs") if abs(seconds.estimate) < 1e-3 else (1e3, "ms")
    estimate, low, high = (
        wording.signed(scale * each) for each in (seconds.estimate, seconds.low, seconds.high)
    )
    return f"{estimate}{SPACE}{unit} ({low} to {high})"


def plan(each: PlanChange) -> str:
    read = [plan_changes.rows_read(of) for of in (each.base, each.head)]
    rows = "" if None in read else f"; rows read: {' → '.join(number(count or 0.0, 0) for count in read)}"
    return f"{each.kind}: {_access(each.base)} → {_access(each.head)}{rows}"


def variables(found: Explained) -> Point:
    """The variables that differ; those that are known to matter by name."""
    notable = [each for each in found.variables if each.notable]
    if not found.variables:
        return Point("Settings: no variable differs.")
    more = f", the first {VARIABLES_MAX}" if len(notable) > VARIABLES_MAX else ""
    count = wording.counted(len(found.variables), "variable")
    if not notable:
        return Point(f"Settings: {count} differ, but no one that is known to matter.")
    return Point(
        f"Settings: {count} differ, {len(notable)} of them known to matter{more}:",
        tuple(
            f"{each.name}: {variable_value(each, each.base)} → {variable_value(each, each.head)}"
            for each in notable[:VARIABLES_MAX]
        ),
    )


def variable_value(variable: VariableDifference, text: str | None) -> str:
    return "absent" if text is None else wording.setting(text, variable.name) or "empty"


def _change(ratio: Interval) -> str:
    return f"{wording.change(ratio)} ({wording.change_range(ratio)})"


def _access(each: StatementPlan) -> str:
    return ", ".join(map(_step, each.steps)) or "another plan"


def _step(step: PlanStep) -> str:
    key = f" by {step.key}" if step.key else ""
    return f"{step.access or 'no'} access to {step.table}{key}" if step.table else "no table"
