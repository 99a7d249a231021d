"""Settings to set: what each old value restores, saves and costs."""

from __future__ import annotations

from collections.abc import Iterator

from shootout import figures
from shootout.answer import Figure, Table, Topic, Whole, factor
from shootout.count.values import CountChange, CountFigure
from shootout.figures import counted
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.numbers import SPACE, number, percent_places
from shootout.settings.table import BY_TIME
from shootout.upgrade.judge import CHANGED, OFF, Findings, Restored, Worst, place

MEANINGS = {
    Verdict.REGRESSED: "slower", Verdict.IMPROVED: "faster", Verdict.EQUIVALENT: "the same",
    Verdict.INCONCLUSIVE: "undecided",
}  # fmt: skip


def settable(found: Findings) -> Topic | None:
    """Lines for my.cnf, each with the loss that it was counted to restore; the headline's loss first."""
    if found.restored is None and found.worst is None:
        return None
    every = found.restorations
    useful = [each for each in every if each.restores]
    lines = [f"{_lost(found.worst)}: {_tried(found, found.worst)}."] if found.worst else []
    lines += [_timed(*each) for each in found.timings]
    lines += [_restores(found, each) for each in useful]
    lines += [_replans(found, each) for each in every if each.plans]
    lines += [_saves(found, each) for each in every if each.saves and not (each.restores or each.plans)]
    useless = [
        each.setting for each in every if not (each.restores or each.saves or each.plans or each.failed)
    ]
    measured = [setting for setting, _ in found.timings]
    untimed = [each for each in useless if _by_time(each) and each not in measured]
    if without := [named(each) for each in useless if not _by_time(each)]:
        lines.append(f"No counted loss is certainly restored by {', '.join(without)}.")
    if untimed:
        lines.append(f"Not timed, and instructions do not show the effect: {', '.join(map(named, untimed))}.")
    lines += [f"{named(each.setting)}: {each.failed}" for each in every if each.failed]
    lines += _explained(found)
    improved = [setting for setting, cell in found.timings if cell.verdict is Verdict.IMPROVED]
    chosen = [*improved, *(each.setting for each in useful)]
    recommended = tuple(dict.fromkeys(line for setting in chosen for line in setting.split("+")))
    left = tuple(
        (loss.change.kind, loss.change.workload, difference(loss.change), difference(loss.left))
        for loss in found.losses
        if loss.left is not None
    )
    tested = found.timings or any(not each.failed for each in every)
    nothing = "no tested setting certainly restores a loss" if tested else "not tested"
    caption = "What these statements cost more, and what is left of it with all of these settings"
    return Topic(
        "What to set" if recommended else f"What to set: {nothing}",
        tuple(lines),
        (Table(("kind", "workload", "instructions", "left"), left, caption),) if left else (),
        ("[mysqld]", *recommended) if recommended else (),
    )


def settings_to_set(found: Findings) -> Iterator[str]:
    """The settings that certainly restore a loss, each with its measurement in short."""
    for setting, cell in found.timings:
        if cell.verdict is Verdict.IMPROVED:
            yield f"Set {_timed(setting, cell)}"
    for each in found.restorations:
        if each.restores:
            best = min(each.restores, key=_estimate)
            costs = f"; costs {_worst(each)}" if each.cost else ""
            yield f"Set {named(each.setting)}: {instructions(best)} for {best.kind}{costs}."


def _lost(worst: Worst) -> str:
    if worst.throughput:
        return f"Throughput {end(*worst.throughput)}"
    (change,) = worst.kinds
    return f"{instructions(change)} for {change.kind}"


def _tried(found: Findings, worst: Worst) -> str:
    said = "no tested setting certainly restores it"
    if worst.restored_by:
        said = f"{', '.join(map(named, worst.restored_by))} restores instructions of {worst.workload}"
        said += ", not tested in time" * bool(worst.throughput)
    elif not worst.tested:
        why = found.document.left_out.get("restoring")
        said = f"not tested ({why or f'no setting was tried with {worst.workload}'})"
    elif worst.untimed:
        said = "not tested"
    if not worst.untimed or found.timings:
        return said
    return (
        f"{said}. Also different, with effects in time that instructions do not show: "
        f"{', '.join(worst.untimed)}; shootout explain --try NAME=VALUE measures them"
    )


def _timed(setting: str, cell: CellComparison) -> str:
    if cell.ratio is None or cell.figures is None or cell.base_figures is None:
        return f"{named(setting)}: not tested in time ({cell.reason})"
    before, after = (number(each.tps.estimate, 0) for each in (cell.base_figures, cell.figures))
    change = f"{figures.change(cell.ratio)} ({figures.change_range(cell.ratio)})"
    said = "" if cell.verdict in CHANGED else f", {MEANINGS[cell.verdict]}"
    where = f"{cell.cell.workload}, {figures.threads(cell.cell.threads)}"
    return f"{named(setting)}: {before} tps without it, {after} with it, {change}{said} ({where})."


def _by_time(setting: str) -> bool:
    return any(each.partition("=")[0] in BY_TIME for each in setting.split("+"))


def _restores(found: Findings, restored: Restored) -> str:
    best = min(restored.restores, key=_estimate)
    lost = next(loss.change for loss in found.losses if place(loss.change) == place(best))
    others = [each.kind for each in restored.restores if each is not best]
    more = f", and for {', '.join(others)}" if others else ""
    costs = f"costs {_worst(restored)}" if restored.cost else "no counted kind certainly costs more with it"
    return (
        f"{named(restored.setting)}: {instructions(best)} for {best.kind}, which needs {amount(lost)} "
        f"on {found.new}{more}; {costs}."
    )


def _replans(found: Findings, restored: Restored) -> str:
    kinds = [change.kind for change in restored.plans]
    counts = {each.kind: each for each in (*restored.restores, *restored.saves, *restored.cost)}
    said = [f"{instructions(counts[kind])} for {kind}" for kind in kinds if kind in counts]
    why = ", ".join(said) or "instructions are the same, or undecided"
    return f"{named(restored.setting)} restores {found.old}'s plan of {', '.join(kinds)}: {why}."


def _saves(found: Findings, restored: Restored) -> str:
    best = min(restored.saves, key=_estimate)
    others = len(restored.saves) - 1
    more = f" and {counted(others, 'other kind')}" if others else ""
    has_it = restored.setting in found.document.trials.get(OFF, "").split("+")
    why = f"{found.old} has it on, too" if has_it else "none of them costs more"
    said = f"{instructions(best)} for {best.kind}{more}"
    return f"{named(restored.setting)}: {said}, but no loss that it is known to restore: {why}."


def _explained(found: Findings) -> Iterator[str]:
    """Say what is left of the losses with all settings, and how much of them these explain."""
    left = [loss for loss in found.losses if loss.left is not None]
    if not left:
        return
    worst = left[0]
    off = found.document.trials[OFF].split("+") if found.document.trials[OFF] else []
    own = [named(each.setting) for each in found.restorations if each.setting not in off]
    where = [(off, "both servers"), (own, found.new)]
    said = ", and ".join(f"{', '.join(each)} on {server}" for each, server in where if each)
    if worst.left:
        yield (
            f"With {said}: {instructions(worst.left)} instead of {amount(worst.change)} "
            f"for {worst.change.kind}."
        )
    if found.explained is not None and found.worst:
        share = f"{number(100 * found.explained, 0)}{SPACE}%" if found.explained >= 0.005 else "nothing"
        yield (
            f"Settings explain {share} of the instructions that {found.worst.workload} needs more: all its "
            "kinds that cost more, each as often as it sends them."
        )


def named(setting: str) -> str:
    """Name the options of a setting."""
    return ", ".join(setting.split("+"))


def _estimate(change: CountChange) -> float:
    return change.ratio.estimate if change.ratio else 1.0


def _worst(restored: Restored) -> str:
    worst = max(restored.cost, key=_estimate)
    return f"{instructions(worst)} for {worst.kind}"


def end(run: Comparison, cell: CellComparison) -> str:
    assert cell.ratio is not None  # of `cells`
    where = f"{cell.cell.workload}, {figures.threads(cell.cell.threads)}, {settings_of(run)}"
    return f"{figures.change(cell.ratio)} ({figures.change_range(cell.ratio)}; {where})"


def difference(change: CountChange | None) -> Whole | None:
    return None if change is None or change.ratio is None else Whole(factor(change.ratio))


def amount(change: CountChange) -> str:
    """Say how many more instructions, or fewer."""
    ratio = change.ratio
    assert ratio is not None  # of what is judged
    if figures.is_multiple(ratio):
        return f"{factor(ratio).whole} as many"
    if ratio.low <= 1 <= ratio.high:
        return factor(ratio).whole
    places = percent_places(ratio.low, ratio.high)
    size, *ends = (number(100 * abs(each - 1), places) for each in (ratio.estimate, ratio.low, ratio.high))
    low, high = ends if ratio.low > 1 else reversed(ends)
    return f"{size}{SPACE}% ({low} to {high}{SPACE}%) {'more' if ratio.low > 1 else 'fewer'}"


def instructions_of(figure: CountFigure | None) -> Figure | None:
    return None if figure is None else Figure(figure.mean, places=0)


def instructions(change: CountChange) -> str:
    return f"{amount(change)} instructions"


def settings_of(run: Comparison) -> str:
    """The settings of a run's servers, as their records name them."""
    return run.header.servers[-1].settings_name
