"""Findings of an upgrade's parts together: cells, statements, plans, settings, and what restores the old."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import TypeVar

from shootout import steps
from shootout.analysis import plan_changes
from shootout.count import judge as counts
from shootout.count.documents import COUNTS
from shootout.count.values import JOINT, MIX, TRANSACTION, CountChange, CountComparison
from shootout.errors import InputError
from shootout.inputs.options import ACKNOWLEDGED
from shootout.model.execution_plan import PlanChange
from shootout.model.run import Runner
from shootout.model.verdict import CellComparison, Comparison, Interval, Verdict
from shootout.settings import differences
from shootout.settings.behaviours import Evidence
from shootout.settings.differences import VariableDifference
from shootout.settings.setting import variable
from shootout.settings.table import BY_TIME, FOR_WRITES
from shootout.upgrade.configuration import is_kept
from shootout.upgrade.values import AS_ASKED, PARTS, OptionFate, Part, UpgradeDocument

T = TypeVar("T")
LOG_WRITERS = "innodb_log_writer_threads"
# Features of a new server that work beside the statement, and how to turn them off.
FEATURES = {
    "performance_schema": "OFF", LOG_WRITERS: "OFF", "internal_tmp_mem_storage_engine": "MEMORY",
}  # fmt: skip
TIMED_MAX = 3  # settings that are measured by time
TOGETHER = ("character_set_server", "collation_server")  # a server refuses one without the other
ALL = "old-all"  # the label of the new server with all old values
CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
OFF = "old-off"  # of the old server without the features that the new one is counted without


@dataclass(frozen=True)
class Restored:
    """The effect of an old value of a setting on the new server's statements."""

    setting: str  # NAME=VALUE
    restores: tuple[CountChange, ...]  # fewer instructions with it, for kinds that cost more than on the old
    saves: tuple[CountChange, ...]  # fewer, too, but nothing that was lost
    cost: tuple[CountChange, ...]  # more
    plans: tuple[PlanChange, ...]  # changed on the new server, and as on the old one with it
    failed: str  # why it has no counts


@dataclass(frozen=True)
class Loss:
    """A kind of statement that costs more, and what is left of it with the old settings."""

    change: CountChange
    left: CountChange | None  # the new server with all old values, against the old without these features


@dataclass(frozen=True)
class Worst:
    """The loss that the headline shows, and what was tried against it."""

    workload: str
    kinds: tuple[CountChange, ...]  # the one that is lost, or those of the workload that cost more
    throughput: tuple[Comparison, CellComparison] | None  # None: instructions were lost
    tested: bool  # each of these kinds was counted with old values
    restored_by: tuple[str, ...]  # NAME=VALUE, by instructions
    untimed: tuple[str, ...]  # variables that differed in the run, and cost it time only


@dataclass(frozen=True)
class Findings:
    """An upgrade, judged."""

    document: UpgradeDocument
    counted: CountComparison | None
    restored: CountComparison | None
    runs: tuple[Comparison, ...]  # those of other machines first
    timed: Comparison | None  # the new server, and as heads itself with old values
    unreadable: tuple[str, ...]  # documents that are gone, or damaged
    out: Path | None = None  # the folder that commands name; None: the default

    @property
    def old(self) -> str:
        """The old server's label."""
        return self.document.labels[0]

    @property
    def new(self) -> str:
        """The new server's."""
        return self.document.labels[1]

    @cached_property
    def cells(self) -> tuple[tuple[Comparison, CellComparison], ...]:
        """The new server's cells that have a ratio, the worst first, with their runs."""
        both = ((run, cell) for run in self.runs for cell in run.cells)
        every = (each for each in both if each[1].cell.server == self.new and each[1].ratio is not None)
        return tuple(sorted(every, key=lambda each: each[1].ratio.estimate if each[1].ratio else 1.0))

    @property
    def machines(self) -> dict[str, Runner]:
        """The machines that measured time, by their fingerprints, the last one last."""
        return {run.header.runner.fingerprint: run.header.runner for run in self.runs}

    @cached_property
    def changes(self) -> tuple[CountChange, ...]:
        """Kinds of statement on the new server, those that cost most more first."""
        every = kinds(self.counted, self.new) if self.counted else ()
        return tuple(sorted(every, key=lambda change: -change.ratio.estimate if change.ratio else 0.0))

    @cached_property
    def compared(self) -> Mapping[tuple[str, str], PlanChange]:
        """The plans that both servers told, by workload and kind of statement."""
        every = self.counted.document.plans.items() if self.counted else ()
        return {
            (workload, change.kind): change
            for workload, plans in every
            for change in plan_changes.compared(plans, self.old, self.new)
        }

    @cached_property
    def plans(self) -> Mapping[tuple[str, str], PlanChange]:
        """The plans that changed."""
        return {place: change for place, change in self.compared.items() if change.changed}

    def plan(self, change: CountChange) -> str:
        """Say whether the plan of a kind is the same."""
        kinds = [(change.workload, name) for name in change.kind.split(JOINT)]
        if any(kind in self.plans for kind in kinds):
            return "changed"
        known = self.counted.document.plans.get(change.workload, ()) if self.counted else ()
        asked = {(plan.server, plan.kind) for plan in known if plan.steps or plan.text}
        both = all((server, name) in asked for server in (self.old, self.new) for _, name in kinds)
        return "same" if both else "unknown"

    @cached_property
    def variables(self) -> tuple[VariableDifference, ...]:
        """The variables that differ, notable ones first."""
        of_old, of_new = (self.document.variables.get(label, {}) for label in self.document.labels)
        asked = {variable(fate.option) for fate in self.document.options}
        return tuple(differences.differences(of_old, of_new, asked))

    @property
    def unmeasured(self) -> dict[str, str]:
        """Why a part that was wanted gave nothing to compare, by part."""
        why = {part: reason for part, reason in self.document.left_out.items() if reason != AS_ASKED}
        failures = self.counted.document.failures if self.counted else ()
        if failures and not self.compares_statements:
            why["statements"] = next((each for each in failures if not each.lacks), failures[0]).reason
        if self.failed and not self.cells:
            why["time"] = self.failed[0].reason
        return why

    @property
    def missing(self) -> tuple[Part, ...]:
        """The parts that a cut left undone."""
        return tuple(
            part for part in PARTS if part not in self.document.done and part not in self.document.left_out
        )

    @property
    def failed(self) -> tuple[CellComparison, ...]:
        """The cells that could not be measured."""
        return tuple(cell for run in self.runs for cell in run.cells if cell.verdict is Verdict.FAILED)

    @property
    def compares_statements(self) -> bool:
        """Whether a kind of statement was counted on both servers."""
        return any(change.ratio for change in self.changes)

    @property
    def without_settings(self) -> bool:
        """Whether the user's my.cnf was not tried, so that nothing was measured with it."""
        return bool(self.document.settings) and "settings" in self.document.left_out

    @property
    def nothing_changed(self) -> bool:
        """Whether something was found to be the same, and nothing of note differs."""
        judged = (each.verdict for each in self.changes if each.ratio)
        verdicts = [*(cell.verdict for _, cell in self.cells), *judged]
        differs = (
            any(each in CHANGED for each in verdicts), any(each.lacks for each in self.changes), self.plans,
            self.fates, self.document.results, any(each.notable for each in self.variables),
        )  # fmt: skip
        return Verdict.EQUIVALENT in verdicts and not any(differs)

    @property
    def suspects(self) -> tuple[str, ...]:
        """NAME=VALUE, or two with a plus: old values, and features off, that may explain what costs more."""
        new = self.document.variables.get(self.new, {})
        told = (fate.told for fate in self.document.options if fate.told)
        evidence = Evidence.of(self.compared.values(), told)
        every = differences.suspects(
            self.variables, planned=bool(self.plans), writes=True, head=new, evidence=evidence
        )
        every += [f"{name}={off}" for name, off in FEATURES.items() if new.get(name, off) != off]
        barred = {*" ,+"}  # a server reference has no place for these
        found = [each for each in every if barred.isdisjoint(each)]
        pair = sorted(each for each in found if each.partition("=")[0] in TOGETHER)
        if len(pair) == len(TOGETHER):
            found = ["+".join(pair), *(each for each in found if each not in pair)]
        return tuple(found)

    def features_off(self, trials: Iterable[str]) -> tuple[str, ...]:
        """Select the trials that have features off which the old server has on, too."""
        old = self.document.variables.get(self.old, {})
        every = (trial.partition("=") for trial in trials)
        return tuple(
            f"{name}={off}"
            for name, _, off in every
            if FEATURES.get(name) == off and old.get(name, off) != off
        )

    @property
    def fates(self) -> tuple[OptionFate, ...]:
        """The options of the user's my.cnf that the new server takes in another way, warns of, or refuses."""
        return tuple(fate for fate in self.document.options if fate.told or not is_kept(fate))

    def workloads_to_restore(self, kinds_max: float, timed: Collection[str]) -> tuple[str, ...]:
        """Workloads with kinds that cost more or have other plans: own, lost, timed, often sent first."""
        if self.counted is None:
            return ()
        costs: Counter[str] = Counter()
        for each in self.changes:
            costs[each.workload] += round(each.head.mean) if each.head else 0
        lost = {each.workload for each in self.changes if each.verdict is Verdict.REGRESSED}
        written = {record.name: record.written for record in self.counted.document.workloads}
        own = {name for name, text in written.items() if text in self.document.own}
        worse = sorted(
            lost | {workload for workload, _ in self.plans},
            key=lambda name: (
                name not in own, name not in lost, written[name] not in timed, costs[name], name,
            ),
        )  # fmt: skip
        sizes = Counter(workload for workload, _ in self.to_restore)
        totals = zip(worse, accumulate(sizes[name] for name in worse), strict=True)
        return tuple(
            written[name] for number, (name, total) in enumerate(totals) if not number or total <= kinds_max
        )

    @property
    def to_restore(self) -> frozenset[tuple[str, str]]:
        """The kinds that cost more, or that are planned in another way."""
        lost = (place(each) for each in self.changes if each.verdict is Verdict.REGRESSED)
        return frozenset((*lost, *self.plans))

    @property
    def changes_of_workloads(self) -> dict[str, float]:
        """By workload, the largest change of its kinds, as a logarithm without sign."""
        every = self.counted.changes if self.counted else ()
        own = [change for change in every if change.server == self.new and change.ratio is not None]
        own.sort(key=lambda change: abs(math.log(interval(change).estimate)))
        return {change.workload: abs(math.log(interval(change).estimate)) for change in own}

    @cached_property
    def restorations(self) -> tuple[Restored, ...]:
        """The effect of each old value, the most helpful first."""
        labels = (label for label in self.document.trials if label not in (ALL, OFF))
        every = [self._restored(self.restored, label) for label in labels] if self.restored else []
        every.sort(key=lambda each: (-len(each.restores), -len(each.plans), -len(each.saves)))
        return tuple(every)

    def _restored(self, counted: CountComparison, label: str) -> Restored:
        failures = {each.server: each.reason for each in counted.document.failures if not each.kind}
        changes, lost = [*kinds(counted, label)], self._restorable(label)
        less = [each for each in changes if each.verdict is Verdict.IMPROVED]
        return Restored(
            setting=self.document.trials[label],
            restores=tuple(each for each in less if place(each) in lost),
            saves=tuple(each for each in less if place(each) not in lost),
            cost=tuple(each for each in changes if each.verdict is Verdict.REGRESSED),
            plans=tuple(self._plans_restored(counted, label)), failed=failures.get(label, ""),
        )  # fmt: skip

    def _plans_restored(self, counted: CountComparison, label: str) -> Iterator[PlanChange]:
        for (workload, kind), change in self.plans.items():
            tried = counted.document.plans.get(workload, ())
            again = plan_changes.compared((change.base, *tried), self.old, label)
            if any(each.kind == kind and not each.changed for each in again):
                yield change

    def _restorable(self, label: str) -> Collection[tuple[str, str]]:
        """The kinds whose loss a trial can restore.

        Without a feature that the old server has, too, both need fewer instructions: what is left then must
        certainly be less than the loss. Several features were not counted one by one.
        """
        lost = {place(loss.change): loss.change for loss in self.losses}
        off = self.document.trials.get(OFF, "")
        if self.document.trials[label] not in off.split("+"):
            return lost
        left = self._left(label) if self.document.trials[label] == off else {}
        return {
            place
            for place, change in lost.items()
            if place in left and interval(left[place]).high < interval(change).low
        }

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Kinds that cost more, the worst first, and what is left of each under the old settings."""
        trials = self.document.trials
        left = self._left(ALL if ALL in trials else next(iter(trials), ""))
        return tuple(
            Loss(change, left.get(place(change)))
            for change in self.changes
            if change.verdict is Verdict.REGRESSED
        )

    def _left(self, label: str) -> Mapping[tuple[str, str], CountChange]:
        if self.restored is None or OFF not in self.document.trials:
            return {}
        of_trial = kinds(counts.compare(self.restored.document, OFF), label)
        return {place(change): change for change in of_trial if change.ratio is not None}

    @cached_property
    def worst(self) -> Worst | None:
        """The loss that the headline shows; None: it shows none."""
        slower = self.slower
        if self.cells and not slower:
            return None
        lost = [loss.change for loss in self.losses]
        if slower:
            workload = slower[0][1].cell.workload
            kinds = [change for change in lost if change.workload == workload]
        else:
            kinds = lost[:1]
        if not (slower or kinds):
            return None
        places = {place(change) for change in kinds}
        restored_by = (each.setting for each in self.restorations if places & {*map(place, each.restores)})
        return Worst(
            workload=slower[0][1].cell.workload if slower else kinds[0].workload, kinds=tuple(kinds),
            throughput=slower[0] if slower else None, tested=bool(places) and places <= self.tried,
            restored_by=tuple(restored_by), untimed=_untimed(*slower[0]) if slower else (),
        )  # fmt: skip

    @property
    def tried(self) -> set[tuple[str, str]]:
        """The kinds that were counted with an old value."""
        changes = self.restored.changes if self.restored else ()
        labels = self.document.trials.keys() - {OFF}
        return {place(each) for each in changes if each.ratio is not None and each.server in labels}

    @property
    def time_suspects(self) -> tuple[tuple[Comparison, CellComparison] | None, tuple[str, ...]]:
        """The worst loss in throughput that settings may explain which act by time, and their old values."""
        every = ((each, _old_values(*each)) for each in self.slower)
        return next(((each, suspects) for each, suspects in every if suspects), (None, ()))

    @property
    def slower(self) -> list[tuple[Comparison, CellComparison]]:
        """The cells that certainly lost throughput, the worst first."""
        return [each for each in self.cells if each[1].verdict is Verdict.REGRESSED]

    @property
    def timings(self) -> tuple[tuple[str, CellComparison], ...]:
        """The effect of each old value on throughput, the most helpful first."""
        cells = self.timed.cells if self.timed else ()
        trials = self.document.time_trials
        every = [(trials[cell.cell.server], cell) for cell in cells if cell.cell.server in trials]
        return tuple(sorted(every, key=lambda each: -each[1].ratio.estimate if each[1].ratio else 0.0))

    @property
    def explained(self) -> float | None:
        """The share of the worst loss that settings explain; None, unless all its kinds were counted."""
        if self.worst is None or self.counted is None:
            return None
        workload = self.worst.workload
        dearer = [
            loss for loss in self.losses if not self.worst.throughput or loss.change.workload == workload
        ]
        sent = {(kind.workload, kind.name): kind.per_transaction for kind in self.counted.document.kinds}
        lost = still = 0.0
        for loss in dearer:
            change, times = loss.change, sent[place(loss.change)]
            if change.workload != workload or not times or loss.left is None or change.base is None:
                return None
            lost += times * change.base.mean * (interval(change).estimate - 1)
            still += times * change.base.mean * (interval(loss.left).estimate - 1)
        return 1 - still / lost if lost else None


def kinds(comparison: CountComparison, server: str) -> Iterator[CountChange]:
    """Every kind on a server; a whole transaction only of a workload that has nothing else."""
    whole = (TRANSACTION, MIX)
    in_parts = {kind.workload for kind in comparison.document.kinds if kind.name not in whole}
    for change in comparison.changes:
        if change.server == server and (change.kind not in whole or change.workload not in in_parts):
            yield change


def place(change: CountChange) -> tuple[str, str]:
    return change.workload, change.kind


def interval(change: CountChange) -> Interval:
    assert change.ratio is not None  # of what is judged
    return change.ratio


def _untimed(run: Comparison, cell: CellComparison) -> tuple[str, ...]:
    servers = {server.label: server for server in run.header.servers}
    old, new = servers[cell.base.server], servers[cell.cell.server]
    called = {record.name: record.variables for record in (*old.settings, *new.settings)}
    felt = BY_TIME if cell.figures and cell.figures.writes else BY_TIME - FOR_WRITES
    names = chain.from_iterable(called[name] for name in chain(*differences.of_records(old, new)))
    return tuple(name for name in names if name in felt)


def _old_values(run: Comparison, cell: CellComparison) -> tuple[str, ...]:
    servers = {server.label: server for server in run.header.servers}
    old, new = (
        {
            record.variables[0]: record.effective
            for record in servers[label].settings
            if len(record.variables) == 1 and record.effective is not None
        }
        for label in (cell.base.server, cell.cell.server)
    )
    felt = {name: old[name] for name in _untimed(run, cell) if name in old and name in new}
    if cell.figures and cell.figures.writes and new.get(LOG_WRITERS, "OFF") != "OFF":
        felt[LOG_WRITERS] = "OFF"
    every = (f"{name}={felt[name]}" for name in sorted(felt, key=differences.rank))
    return tuple(each for each in every if {*" ,+"}.isdisjoint(each))[:TIMED_MAX]


def read(document: UpgradeDocument, results: Path, out: Path | None = None) -> Findings:
    """Judge what the parts measured; a document that cannot be read is named and left out."""
    unreadable: list[str] = []

    def known(name: str, judged: Callable[[Path], T]) -> T | None:
        if not name:
            return None
        try:
            return judged(results / name)
        except InputError as error:
            unreadable.append(str(error))
            return None

    def run(name: str) -> Comparison | None:
        return known(name, lambda path: steps.judge(path, ACKNOWLEDGED.default, unreadable.append))

    runs = [run(name) for name in (*document.elsewhere, *document.runs)]
    return Findings(
        document,
        known(document.statements, lambda path: counts.compare(COUNTS.read(path), document.labels[0])),
        known(document.restoring, lambda path: counts.compare(COUNTS.read(path))),
        tuple(run for run in runs if run is not None),
        run(document.timed),
        tuple(dict.fromkeys(unreadable)),  # several runs share a ledger
        out,
    )
