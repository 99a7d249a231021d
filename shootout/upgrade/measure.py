"""Answers an upgrade part by part; the document is written after each, so that a cut costs one part.

What needs no quiet machine comes first. Time comes last, with the workloads whose statements changed most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from shootout import steps
from shootout.count import measure as counting
from shootout.count.documents import COUNTS
from shootout.errors import InputError, MeasureError, without_values
from shootout.inputs.options import Selection
from shootout.measure import campaign, dataset, results
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.workplace import workplace
from shootout.model.run import Observe, Progress
from shootout.servers.processes import instances
from shootout.servers.sources import installations, reference
from shootout.settings import differences
from shootout.upgrade import configuration, judge, question
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import AS_ASKED, DURABLE, LARGE, PARTS, DataDirectory, Part, UpgradeDocument

PROFILE, STATEMENTS = "upgrade", "statements"
# Shares of the time left, as far as the parts are wanted and not done.
SHARES: Mapping[Part, float] = {"statements": 0.35, "results": 0.03, "restoring": 0.17, "time": 0.45}
TIME_OF_LEGS = 0.8  # of the time; the settings that act by time get the rest
PART_MIN = 1.0  # minutes; less is no time for a part
# Workloads of the catalogue with the kinds that applications send most often; their kinds take turns.
MOST_SENT = tuple(
    f"statements_{name}"
    for name in (
        "points", "updates", "inserts", "ranges", "order", "joins", "lists", "aggregates", "deletes",
        "subqueries", "text", "dates",
    )
)  # fmt: skip
COUNTED_ROWS = ("dataset.tables=1", "dataset.rows=10000")  # as `shootout count` has them
TRIALS_MAX = 6
SERVERS_BESIDE = 3  # of trials: the new one, one with all of them, and the old one
START_S = 20.0  # of servers under Callgrind, without what they count
COUNT_S = 4.0  # that counting a kind takes, once, on one of two servers side by side
UPGRADE_TIMEOUT_S = 600.0  # of a server that upgrades a data directory
TOLD_MAX = 8  # lines of its log
LARGE_ROWS = "dataset.rows=200000"  # of each table, if the data is to be larger than memory
LARGE_MIN = 5.0  # minutes for each leg, without which it is not
REPORT = Callable[[str], None]


@dataclass(frozen=True)
class Way:
    """How to answer, beside what was asked."""

    without: Collection[str] = ()  # parts that are not wanted
    counted: Path | None = None  # a count of instructions with both servers, in place of counting
    data: Path | None = None


def measure(way: Way, document: UpgradeDocument, out: Path, observe: Observe, report: REPORT) -> Path:
    """Answer what is open; returns the document's file. Call this from the main thread."""
    results = out / "results"
    path = UPGRADES.path_of(results, document.upgrade)
    with campaign.writing(path.parent, document.upgrade, "upgrade"):
        if path.exists():  # as it is now: until here another process may have continued it
            document = replace(UPGRADES.read(path), budget_min=document.budget_min)
        _answer(_Session(way, document, results, observe, report))
    return path


def _answer(session: _Session) -> None:
    session.keep()
    answers = (
        session.settings, session.data, session.statements, session.compare_rows, session.restoring,
        session.time,
    )  # fmt: skip
    for part, answer in zip(PARTS, answers, strict=True):
        session.do(part, answer)


@dataclass
class _Session:
    way: Way
    document: UpgradeDocument
    results: Path
    tell: Observe
    report: REPORT

    def __post_init__(self) -> None:
        self.ends_s = time.monotonic() + 60 * self.document.budget_min

    def observe(self, progress: Progress) -> None:
        """Show progress; the time left is the budget's, as each part knows only its own."""
        self.tell(replace(progress, left_s=max(0.0, 60 * self._left())))

    def keep(self, **found: object) -> None:
        """Add what a part found."""
        self.document = replace(self.document, **found)
        UPGRADES.write(self.results, self.document.upgrade, self.document)

    def do(self, part: Part, answer: Callable[[], None]) -> None:
        """Answer a part, unless it is done or not wanted."""
        if part in self.document.done:
            return
        why, others = AS_ASKED, {name: why for name, why in self.document.left_out.items() if name != part}
        if part not in self.way.without:
            self.observe(Progress(stage="prepare", detail=f"upgrade: {part}"))
            try:
                answer()
            except (InputError, MeasureError) as error:
                why = str(error)
            else:
                self.keep(done=(*self.document.done, part), left_out=others)
                return
        self.keep(left_out={**others, part: why})

    # --- parts ------------------------------------------------------------------------------------

    def settings(self) -> None:
        """Start both servers with the user's my.cnf."""
        profile = question.profile(self.document.settings)
        options, probes = [], []
        with workplace(self.document.upgrade, self.way.data) as (directory, held):
            for number, text in enumerate(self.document.references):
                program = installations.find(reference.parse(text), held, report=self.report)
                options.append(profile.options_of(program.version))
                probes.append(configuration.probe(program, options[-1], directory / str(number)))
        fates = tuple(configuration.fates((options[0], options[1]), probes[0], probes[1]))
        variables = (dict(differences.of_behaviour(each.variables)) for each in probes)
        versions = (each.version for each in probes)
        labels = self.document.labels
        self.keep(
            variables=dict(zip(labels, variables, strict=True)),
            versions=dict(zip(labels, versions, strict=True)),
            options=fates,
        )
        question.write_settings(self.document, self.results)

    def data(self) -> None:
        """Start the new server on a data directory of the old one."""
        plan = self._plan(PROFILE)
        with workplace(self.document.upgrade, self.way.data) as (directory, held):
            old, new = (
                ManagedServer.find(plan, label, None, held, self.report) for label in self.document.labels
            )
            template = old.load(held)
            home = directory / "data"
            template.copy_to(home)
            (home / "error.log").unlink(missing_ok=True)
            self.keep(data=_started(new, template, home))

    def statements(self) -> None:
        """Count instructions of the catalogue's statements, and of the user's, and ask for their plans."""
        if self.way.counted is not None:
            counted = COUNTS.read(self.way.counted)
            path = COUNTS.write(self.results, counted.run, counted)
        else:
            catalogue = () if self.document.workloads else self._plan(STATEMENTS).workloads
            often = [*MOST_SENT, *catalogue]
            known = (*self.document.own, *sorted(catalogue, key=often.index), *self._workloads().split(","))
            plan = self._plan(
                STATEMENTS, workloads=",".join(dict.fromkeys(known)), budget=self._minutes("statements"),
                set=COUNTED_ROWS,
            )  # fmt: skip
            path = self._count(plan, "statements")
        self.keep(statements=self._below(path))

    def restoring(self) -> None:
        """Count the new server with old values of the settings that may explain what statements cost more."""
        answer = judge.read(self.document, self.results)
        minutes = self._minutes("restoring")
        suspects = answer.suspects[: self._trials(answer, 60 * float(minutes))]
        counts = (len(suspects) + SERVERS_BESIDE) * counting.STARTS_MIN  # of each kind
        kinds_max = 60 * float(minutes) / (COUNT_S * counts)
        losses = answer.workloads_to_restore(kinds_max, self._workloads().split(","))
        if not suspects or not losses:
            return
        text = self._server(1).partition("=")[2]
        trials = {f"old-{number}": trial for number, trial in enumerate(suspects, 1)}
        if len(trials) > 1:
            trials[judge.ALL] = "+".join(suspects)
        off = "+".join(answer.features_off(suspects))
        old = self._server(0).partition("=")[2]
        servers = [
            self._server(1),
            *(f"{name}={self._with(text, trial)}" for name, trial in trials.items()),
            f"{judge.OFF}={self._with(old, off) if off else old}",
        ]
        workloads = ",".join(losses)
        plan = self._plan(
            STATEMENTS, servers=",".join(servers), workloads=workloads, budget=minutes, set=COUNTED_ROWS
        )
        self.document = replace(self.document, trials=trials | {judge.OFF: off})
        self.keep(restoring=self._below(self._count(plan, "restoring", answer.to_restore)))

    def _trials(self, answer: judge.Findings, seconds: float) -> int:
        """Count the settings that there is time for, by how long the servers' starts took before."""
        counted = answer.counted.document if answer.counted else None
        if counted is None or not counted.elapsed_s:
            return TRIALS_MAX
        starts = max((count.start for count in counted.counts), default=1)
        kinds = len({(count.workload, count.kind) for count in counted.counts}) or 1
        share = min(1.0, len(answer.to_restore) / kinds)
        start_s = START_S + max(0.0, counted.elapsed_s / starts - START_S) * share
        batches = int(seconds / (counting.STARTS_MIN * start_s))
        return min(TRIALS_MAX, max(1, batches * len(os.sched_getaffinity(0)) - SERVERS_BESIDE))

    def _count(
        self, plan: Plan, part: Literal["statements", "restoring"], only: Collection[tuple[str, str]] = ()
    ) -> Path:
        name = getattr(self.document, part)
        before = COUNTS.read(self.results / name) if name else None
        return counting.measure(
            plan, self.results, self.observe, before=before, own=self.document.own,
            kept=lambda path: self.keep(**{part: self._below(path)}), only=only,
        )  # fmt: skip

    def compare_rows(self) -> None:
        """Compare the rows that both servers return."""
        plan = self._plan(PROFILE, workloads=self._workloads())
        self.keep(results=tuple(said for _, said in results.compared(plan, self.observe)))

    def time(self) -> None:
        """Measure throughput in memory, durable, and beyond memory; or under the user's settings."""
        legs: tuple[str, ...] = ("",) if self.document.settings else ("", f"@{DURABLE}", f"@{LARGE}")
        if self._left() / len(legs) < LARGE_MIN:
            legs = legs[:2]
        for number in range(len(self.document.runs), len(legs)):
            minutes = TIME_OF_LEGS * self._left() / (len(legs) - number * TIME_OF_LEGS)
            if minutes < PART_MIN and legs[number].endswith(LARGE):
                return  # the answer says that it was not tested
            if minutes < PART_MIN:
                raise InputError(
                    f"the budget of {self.document.budget_min:g} minutes is spent; --budget extends it"
                )
            plan = self._plan(
                PROFILE, servers=",".join(f"{self._server(at)}{legs[number]}" for at in (0, 1)),
                workloads=self._workloads(), budget=f"{minutes:.2f}",
                **({"set": [LARGE_ROWS]} if legs[number].endswith(LARGE) else {}),
            )  # fmt: skip
            path = campaign.measure(plan, self.results, self.observe)
            self.keep(runs=(*self.document.runs, self._below(path)))
        self._time_settings()

    def _time_settings(self) -> None:
        loss, suspects = judge.read(self.document, self.results).time_suspects
        if loss is None or self.document.timed:
            return
        run, cell = loss
        leg = run.header.servers[-1].settings_name
        text = self._with(self._server(1), leg) if leg in (DURABLE, LARGE) else self._server(1)
        trials = {f"time-{number}": setting for number, setting in enumerate(suspects, 1)}
        name, _, program = text.partition("=")
        heads = (f"{label}={self._with(program, setting)}" for label, setting in trials.items())
        written = {record.name: record.written for record in run.header.workloads}
        plan = self._plan(
            PROFILE, servers=",".join((f"{name}={program}", *heads)),
            workloads=written[cell.cell.workload], threads=str(cell.cell.threads),
            budget=f"{max(PART_MIN, self._left()):.2f}",
            **({"set": [LARGE_ROWS]} if leg == LARGE else {}),
        )  # fmt: skip
        path = campaign.measure(plan, self.results, self.observe)
        self.keep(timed=self._below(path), time_trials=trials)

    # --- plans ------------------------------------------------------------------------------------

    def _plan(self, profile: str, **changed: Any) -> Plan:
        servers = ",".join(self._server(number) for number in (0, 1))
        data = {} if self.way.data is None else {"data": str(self.way.data)}
        chosen = {"profile": profile, "servers": servers, **data, **changed}
        return steps.plan(Selection.read(**chosen), self.report)

    def _server(self, number: int) -> str:
        file = self._file(("old", "new")[number])
        text = reference.parse(self.document.references[number]).text
        return f"{self.document.labels[number]}={self._with(text, str(file)) if file.exists() else text}"

    def _with(self, text: str, settings: str) -> str:
        return f"{text}{'+' if reference.parse(text).settings else '@'}{settings}"

    def _file(self, label: str) -> Path:
        return question.settings_file(self.document, self.results, label)

    def _workloads(self) -> str:
        chosen = {"workloads": self.document.workloads} if self.document.workloads else {}
        known = [record.written for record in self._plan(PROFILE, **chosen).records]
        changed = judge.read(self.document, self.results).changes_of_workloads
        known.sort(key=lambda name: -changed.get(name, 0.0))
        return ",".join((*((self.document.workload,) if self.document.workload else ()), *known))

    def _minutes(self, part: Part) -> str:
        open_ = [name for name in SHARES if name not in (*self.document.done, *self.way.without)]
        share = SHARES[part] / sum(SHARES[name] for name in {*open_, part})
        return f"{max(PART_MIN, share * self._left()):.2f}"

    def _left(self) -> float:
        return (self.ends_s - time.monotonic()) / 60

    def _below(self, path: Path) -> str:
        return str(path.relative_to(self.results))


def _started(new: ManagedServer, template: dataset.Template, home: Path) -> DataDirectory:
    began_s = time.monotonic()
    same, reason = False, ""
    try:
        instance = instances.begin(new.program, home, new.compiled.options, start_timeout_s=UPGRADE_TIMEOUT_S)
        with instance:
            instance.wait_until_ready()
            seconds = time.monotonic() - began_s
            same = dataset.verify_all(instance, new.datasets) == template.checksum
    except MeasureError as error:
        seconds, reason = time.monotonic() - began_s, str(error)
    log = (home / "error.log").read_text("utf-8", errors="replace") if (home / "error.log").exists() else ""
    if reason:
        reason = without_values(configuration.cause(f"{reason.splitlines()[0]}\n{log}"))
    told = [text for text in configuration.warnings(log) if text != reason][:TOLD_MAX]
    told = [*filter(None, (reason, *told))]
    return DataDirectory(started=not reason, seconds=round(seconds, 1), same_rows=same, told=tuple(told))
