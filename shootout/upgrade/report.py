"""The words of an upgrade: topics that terminal, Markdown and page show alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from shootout.analysis.exit_codes import exit_code
from shootout.analysis.plan_changes import PlanChange
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.numbers import SPACE, number
from shootout.report import circumstances, differing, figures, wording
from shootout.report.figures import counted
from shootout.report.github import markdown
from shootout.report.judged import Judged, Line, Table
from shootout.upgrade import configuration, configured
from shootout.upgrade.judge import CHANGED, OFF, Answer, Loss, Restored
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
        "explained": answer.explained,
        "data": answer.document.data,
        "results": answer.document.results,
        "left_out": answer.document.left_out,
    }


def as_markdown(answer: Answer) -> str:
    """The answer, for a step summary or a ticket."""
    lines = [f"**{markdown.escaped(headline(answer))}**", ""]
    for topic in topics(answer):
        lines += [f"### {topic.title}", ""]
        lines += [part for line in topic.lines for part in (markdown.escaped(line), "")]
        if topic.rows:
            rows = (map(markdown.escaped, row) for row in topic.rows[:SAID_MAX])
            lines += [*markdown.table(topic.columns, rows), ""]
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
    return "; ".join(filter(None, (*said, found))) or "nothing is measured yet"


def _found(answer: Answer) -> str:
    """The worst and the best change, each with its interval and its conditions; empty: there is none."""
    if answer.nothing_changed:
        judged = [change for change in answer.changes if change.ratio]
        kinds = counted(len(judged), "kind of statement", KINDS)
        compared = [f"slower or faster in none of {counted(len(answer.cells), 'cell')}"] * bool(answer.cells)
        compared += [f"more or fewer instructions in none of {kinds}"] * bool(judged)
        return f"nothing to report: {', '.join(compared)}"
    if answer.cells:
        return f"throughput {'; '.join(_on(answer, machine) for machine in answer.machines)}"
    changed = [
        f"{_change(change)} for {change.kind}" for change in answer.changes if change.verdict in CHANGED
    ]
    if changed:
        return f"instructions {_worst_and_best(changed)}"
    if answer.compares_statements:
        return "no kind of statement certainly needs more or fewer instructions"
    return ""


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
    """Lines for my.cnf, each with its own measurement."""
    if answer.restored is None:
        return None
    useful = [each for each in answer.restorations if each.helped]
    lines = [
        f"{_named(each.setting)}: {_best(each)}"
        + (f"; costs {_worst(each)}" if each.cost else "; no kind costs more")
        for each in useful
    ]
    useless = [_named(each.setting) for each in answer.restorations if not each.helped and not each.failed]
    if useless:
        lines.append(f"No statement executes less with {', '.join(useless)}.")
    lines += [f"{_named(each.setting)}: {each.failed}" for each in answer.restorations if each.failed]
    lines += _explained(answer)
    left = [_left(loss, loss.left) for loss in answer.losses if loss.left is not None]
    return Topic(
        "What to set" if useful else "What to set: no old value restores what statements cost more",
        tuple(lines),
        ("kind", "workload", "#instructions", "#left: the code"),
        tuple(left),
        ("[mysqld]", *(line for each in useful for line in each.setting.split("+"))) if useful else (),
        "What statements cost more, and what is left with all of these settings",
    )


def _explained(answer: Answer) -> Iterator[str]:
    """What is left of the losses with all settings, and how much of them these explain."""
    left = [loss for loss in answer.losses if loss.left is not None]
    if answer.explained is None or not left:
        return
    worst = left[0]
    off = answer.document.trials[OFF].split("+") if answer.document.trials[OFF] else []
    own = [_named(each.setting) for each in answer.restorations if each.setting not in off]
    where = [(off, "both servers"), (own, answer.new)]
    said = ", and ".join(f"{', '.join(each)} on {server}" for each, server in where if each)
    yield (
        f"With {said}: {_change(worst.left)} instead of {_change(worst.change)} for {worst.change.kind}. "
        "What is left is the code."
    )
    share = f"{number(100 * answer.explained, 0)}{SPACE}%" if answer.explained >= 0.005 else "nothing"
    kinds = counted(len(left), "kind that costs", "kinds that cost")
    yield (
        f"Settings explain {share} of a loss: the median of {kinds} more, each by how much of its change "
        "is gone with all of them."
    )


def _named(setting: str) -> str:
    return ", ".join(setting.split("+"))


def _best(restored: Restored) -> str:
    best = min(restored.helped, key=lambda change: change.ratio.estimate if change.ratio else 1.0)
    more = f" and {counted(len(restored.helped) - 1, 'other kind')}" if len(restored.helped) > 1 else ""
    return f"{_change(best)} instructions for {best.kind}{more}"


def _worst(restored: Restored) -> str:
    worst = max(restored.cost, key=lambda change: change.ratio.estimate if change.ratio else 1.0)
    return f"{_change(worst)} for {worst.kind}"


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
    known = {plan.server for plans in answer.counted.document.plans.values() for plan in plans}
    title = "Plans: none changed" if known.issuperset((answer.old, answer.new)) else "Plans: not compared"
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
