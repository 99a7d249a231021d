"""The words of an upgrade: topics that terminal, Markdown and page show alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from shootout.analysis.exit_codes import exit_code
from shootout.analysis.plan_changes import PlanChange
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.numbers import SPACE, number, percent_places
from shootout.report import circumstances, differing, figures, wording
from shootout.report.figures import counted
from shootout.report.github import markdown
from shootout.report.judged import Judged, Line, Table
from shootout.settings.table import BY_TIME
from shootout.upgrade import configuration, configured
from shootout.upgrade.judge import CHANGED, OFF, Answer, Loss, Restored, Worst
from shootout.upgrade.topic import Topic
from shootout.upgrade.values import LARGE
from shootout.work.report import count
from shootout.work.values import WorkChange

KINDS = "kinds of statement"
MEANING = ", ".join(
    f"{wording.SYMBOLS[verdict]} {meaning}"
    for verdict, meaning in (
        (Verdict.REGRESSED, "slower"), (Verdict.IMPROVED, "faster"),
        (Verdict.EQUIVALENT, "the same"), (Verdict.INCONCLUSIVE, "undecided"),
    )
)  # fmt: skip
SAID_MAX = 12  # rows of a table in terminal and Markdown; the page has all


def judged(answer: Answer) -> Judged:
    """The answer in all its forms."""
    text: list[Line | Table] = [Line(), Line(headline(answer), "bold"), Line()]
    for topic in topics(answer):
        text += [Line(topic.title, "bold"), *map(Line, topic.lines)]
        if topic.rows:
            text.append(Table(topic.columns, topic.rows[:SAID_MAX]))
            text += _more(topic)
        text += [*(Line(f"  {command}") for command in topic.commands), Line()]
    code = exit_code(failed=bool(answer.unmeasured), regressed=False)
    return Judged(tuple(text), value(answer), code, as_markdown(answer))


def value(answer: Answer) -> dict[str, object]:
    """The answer as JSON has it."""
    return {
        "upgrade": answer.document.upgrade,
        "headline": headline(answer),
        "cells": [
            {"runner": run.header.runner.fingerprint, "settings": settings_of(run), "comparison": cell}
            for run, cell in answer.cells
        ],
        "statements": answer.changes,
        "plans": list(answer.plans.values()),
        "options": answer.document.options,
        "variables": answer.variables,
        "restorations": answer.restorations,
        "losses": answer.losses,
        "worst": answer.worst,
        "explained": answer.explained,
        "data": answer.document.data,
        "results": answer.document.results,
        "left_out": answer.document.left_out,
    }


def as_markdown(answer: Answer) -> str:
    """The answer, for a step summary or a ticket."""
    lines = [f"**{markdown.escaped(headline(answer))}**", ""]
    for topic in topics(answer):
        lines += [f"### {markdown.escaped(topic.title)}", ""]
        lines += [part for line in topic.lines for part in (markdown.escaped(line), "")]
        if topic.rows:
            lines += [*markdown.table(topic.columns, topic.rows[:SAID_MAX]), ""]
            lines += [part for line in _more(topic) for part in (markdown.escaped(line.text), "")]
        if topic.commands:
            lines += [*markdown.code("\n".join(topic.commands)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _more(topic: Topic) -> list[Line]:
    more = len(topic.rows) - SAID_MAX
    return [Line(f"and {counted(more, 'more row')} on the page")] if more > 0 else []


# --- the answer in a sentence ------------------------------------------------------------------------


def headline(answer: Answer) -> str:
    """The answer, and to what."""
    return f"{answer.new} in place of {answer.old}: {sentence(answer)}"


def sentence(answer: Answer) -> str:
    """What could not be measured, and why; then the worst and the best change."""
    parts: dict[str, list[str]] = {}
    for part, why in answer.unmeasured.items():
        parts.setdefault(configuration.cause(why), []).append(part)
    said = [f"could not measure {', '.join(each)} ({why})" for why, each in parts.items()]
    found = _found(answer)
    if found and answer.without_settings:
        found = f"without {PurePath(answer.document.settings).name}, {found}"
    nothing = "no statement was counted or timed" if answer.document.done else "nothing is measured yet"
    return "; ".join(filter(None, (*said, found))) or nothing


def _found(answer: Answer) -> str:
    """The worst and the best change, each with its interval and its conditions; empty: there is none."""
    if answer.nothing_changed:
        judged = [change for change in answer.changes if change.ratio]
        kinds = counted(len(judged), "kind of statement", KINDS)
        compared = []
        if answer.cells:
            every = counted(len(answer.cells), "cell")
            cells = [cell.verdict for _, cell in answer.cells]
            compared.append(f"slower or faster in none of {every}{_undecided(cells)}")
        if judged:
            undecided = _undecided([change.verdict for change in judged])
            compared.append(f"more or fewer instructions in none of {kinds}{undecided}")
        return f"nothing to report: {', '.join(compared)}"
    if answer.cells:
        return f"throughput {'; '.join(_on(answer, machine) for machine in answer.machines)}"
    more, fewer = (
        [change for change in answer.changes if change.verdict is verdict]
        for verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
    )
    said = [f"{_instructions(each)} for {each.kind} at worst" for each in more[:1]]
    said += [f"{_instructions(each)} for {each.kind} at best" for each in fewer[-1:]]
    if said:
        return ", ".join(said if more else ("no kind of statement certainly needs more instructions", *said))
    if answer.compares_statements:
        return "no kind of statement certainly needs more or fewer instructions"
    return ""


def _undecided(verdicts: Sequence[Verdict]) -> str:
    count = verdicts.count(Verdict.INCONCLUSIVE)
    return f" (undecided in {count})" if count else ""


def _on(answer: Answer, machine: str) -> str:
    """What became of throughput on a machine."""
    here = [each for each in answer.cells if each[0].header.runner.fingerprint == machine]
    where = f"on {machine}" if answer.document.elsewhere else "on this machine"
    if changed := [_end(*each) for each in here if each[1].verdict in CHANGED]:
        return f"{where} {_worst_and_best(changed)}"
    verdicts = [cell.verdict for _, cell in here]
    same, open_ = (verdicts.count(verdict) for verdict in (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE))
    every = counted(len(here), "cell")
    return f"{where}: slower or faster in none of {every}, as fast in {same}, undecided in {open_}"


def _worst_and_best(changes: Sequence[str]) -> str:
    first, *others = changes
    return f"{first} at worst, {others[-1]} at best" if others else first


def _end(run: Comparison, cell: CellComparison) -> str:
    assert cell.ratio is not None  # of `cells`
    where = f"{cell.cell.workload}, {figures.threads(cell.cell.threads)}, {settings_of(run)}"
    return f"{figures.change(cell.ratio)} ({figures.change_range(cell.ratio)}; {where})"


def _change(change: WorkChange | None) -> str:
    if change is None or change.ratio is None:
        return ""
    ratio = change.ratio
    if 1 / 3 < ratio.estimate < 3:
        return f"{figures.change(ratio)} ({figures.change_range(ratio)})"
    return f"{figures.times(ratio)} ({figures.times_range(ratio)})"


def _amount(change: WorkChange) -> str:
    """How many more instructions, or fewer."""
    ratio = change.ratio
    assert ratio is not None  # of what is judged
    if not 1 / 3 < ratio.estimate < 3:
        return f"{_change(change)} as many"
    if ratio.low <= 1 <= ratio.high:
        return _change(change)
    places = percent_places(ratio.low, ratio.high)
    size, *ends = (number(100 * abs(each - 1), places) for each in (ratio.estimate, ratio.low, ratio.high))
    low, high = ends if ratio.low > 1 else reversed(ends)
    return f"{size}{SPACE}% ({low} to {high}{SPACE}%) {'more' if ratio.low > 1 else 'fewer'}"


def _instructions(change: WorkChange) -> str:
    return f"{_amount(change)} instructions"


def settings_of(run: Comparison) -> str:
    """The settings of a run's servers, as their records name them."""
    return run.header.servers[-1].settings_name


# --- topics --------------------------------------------------------------------------------------------


def topics(answer: Answer) -> tuple[Topic, ...]:
    """Everything that there is to say, in the order in which people ask."""
    every = (
        _settable(answer), _workloads(answer), *_statements(answer), _plans(answer),
        configured.refused(answer), _data(answer), configured.settings(answer), _untested(answer),
    )  # fmt: skip
    return tuple(topic for topic in every if topic is not None)


def _settable(answer: Answer) -> Topic | None:
    """Lines for my.cnf, each with the loss that it was counted to restore; the headline's loss first."""
    if answer.restored is None and answer.worst is None:
        return None
    every = answer.restorations
    useful = [each for each in every if each.restores]
    lines = [f"{_lost(answer.worst)}: {_tried(answer, answer.worst)}."] if answer.worst else []
    lines += [_restores(answer, each) for each in useful]
    lines += [_saves(answer, each) for each in every if each.saves and not each.restores]
    useless = [each.setting for each in every if not (each.restores or each.saves or each.failed)]
    untimed = [each for each in useless if _by_time(each)]
    if without := [_named(each) for each in useless if each not in untimed]:
        lines.append(f"No counted loss is certainly restored by {', '.join(without)}.")
    if untimed:
        lines.append(
            f"Not tested in time, and instructions do not show it: {', '.join(map(_named, untimed))}."
        )
    lines += [f"{_named(each.setting)}: {each.failed}" for each in every if each.failed]
    lines += _explained(answer)
    left = [_left(loss, loss.left) for loss in answer.losses if loss.left is not None]
    nothing = "no tested setting certainly restores a loss" if left else "not tested"
    return Topic(
        "What to set" if useful else f"What to set: {nothing}",
        tuple(lines),
        ("kind", "workload", "#instructions", "#left"),
        tuple(left),
        ("[mysqld]", *(line for each in useful for line in each.setting.split("+"))) if useful else (),
        "What statements cost more, and what is left with all of these settings",
    )


def _lost(worst: Worst) -> str:
    if worst.throughput:
        return f"Throughput {_end(*worst.throughput)}"
    (change,) = worst.kinds
    return f"{_instructions(change)} for {change.kind}"


def _tried(answer: Answer, worst: Worst) -> str:
    """What restores the headline's loss, as far as that was tested."""
    said = "no tested setting certainly restores it"
    if worst.restored_by:
        said = f"{', '.join(map(_named, worst.restored_by))} restores instructions of {worst.workload}"
        said += ", not tested in time" * bool(worst.throughput)
    elif not worst.tested:
        why = answer.document.left_out.get("restoring")
        said = f"not tested ({why or f'no setting was tried with {worst.workload}'})"
    elif worst.untimed:
        said = "not tested"
    if not worst.untimed:
        return said
    return (
        f"{said}. What differs and acts by time does not show in instructions: {', '.join(worst.untimed)}; "
        "shootout explain --try NAME=VALUE measures it"
    )


def _by_time(setting: str) -> bool:
    return any(each.partition("=")[0] in BY_TIME for each in setting.split("+"))


def _restores(answer: Answer, restored: Restored) -> str:
    """What a setting restores, by the kind that it helps most."""
    best = min(restored.restores, key=_estimate)
    lost = next(
        loss.change
        for loss in answer.losses
        if (loss.change.workload, loss.change.kind) == (best.workload, best.kind)
    )
    others = [each.kind for each in restored.restores if each is not best]
    more = f", and for {', '.join(others)}" if others else ""
    costs = f"costs {_worst(restored)}" if restored.cost else "no counted kind certainly costs more with it"
    return (
        f"{_named(restored.setting)}: {_instructions(best)} for {best.kind}, which needs {_amount(lost)} "
        f"on {answer.new}{more}; {costs}."
    )


def _saves(answer: Answer, restored: Restored) -> str:
    """Why a setting with which kinds need fewer instructions is not recommended."""
    best = min(restored.saves, key=_estimate)
    others = len(restored.saves) - 1
    more = f" and {counted(others, 'other kind')}" if others else ""
    has_it = restored.setting in answer.document.trials.get(OFF, "").split("+")
    why = f"{answer.old} has it on, too" if has_it else "none of them costs more"
    said = f"{_instructions(best)} for {best.kind}{more}, but {why}"
    return f"{_named(restored.setting)} is not known to restore a loss: {said}."


def _explained(answer: Answer) -> Iterator[str]:
    """What is left of the losses with all settings, and how much of them these explain."""
    left = [loss for loss in answer.losses if loss.left is not None]
    if not left:
        return
    worst = left[0]
    off = answer.document.trials[OFF].split("+") if answer.document.trials[OFF] else []
    own = [_named(each.setting) for each in answer.restorations if each.setting not in off]
    where = [(off, "both servers"), (own, answer.new)]
    said = ", and ".join(f"{', '.join(each)} on {server}" for each, server in where if each)
    if worst.left:
        yield (
            f"With {said}: {_instructions(worst.left)} instead of {_amount(worst.change)} "
            f"for {worst.change.kind}."
        )
    if answer.explained is not None and answer.worst:
        share = f"{number(100 * answer.explained, 0)}{SPACE}%" if answer.explained >= 0.005 else "nothing"
        yield (
            f"Settings explain {share} of the instructions that {answer.worst.workload} needs more: all its "
            "kinds that cost more, each as often as it sends them."
        )


def _named(setting: str) -> str:
    return ", ".join(setting.split("+"))


def _estimate(change: WorkChange) -> float:
    return change.ratio.estimate if change.ratio else 1.0


def _worst(restored: Restored) -> str:
    worst = max(restored.cost, key=_estimate)
    return f"{_instructions(worst)} for {worst.kind}"


def _left(loss: Loss, left: WorkChange) -> tuple[str, ...]:
    return (loss.change.kind, loss.change.workload, _change(loss.change), _change(left))


def _workloads(answer: Answer) -> Topic | None:
    """Throughput, on all machines side by side."""
    if not answer.cells:
        return None
    machines = answer.machines
    table: dict[tuple[str, ...], dict[str, str]] = {}
    for run, cell in answer.cells:
        if cell.ratio is not None:
            place = (cell.cell.workload, figures.threads(cell.cell.threads), settings_of(run))
            said = f"{figures.change(cell.ratio)} ({figures.change_range(cell.ratio)})"
            symbol = wording.SYMBOLS[cell.verdict]
            table.setdefault(place, {})[run.header.runner.fingerprint] = f"{symbol} {said}"
    each = [
        f"{machine}: {runner.cpu}, {counted(runner.cpus, 'CPU')}, {figures.memory(runner.memory_bytes)}"
        for machine, runner in machines.items()
    ]
    return Topic(
        "Workloads",
        (*each, *dict.fromkeys(map(_conditions, answer.runs))),
        (
            "workload",
            "threads",
            "settings",
            *(f"#{name if len(machines) > 1 else 'change'}" for name in machines),
        ),
        tuple((*place, *(by.get(machine, "") for machine in machines)) for place, by in table.items()),
        caption=f"Throughput, {answer.old} = 1, with intervals: {MEANING}",
    )


def _conditions(run: Comparison) -> str:
    effective = {each.name: each.effective for each in run.header.servers[-1].settings}
    size, flush = effective.get("buffer_pool_bytes") or "", effective.get("flush_method")
    pool = [f"a buffer pool of {figures.size(int(size))}"] * size.isdecimal()
    pool += [f"flush method {flush}"] * bool(flush)
    setup = circumstances.setup(run).partition(": ")[2]
    return f"{settings_of(run)}: {', '.join((setup, *pool))}"


def _statements(answer: Answer) -> Iterator[Topic]:
    if answer.counted is None:
        return
    verdicts = [change.verdict for change in answer.changes]
    certain = sum(verdict in CHANGED for verdict in verdicts)
    same, open_ = (verdicts.count(verdict) for verdict in (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE))
    document = answer.counted.document
    lines: tuple[str, ...] = (
        f"Instructions hold anywhere: {certain} of {counted(len(verdicts), 'kind')} certainly changed, "
        f"{same} the same, {open_} undecided, {sum(not each.ratio for each in answer.changes)} not compared. "
        f"Counted with {document.settings}, "
        f"{', '.join(map(figures.dataset, document.datasets))}.",
    )
    columns = ("kind", "workload", f"#{answer.old}", f"#{answer.new}", "#change", "plan")
    differ = [each for each in answer.changes if each.ratio and each.verdict is not Verdict.EQUIVALENT]
    for what, sign in (("more", 1), ("less", -1)):
        rows = tuple(
            (
                change.kind, change.workload, count(change.base), count(change.head),
                f"{'' if change.verdict in CHANGED else '? '}{_change(change)}", answer.plan(change),
            )
            for change in sorted(differ[::sign], key=lambda change: change.verdict not in CHANGED)
            if change.ratio and (change.ratio.estimate - 1) * sign > 0
        )  # fmt: skip
        if rows or what == "more":
            none = "none costs more" if answer.compares_statements else "not compared"
            title = f"Statements that cost {what}" if rows else f"Statements: {none}"
            yield Topic(title, lines, columns, rows, caption="Instructions for each execution; ? undecided")
            lines = ()


def _plans(answer: Answer) -> Topic | None:
    if answer.counted is None:
        return None
    rows = tuple(
        (
            change.kind, workload, *_accesses(change),
            "; ".join((*differing.rows_read(change), *_news(change))),
        )
        for (workload, _), change in answer.plans.items()
    )  # fmt: skip
    compared = answer.plans_compared
    title = f"Plans: none of {counted(compared, 'kind')} changed" if compared else "Plans: not compared"
    if rows:
        title = f"Plans: {counted(len(rows), 'statement')} planned in another way"
    columns = ("kind", "workload", answer.old, answer.new, "what the new server says")
    plans = tuple((workload, change) for (workload, _), change in answer.plans.items())
    return Topic(title, (), columns, rows, caption="How the servers come to their rows", plans=plans)


def _news(change: PlanChange) -> Iterator[str]:
    return (text for text in change.head.warnings if text not in change.base.warnings)


def _accesses(change: PlanChange) -> tuple[str, ...]:
    """How each plan comes to its rows, or else what it does with the tables, if that is what changed."""
    plans = (change.base, change.head)
    said = tuple(map(differing.access, plans))
    if len(set(said)) > 1:
        return said
    return tuple(
        "; ".join(
            " ".join((step.table or "no table", step.select, ", ".join(step.extra))) for step in plan.steps
        )
        for plan in plans
    )


def _data(answer: Answer) -> Topic | None:
    data = answer.document.data
    if data is None:
        return None
    if not data.started:
        said = (
            f"{answer.new} cannot be used on a data directory of {answer.old} as it is. Before MySQL 8.0.16 "
            "and in MariaDB, a program upgrades the system tables: mysql_upgrade or mariadb-upgrade."
        )
    else:
        rows = "with the same rows" if data.same_rows else "but with other rows"
        took = f"{number(data.seconds, 0)}{SPACE}s"
        said = f"{answer.new} starts on a data directory of {answer.old} after {took}, {rows}."
    return Topic("The old data directory", (said, *data.told))


def _untested(answer: Answer) -> Topic:
    document = answer.document
    lines = [f"{part}: {why}" for part, why in document.left_out.items()]
    if answer.without_settings:
        lines.append(f"Your own settings: everything was measured without {document.settings}.")
    lines += answer.unreadable
    lines += [
        f"{cell.cell.workload}, {figures.threads(cell.cell.threads)} on {cell.cell.server}: {cell.reason}"
        for cell in answer.failed
    ]
    lines += [
        f"{failure.kind or failure.workload or 'Instructions'} on {failure.server}: {failure.reason}"
        for failure in (answer.counted.document.failures if answer.counted else ())
        if not failure.lacks
    ]
    known = [each.written for each in answer.counted.document.workloads] if answer.counted else []
    if known and document.workload not in ("", *known):
        lines.append(f"Instructions and plans of {document.workload}: the count does not have it.")
    if not document.workload:
        lines.append("Your own statements: learn them from a slow log, and give --workload.")
    if not document.settings:
        lines.append("Your own settings: give --settings my.cnf.")
    if all(settings_of(run) != LARGE for run in answer.runs):
        lines.append("Data larger than memory: a larger --budget, without --settings, measures it.")
    lines += [
        "Replication, backup and connectors.",
        "Other machines: changes in time hold where they were measured; instructions, plans, refusals and "
        "settings anywhere. --again measures on another machine.",
    ]
    chosen = {
        "--settings": document.settings or "my.cnf",
        "--workload": document.workload or "learned/workload.toml",
    }
    given = [part for pair in chosen.items() for part in pair]
    command = shlex.join(["shootout", "upgrade", *document.references, *given])
    return Topic("Not tested", tuple(lines), commands=(command,))
