"""Facts to know about a runner before trusting its verdicts: machine, noise, false alarms."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shootout.analysis import ledger, stats
from shootout.analysis.power import flagged
from shootout.document import ledgers
from shootout.model.history import LedgerEntry
from shootout.model.plan import THROUGHPUT, Policy, Profile
from shootout.model.run import Finding, Runner
from shootout.model.value import Value
from shootout.model.verdict import FalseAlarms
from shootout.runner import disk, interference, machine, preflight
from shootout.runner.host import Host
from shootout.servers.processes import children

CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)  # losses on the power curve
STARTS = 6  # of the run that it describes
POWER_MIN = 0.8  # share of runs that flag a loss which can be seen


class CellNoise(Value):
    """The noise in A/A cells of one kind, with equal settings."""

    workload: str
    dataset: str
    settings: str  # of the runs; "": not recorded
    threads: int
    runs: int
    spread: float  # of one start's throughput ratio: standard deviation of its logarithm
    lasting: float  # of what all starts of a run share: likewise
    power: dict[str, float]  # share of runs of `STARTS` starts that flag a loss, by the loss as a fraction


class Report(Value):
    """The report of `shootout doctor`."""

    runner: Runner
    findings: tuple[Finding, ...]
    noise: tuple[CellNoise, ...]
    false_alarms: FalseAlarms  # with the profile's settings, in gates like the newest run's
    aa_cells_wanting: int  # without a false alarm, until the rate is known to satisfy the policy
    budget_min: float | None  # of the gates; None: without limit

    @property
    def visible(self) -> float | None:
        """The smallest of CHANGES that can be seen in every kind of cell; None: not even the largest."""
        losses = (loss for loss in CHANGES if all(c.power[f"{loss:g}"] >= POWER_MIN for c in self.noise))
        return next(losses, None)


def examine(data: Path, results: Path, gates: Profile, skip: Callable[[str], None]) -> Report:
    """Examine this machine for some seconds, and the ledger of its runs. Raises InputError."""
    runner, policy = machine.inspect(data), gates.policy
    entries = ledgers.read(results / ledgers.FOLDER, runner.fingerprint, skip)
    false_alarms = ledger.false_alarms_of_gates(entries, policy, gates.settings)
    return Report(
        runner=runner,
        findings=tuple(_findings(data)),
        noise=noise(entries, policy),
        false_alarms=false_alarms,
        aa_cells_wanting=ledger.cells_needed(false_alarms, policy),
        budget_min=None if gates.sampling.budget_s is None else gates.sampling.budget_s / 60,
    )


def noise(entries: Sequence[LedgerEntry], policy: Policy) -> tuple[CellNoise, ...]:
    """List the noise of each kind of cell in the ledger, by settings."""
    grouped: dict[tuple[ledger.Kind, str], list[LedgerEntry]] = {}
    for entry in entries:
        grouped.setdefault((ledger.kind(entry), entry.settings), []).append(entry)
    return tuple(
        CellNoise(
            workload=workload,
            dataset=dataset,
            settings=settings,
            threads=threads,
            runs=len({entry.run for entry in of_kind}),
            spread=of_cell.spread,
            lasting=of_cell.lasting,
            power={f"{loss:g}": power(loss, of_cell, workload, policy) for loss in CHANGES},
        )
        for ((workload, dataset, threads), settings), of_kind in sorted(grouped.items())
        if (of_cell := ledger.noise(of_kind).get(THROUGHPUT)) is not None
    )


def power(loss: float, noise: ledger.Noise, workload: str, policy: Policy) -> float:
    """Compute the share of runs of one cell that flag a loss beside A/A cells with such noise."""
    floor = policy.floor_factor * stats.quantile(policy.confidence) * noise.deviation(STARTS)
    bar = max(math.log1p(policy.margin_of(THROUGHPUT, workload)), floor)
    starts = STARTS + policy.confirm_starts
    of_run = stats.Noise((noise.deviation(starts),), starts - 1)
    return flagged(-math.log1p(-loss), of_run, bar, policy, comparisons=1)


def _findings(data: Path) -> Iterator[Finding]:
    host = Host()
    folder = data.resolve()
    yield from preflight.findings(host, folder)
    yield preflight.user(os.geteuid())
    yield preflight.open_files(children.allow_files())
    while not folder.exists():
        folder = folder.parent
    yield preflight.free_space(shutil.disk_usage(folder).free)
    yield from interference.findings(host)
    yield from disk.findings(folder)
