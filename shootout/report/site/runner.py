"""The page of a runner: the machine and its noise, as measured by A/A cells."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout import numbers
from shootout.analysis import ledger, stats
from shootout.model.history import LedgerEntry
from shootout.model.plan import Policy
from shootout.model.run import Runner
from shootout.model.verdict import FalseAlarms, Verdict
from shootout.report.judged_runs import JudgedRun
from shootout.report.site.names import runner_page
from shootout.report.site.page import Page
from shootout.report.site.run import Machine, Run
from shootout.runner import doctor
from shootout.runner.doctor import CellNoise

ALARMS = (Verdict.REGRESSED, Verdict.IMPROVED)


@dataclass(frozen=True)
class CellKind:
    noise: CellNoise
    floor: float  # noise floor of a run with doctor.STARTS starts: a loss, as a share
    cells: int
    alarms: int


@dataclass(frozen=True)
class Share:
    judged: JudgedRun
    run: Run
    machine: Machine
    aa_entries: tuple[LedgerEntry, ...]

    @property
    def runner(self) -> Runner:
        return self.machine.runner

    @property
    def others(self) -> tuple[Machine, ...]:
        return tuple(machine for machine in self.run.machines if machine != self.machine)

    @property
    def alarms(self) -> int:
        return sum(entry.verdict in ALARMS for entry in self.aa_entries)


@dataclass(frozen=True)
class RunnerPage(Page):
    """A runner: its runs, its noise, its false alarms, and the losses that it would flag."""

    shares: tuple[Share, ...]  # one per run, newest first
    template = "runner"

    @property
    def runner(self) -> Runner:
        return self.shares[0].runner

    @property
    def path(self) -> str:
        return runner_page(self.runner.fingerprint)

    @property
    def policy(self) -> Policy:
        return self.shares[0].judged.comparison.policy

    @cached_property
    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(entry for share in reversed(self.shares) for entry in share.aa_entries)

    @cached_property
    def false_alarms(self) -> FalseAlarms:
        settings = self.shares[0].judged.comparison.header.profile.settings
        return ledger.false_alarms_of_gates(self.entries, self.policy, settings)

    @cached_property
    def kinds(self) -> tuple[CellKind, ...]:
        cells = Counter(map(_key, self.entries))
        alarms = Counter(_key(entry) for entry in self.entries if entry.verdict in ALARMS)
        return tuple(
            CellKind(noise, self._floor(noise), cells[_key(noise)], alarms[_key(noise)])
            for noise in doctor.noise(self.entries, self.policy)
        )

    @property
    def losses(self) -> tuple[str, ...]:
        return tuple(f"loss of {numbers.share(float(loss))}" for loss in self.kinds[0].noise.power)

    def _floor(self, noise: CellNoise) -> float:
        of_estimate = ledger.Noise(noise.spread, noise.lasting).deviation(doctor.STARTS)
        return -math.expm1(-stats.quantile(self.policy.confidence) * of_estimate)


def pages(runs: Sequence[JudgedRun]) -> tuple[RunnerPage, ...]:
    """One page per runner, the most recent first; `runs`: newest first."""
    shares: defaultdict[str, list[Share]] = defaultdict(list)
    for run in runs:
        summary = Run.summary(run)
        for machine in summary.machines:
            name = machine.runner.fingerprint
            aa_entries = tuple(entry for entry in run.aa_entries if entry.runner == name)
            shares[name].append(Share(run, summary, machine, aa_entries))
    return tuple(map(RunnerPage, map(tuple, shares.values())))


def _key(of: LedgerEntry | CellNoise) -> tuple[str, str, str, int]:
    return of.workload, of.dataset, of.settings, of.threads
