"""The words of an upgrade: topics that terminal, Markdown and page show alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from shootout import figures
from shootout.analysis.exit_codes import exit_code
from shootout.answer import SYMBOLS, Answer, Link, Mark, Table, Topic, filled, joined
from shootout.answer import change as change_of
from shootout.count import findings
from shootout.count.answer import QUOTIENT
from shootout.count.values import is_left_out
from shootout.figures import counted
from shootout.model.execution_plan import PlanChange
from shootout.model.verdict import Comparison, Verdict
from shootout.numbers import SPACE, number
from shootout.report import circumstances, differing
from shootout.report.site.names import page_of, run_folder
from shootout.report.site.svg import Forest
from shootout.upgrade import actions, configuration, configured, settable
from shootout.upgrade.judge import CHANGED, Findings
from shootout.upgrade.settable import MEANINGS, difference, end, instructions, instructions_of, settings_of
from shootout.upgrade.values import LARGE

KINDS = "kinds of statement"
KINDS_MAX = 8  # that a line names
FOREST_ENDS = 3  # of the worst and of the best cells on the first page
MEANING = ", ".join(f"{SYMBOLS[verdict]} {meaning}" for verdict, meaning in MEANINGS.items())


def answer(found: Findings) -> Answer:
    """Describe an upgrade, in the order in which people ask."""
    document = found.document
    return Answer(
        name=f"{found.old} to {found.new}", headline=headline(found), topics=topics(found),
        value=value(found), exit_code=exit_code(failed=bool(found.unmeasured), regressed=False),
        footer=f"Asked {figures.moment(document.started)} of shootout {document.version}.",
        listed=(f"{found.old} to {found.new}", figures.moment(document.started)), brief=brief(found),
    )  # fmt: skip


def brief(found: Findings) -> Topic:
    """The worst and the best of what changed, how many plans did, and what to set."""
    cells = found.cells
    shown = (*cells[:FOREST_ENDS], *cells[max(FOREST_ENDS, len(cells) - FOREST_ENDS) :])
    rows = tuple(
        (cell.cell.workload, f"{figures.threads(cell.cell.threads)}, {settings_of(run)}", ratio, cell.verdict)
        for run, cell in shown
        if (ratio := cell.ratio) is not None
    )
    lines = [] if rows else [sentence(found)]
    if found.compared:
        kinds = counted(len(found.compared), "kind of statement", KINDS)
        lines.append(f"Another plan for {len(found.plans) or 'none'} of {kinds}")
    if settings := settable.settable(found):
        chosen, none = ", ".join(settings.commands[1:]), settings.title.partition(": ")[2]
        lines.append(f"Set {chosen}" if chosen else f"Settings: {none}")
    return Topic(lines=tuple(lines), drawing=Forest(rows) if rows else None)


def value(found: Findings) -> dict[str, object]:
    """The answer as JSON has it."""
    document = found.document
    return {
        "upgrade": document.upgrade, "headline": headline(found),
        "cells": [
            {"runner": run.header.runner.fingerprint, "settings": settings_of(run), "comparison": cell}
            for run, cell in found.cells
        ],
        "statements": found.changes, "plans": list(found.plans.values()), "options": document.options,
        "variables": found.variables, "restorations": found.restorations,
        "timings": [{"setting": setting, "comparison": cell} for setting, cell in found.timings],
        "losses": found.losses, "worst": found.worst, "explained": found.explained,
        "data": document.data, "results": document.results, "left_out": document.left_out,
    }  # fmt: skip


# --- the answer in a sentence ------------------------------------------------------------------------


def headline(found: Findings) -> str:
    """Say what was found, and of which servers."""
    return f"{found.new} in place of {found.old}: {sentence(found)}"


def sentence(found: Findings) -> str:
    """Say what could not be measured, and why; then the worst and the best change."""
    parts: dict[str, list[str]] = {}
    for part, why in found.unmeasured.items():
        parts.setdefault(configuration.cause(why), []).append(part)
    said = [f"could not measure {', '.join(each)} ({why})" for why, each in parts.items()]
    changed = _ends(found)
    if changed and found.without_settings:
        changed = f"without {PurePath(found.document.settings).name}, {changed}"
    nothing = "no statement was counted or timed" if found.document.done else "nothing is measured yet"
    return "; ".join(filter(None, (*said, changed))) or nothing


def _ends(found: Findings) -> str:
    """The worst and the best change, each with its interval and its conditions; empty: there is none."""
    if found.nothing_changed:
        judged = [change for change in found.changes if change.ratio]
        kinds = counted(len(judged), "kind of statement", KINDS)
        compared = []
        if found.cells:
            every = counted(len(found.cells), "cell")
            cells = [cell.verdict for _, cell in found.cells]
            compared.append(f"slower or faster in none of {every}{_undecided(cells)}")
        if judged:
            undecided = _undecided([change.verdict for change in judged])
            compared.append(f"more or fewer instructions in none of {kinds}{undecided}")
        return f"nothing to report: {', '.join(compared)}"
    if found.cells:
        return f"throughput {'; '.join(_on(found, machine) for machine in found.machines)}"
    more, fewer = (
        [change for change in found.changes if change.verdict is verdict]
        for verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
    )
    said = [f"{instructions(each)} for {each.kind} at worst" for each in more[:1]]
    said += [f"{instructions(each)} for {each.kind} at best" for each in fewer[-1:]]
    if said:
        return ", ".join(said if more else ("no kind of statement certainly needs more instructions", *said))
    if found.compares_statements:
        return "no kind of statement certainly needs more or fewer instructions"
    return ""


def _undecided(verdicts: Sequence[Verdict]) -> str:
    count = verdicts.count(Verdict.INCONCLUSIVE)
    return f" (undecided in {count})" if count else ""


def _on(found: Findings, machine: str) -> str:
    here = [each for each in found.cells if each[0].header.runner.fingerprint == machine]
    where = f"on {machine}" if found.document.elsewhere else "on this machine"
    if changed := [end(*each) for each in here if each[1].verdict in CHANGED]:
        first, *others = changed
        return f"{where} {first} at worst, {others[-1]} at best" if others else f"{where} {first}"
    verdicts = [cell.verdict for _, cell in here]
    same, open_ = (verdicts.count(verdict) for verdict in (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE))
    every = counted(len(here), "cell")
    return f"{where}: slower or faster in none of {every}, as fast in {same}, undecided in {open_}"


# --- topics --------------------------------------------------------------------------------------------


def topics(found: Findings) -> tuple[Topic, ...]:
    """Everything that there is to say, in the order in which people ask."""
    every = (
        actions.todo(found), settable.settable(found), _workloads(found), *_statements(found), _plans(found),
        configured.refused(found), _data(found), configured.settings(found), _measured(found),
        _untested(found),
    )  # fmt: skip
    return joined(every)


def _workloads(found: Findings) -> Topic | None:
    if not found.cells:
        return None
    machines = found.machines
    table: dict[tuple[str, ...], dict[str, Mark]] = {}
    for run, cell in found.cells:
        if cell.ratio is not None:
            place = (cell.cell.workload, figures.threads(cell.cell.threads), settings_of(run))
            said = Mark(cell.verdict, change_of(cell.ratio).whole)
            table.setdefault(place, {})[run.header.runner.fingerprint] = said
    each = [
        f"{machine}: {runner.cpu}, {counted(runner.cpus, 'CPU')}, {figures.memory(runner.memory_bytes)}"
        for machine, runner in machines.items()
    ]
    columns = ("workload", "threads", "settings", *(machines if len(machines) > 1 else ("change",)))
    rows = tuple((*place, *map(by.get, machines)) for place, by in table.items())
    caption = f"Throughput on {found.new} beside {found.old}, with intervals: {MEANING}"
    lines = (*each, *dict.fromkeys(map(_conditions, found.runs)), *configured.differing_settings(found))
    return Topic("Workloads", lines, (Table(columns, rows, caption),))


def _conditions(run: Comparison) -> str:
    effective = {each.name: each.effective for each in run.header.servers[-1].settings}
    size, flush = effective.get("buffer_pool_bytes") or "", effective.get("flush_method")
    pool = [f"a buffer pool of {figures.setting(size, 'buffer_pool_bytes')}"] * size.isdecimal()
    pool += [f"flush method {flush}"] * bool(flush)
    setup = circumstances.setup(run).partition(": ")[2]
    return f"{settings_of(run)}: {', '.join((setup, *pool))}"


def _statements(found: Findings) -> Iterator[Topic]:
    if found.counted is None:
        return
    verdicts = [change.verdict for change in found.changes]
    certain = sum(verdict in CHANGED for verdict in verdicts)
    same, open_ = (verdicts.count(verdict) for verdict in (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE))
    document = found.counted.document
    lines: tuple[str, ...] = (
        f"Instructions hold anywhere: {certain} of {counted(len(verdicts), 'kind')} certainly changed, "
        f"{same} the same, {open_} undecided, {sum(not each.ratio for each in found.changes)} not compared. "
        f"Counted with settings {document.settings} on "
        f"{', '.join(dict.fromkeys(map(figures.dataset, document.datasets)))}.",
        QUOTIENT,
    )
    if document.once:
        kinds = ", ".join(kind for _, kind in document.once)
        lines = (*lines, f"Executed once in each start, to hold the budget: {kinds}.")
    columns = ("kind", "workload", found.old, found.new, "change", "certain", "plan", "functions")
    explaining = findings.functions(found.counted).items()
    functions = {key: [each.name for each in counts] for key, counts in explaining}
    differ = [each for each in found.changes if each.ratio and each.verdict is not Verdict.EQUIVALENT]
    for what, sign in (("more", 1), ("less", -1)):
        rows = tuple(
            (
                change.kind, change.workload, instructions_of(change.base), instructions_of(change.head),
                difference(change), "yes" if change.verdict in CHANGED else "undecided", found.plan(change),
                ", ".join(functions.get((change.workload, change.kind, found.new), ())) or None,
            )
            for change in sorted(differ[::sign], key=lambda change: change.verdict not in CHANGED)
            if change.ratio and (change.ratio.estimate - 1) * sign > 0
        )  # fmt: skip
        if rows or what == "more":
            none = "none costs more" if found.compares_statements else "not compared"
            title = f"Statements that cost {what}" if rows else f"Statements: {none}"
            table = filled(Table(columns, rows, "Instructions for each execution"))
            yield Topic(title, lines, (table,) if rows else ())
            lines = ()


def _plans(found: Findings) -> Topic | None:
    if found.counted is None:
        return None
    news = (
        (*differing.rows_read(each), *(text for text in each.head.warnings if text not in each.base.warnings))
        for each in found.plans.values()
    )
    rows = tuple(
        (change.kind, workload, *_accesses(change), "; ".join(said))
        for ((workload, _), change), said in zip(found.plans.items(), news, strict=True)
    )
    compared = len(found.compared)
    title = "Execution plans: not compared"
    if compared:
        title = f"Execution plans: none of {counted(compared, 'kind')} changed"
    if rows:
        title = f"Execution plans: {counted(len(rows), 'statement')} with another plan"
    columns = ("kind", "workload", found.old, found.new, "what the new server says")
    plans = tuple(
        differing.side_by_side(change, found.old, found.new, f"{change.kind}, {workload}")
        for (workload, _), change in found.plans.items()
    )
    table = Table(columns, rows, "How the servers come to their rows")
    return Topic(title, (), (table,) if rows else (), details=plans)


def _accesses(change: PlanChange) -> tuple[str, ...]:
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


def _data(found: Findings) -> Topic | None:
    data = found.document.data
    if data is None:
        return None
    if not data.started:
        said = (
            f"{found.new} cannot be used on a data directory of {found.old} as it is. Before MySQL 8.0.16 "
            "and in MariaDB, a program upgrades the system tables: mysql_upgrade or mariadb-upgrade."
        )
    else:
        rows = "with the same rows" if data.same_rows else "but with other rows"
        took = f"{number(data.seconds, 0)}{SPACE}s"
        log = " Its log says:" if data.told else ""
        said = f"{found.new} starts on a data directory of {found.old} after {took}, {rows}.{log}"
    return Topic("The old data directory", (said, *data.told))


def _untested(found: Findings) -> Topic:
    document = found.document
    lines = [f"{part}: {why}" for part, why in document.left_out.items()]
    lines += [f"{part}: not reached; --resume does it." for part in found.missing]
    if found.without_settings:
        lines.append(f"Your own settings: everything was measured without {document.settings}.")
    lines += found.unreadable
    lines += [
        f"{cell.cell.workload}, {figures.threads(cell.cell.threads)} on {cell.cell.server}: {cell.reason}"
        for cell in found.failed
    ]
    failures = [each for each in found.counted.document.failures if not each.lacks] if found.counted else []
    left_out = [each for each in failures if is_left_out(each)]
    for reason in dict.fromkeys(each.reason for each in left_out):
        kinds = dict.fromkeys((each.workload, each.kind) for each in left_out if each.reason == reason)
        shown = [*dict.fromkeys(kind for _, kind in kinds)][:KINDS_MAX]
        others = len(kinds) - len(shown)
        more = f" and {figures.counted(others, 'more kind')}" if others else ""
        lines.append(f"{', '.join(shown)}{more}: {reason}")
    lines += [
        f"{failure.kind or failure.workload or 'Instructions'} on {failure.server}: {failure.reason}"
        for failure in failures
        if failure not in left_out
    ]
    known = [each.written for each in found.counted.document.workloads] if found.counted else []
    if known and document.workload not in ("", *known):
        lines.append(f"Instructions and plans of {document.workload}: the count does not have it.")
    if not document.own:
        lines.append("Your own statements: learn them from a slow log, and give --add-workloads.")
    if not document.settings:
        lines.append("Your own settings: give --settings my.cnf.")
    if all(settings_of(run) != LARGE for run in found.runs):
        lines.append("Data larger than memory: a larger --budget, without --settings, measures it.")
    lines += [
        "Replication, backup and connectors.",
        "Other machines: changes in time hold where they were measured; instructions, plans, refusals and "
        "settings anywhere. --again measures on another machine.",
    ]
    chosen = {
        "--settings": document.settings or "my.cnf",
        "--add-workloads": document.workload or "learned/workload.toml",
    }
    given = [part for pair in chosen.items() for part in pair]
    command = shlex.join(["shootout", "upgrade", *document.references, *given])
    return Topic("Not tested", tuple(lines), commands=(command,))


def _measured(found: Findings) -> Topic | None:
    counts = (
        (found.counted, "Instructions of every kind of statement"),
        (found.restored, "Instructions with old settings"),
    )
    links = [Link(text, page_of("count", each.document.run)) for each, text in counts if each]
    links += [
        Link(
            f"Throughput, {settings_of(run)}",
            f"{run_folder(run.header.run)}/index.html",
            f"on {run.header.runner.fingerprint}",
        )
        for run in (*found.runs, *filter(None, (found.timed,)))
    ]
    return Topic("Measured", links=tuple(links), page_only=True) if links else None
