"""The words of an explanation, for terminal, comments and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shootout import figures
from shootout.explain.functions import Change
from shootout.explain.judge import Explained
from shootout.explain.values import Explanation
from shootout.model.plan import Cell
from shootout.model.verdict import Interval
from shootout.numbers import SPACE, share
from shootout.report import commands, differing
from shootout.report.sections import Point, Section
from shootout.writers.judged import Judged, Line

NAMED_MAX = 5  # functions in a list; the page lists all
SLOWED_MIN = 0.05  # by profiling, worth a sentence
UNNAMED_MIN = 0.05  # share of the CPU time that is worth a sentence
VARIABLES_MAX = 12  # in one sentence; the page lists all


def title(explanation: Explanation) -> str:
    """The cell, and what it is compared with."""
    cell = explanation.cell
    return f"{cell.workload}, {figures.threads(cell.threads)}: {cell.server} against {explanation.base}"


def judged(explained: Explained, evidence: Sequence[Section], out: Path | None = None) -> Judged:
    """What explains the change; `evidence`: what others know; `out`: the folder that its commands name."""
    lines = [Line(), Line(title(explained.explanation), "bold")]
    for point in points(explained, evidence, out):
        lines.append(Line(point.text))
        lines += [Line(f"  {item}") for item in (*point.items, *point.commands)]
    return Judged(tuple(lines), value(explained, evidence))


def value(explained: Explained, evidence: Iterable[Section]) -> dict[str, object]:
    """An explanation as JSON has it."""
    return {
        "cell": explained.explanation.cell,
        "base": explained.explanation.base,
        "not_profiled": explained.explanation.not_profiled,
        "throughput": explained.ratio,
        "throughput_with": explained.tried,
        "suspects": explained.suspects,
        "response_time": explained.wall_clock,
        "server_cpu": explained.cpu,
        "functions": explained.functions,
        "functions_with_callees": explained.inclusive,
        **{section.name: section.value for section in evidence},
        "plans": explained.plans,
        "variables": explained.variables,
    }


def points(explained: Explained, evidence: Iterable[Section], out: Path | None = None) -> Iterator[Point]:
    """What explains the change, the most certain first; `out`: the folder that its commands name."""
    if explained.ratio is not None:
        yield Point(f"Throughput in the profiled starts: {_change(explained.ratio)}.")
    if explained.slowed and explained.slowed[0] >= (1 + SLOWED_MIN) * explained.slowed[1]:
        here, before = (figures.amount(seconds, "s") for seconds in explained.slowed)
        yield Point(f"Profiling slows: on the base, {here} per transaction instead of the run's {before}.")
    for trial, ratio in explained.tried.items():
        yield Point(f"With {trial} on the head: {_change(ratio) if ratio else 'no steady start'}.")
    yield from _wall_clock(explained)
    yield from functions(explained)
    for section in evidence:
        yield from section.points
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
        run, cell = explained.explanation.run, explained.explanation.cell
        trials = tuple(trial_command(run, cell, suspect, out) for suspect in explained.suspects)
        yield Point("To measure the head with the base's value of a setting:", commands=trials)


def trial_command(run: str, cell: Cell, setting: str, out: Path | None) -> str:
    """What explains a cell with a setting (NAME=VALUE) changed on its head; `out`: None for the default."""
    options = {"--try": setting} | ({"--out": str(out)} if out else {})
    return commands.line("explain", options, run, cell.name)


def _wall_clock(explained: Explained) -> Iterator[Point]:
    if not explained.wall_clock:
        return
    whole, *parts = explained.wall_clock
    largest = sorted(parts, key=lambda part: -abs(part.difference.estimate))[:NAMED_MAX]
    yield Point(
        f"{_instead('Response time', whole)}:",
        tuple(f"{part.name} {difference(part.difference)}{_beyond(part, whole)}" for part in largest),
    )


def functions(explained: Explained) -> Iterator[Point]:
    """Where the server spends more or less CPU time."""
    cpu, explanation = explained.cpu, explained.explanation
    if cpu is None:
        yield Point(f"No profile: {explanation.not_profiled or 'fewer than two starts were profiled'}.")
        return
    yield Point(
        f"{_instead('Server CPU time', cpu)}:",
        tuple(
            f"{part.name} {difference(part.difference)}{_beyond(part, cpu)}"
            for part in explained.parts[:NAMED_MAX]
        ),
    )
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
            yield Point(
                f"{text}{more}:", tuple(function(change, explanation, cpu) for change in changes[:NAMED_MAX])
            )


def _instead(what: str, change: Change) -> str:
    head, base = figures.amount(change.head, "s"), figures.amount(change.base, "s")
    return f"{what} per transaction: {head} instead of {base}, {difference(change.difference)}"


def function(change: Change, explanation: Explanation, whole: Change) -> str:
    """A function's change; `whole`: that of all of them."""
    notes = ""
    if not change.base or not change.head:
        notes = f", only in {explanation.cell.server if change.head else explanation.base}"
    return f"{change.name} {difference(change.difference)}{notes}{_beyond(change, whole)}"


def _beyond(change: Change, whole: Change) -> str:
    """A part may change by more than its whole."""
    beyond = abs(change.difference.estimate) > abs(whole.difference.estimate)
    return ", more than the whole: others make up for it" if beyond else ""


def difference(seconds: Interval) -> str:
    """A difference of times with its interval."""
    scale, unit = (1e6, "µs") if abs(seconds.estimate) < 1e-3 else (1e3, "ms")
    estimate, low, high = (
        figures.signed(round(scale * end, 6)) for end in (seconds.estimate, seconds.low, seconds.high)
    )
    return f"{estimate}{SPACE}{unit} ({low} to {high})"


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
        tuple(
            f"{one.name}: {' → '.join(differing.variable_value(one, text) for text in (one.base, one.head))}"
            for one in notable[:VARIABLES_MAX]
        ),
    )


def _change(ratio: Interval) -> str:
    return f"{figures.change(ratio)} ({figures.change_range(ratio)})"
