"""Actions for an upgrade: one list, the first thing that is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from shootout.answer import Point, Topic
from shootout.count.values import CountChange, is_left_out
from shootout.figures import counted
from shootout.inputs.options import BUDGET_MAX_MIN
from shootout.model.verdict import Verdict
from shootout.report import commands
from shootout.report.differing import listed
from shootout.upgrade.configuration import does_not_start_with, is_kept, spoiled
from shootout.upgrade.judge import Findings, place
from shootout.upgrade.settable import end, instructions, settings_to_set

LINES_MAX = 7


def todo(found: Findings) -> Topic | None:
    """The next steps, those that a start depends on first."""
    if not found.document.done:
        return None
    lines, open_ = [*map(Point, (*_start(found), *_set(found))), *_look(found)], [*_open(found)]
    if len(lines) + len(open_) > LINES_MAX:
        kept = LINES_MAX - 1 - len(open_)
        lines = [*lines[:kept], Point(f"{len(lines) - kept} more steps: see below.")]
    own = "Measure your own statements with --add-workloads learned/workload.toml, which this makes:"
    learn = Point(own, commands=("shootout learn --schema dump.sql --queries slow.log --out learned",))
    shown = [*lines, *open_, *([] if found.document.own else [learn])][:LINES_MAX]
    return Topic("What to do", points=tuple(shown)) if shown else None


def _start(found: Findings) -> Iterator[str]:
    fates = found.document.options
    if stops := [spoiled(fate) for fate in fates if does_not_start_with(fate)]:
        them = "it" if len(stops) == 1 else "them"
        yield f"Change or delete in my.cnf: {listed(stops)}. {found.new} does not start with {them}."
    if renamed := [fate for fate in fates if fate.renamed]:
        yield f"Rename in my.cnf: {listed([f'{fate.option} to {fate.renamed}' for fate in renamed])}."
    data = found.document.data
    if data is not None and not data.started:
        cause = next((f": {text}" for text in data.told if not text.endswith(":")), "")
        yield f"Go by a version between, or by a dump: {found.new} does not start on the old data{cause}"
    failures = found.counted.document.failures if found.counted else ()
    if lacks := [each.kind for each in failures if each.lacks and each.server == found.new]:
        yield f"Rewrite: {found.new} does not know {listed(lacks)}."
    if found.document.results:
        yield f"Compare the rows of {counted(len(found.document.results), 'statement')} that return others."


def _set(found: Findings) -> Iterator[str]:
    yield from settings_to_set(found)
    kept = [fate for fate in found.document.options if fate.told and is_kept(fate)]
    if told := [fate.option for fate in kept if not does_not_start_with(fate)]:
        yield f"Replace in my.cnf before the next upgrade: {listed(told)}; {found.new} warns of them."


def _look(found: Findings) -> Iterator[Point]:
    worst = found.worst
    if worst and worst.throughput and not worst.restored_by:
        run, cell = worst.throughput
        if all(each.verdict is not Verdict.IMPROVED for _, each in found.timings):
            command = commands.look_further(run.header.run, cell.cell, found.out)
            yield Point(f"Find the cause of {end(run, cell)}:", commands=(command,))
    restored = {place(change) for each in found.restorations for change in each.restores}
    lost = [loss.change for loss in found.losses if place(loss.change) not in restored]
    planned = [change for change in lost if found.plan(change) == "changed"]
    if planned:
        dearest, *others = planned
        more = f" Likewise {listed([each.kind for each in others])}." if others else ""
        told = f"{instructions(dearest)} with another plan; {_tried(found, dearest)}"
        yield Point(f"Hint or rewrite {dearest.kind}: {told}.{more}")
    elif lost and not found.cells:
        said = f"{instructions(lost[0])}; {_tried(found, lost[0])}"
        yield Point(f"Check how often you send {lost[0].kind}: {said}.")


def _tried(found: Findings, change: CountChange) -> str:
    if place(change) in found.tried:
        return "no tested setting restores it"
    return "no setting was tested with it"


def _open(found: Findings) -> Iterator[Point]:
    document = found.document
    asked = ["shootout", "upgrade", *document.references]
    for flag, text in (
        ("--settings", document.settings), ("--add-workloads", document.workload),
        ("--workloads", document.workloads), ("--out", str(found.out or "")),
    ):  # fmt: skip
        asked += [flag, text] if text else []
    if parts := (*found.missing, *found.unmeasured):
        missing = ", ".join(dict.fromkeys(parts))
        yield Point(f"Measure what is missing, {missing}:", commands=(shlex.join([*asked, "--resume"]),))
    counts = found.counted.document if found.counted else None
    left_out = (
        {(each.workload, each.kind) for each in counts.failures if is_left_out(each)} if counts else set()
    )
    if counts and left_out:
        done = len({(each.workload, each.name) for each in counts.kinds} - left_out)
        wanted = min(document.budget_min * (1 + len(left_out) / max(1, done)), BUDGET_MAX_MIN)
        more = shlex.join([*asked, "--budget", f"{wanted:.0f}"])
        kinds = counted(len(left_out), "kind")
        yield Point(f"Count the {kinds} that were left out; at the pace so far, it takes:", commands=(more,))
