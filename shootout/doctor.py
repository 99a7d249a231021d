"""What is to be known of a runner before its verdicts are believed: machine, noise, false alarms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from shootout import ledger, machine, stats
from shootout.model import THROUGHPUT, Cell, FalseAlarms, LedgerEntry, Policy, Runner, Value
from shootout.servers import native

CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)  # losses, of the power curve
STARTS = 6  # of a run that it is told for
FILES_MIN = 8192  # open files: servers lower their limits with fewer


class Finding(Value):
    """One thing that was looked at."""

    what: str
    found: str
    advice: str = ""  # empty: it is well


class CellNoise(Value):
    """What A/A cells of one kind have shown."""

    workload: str
    dataset: str
    threads: int
    runs: int
    spread: float  # of one start's throughput ratio: standard deviation of its logarithm
    power: dict[str, float]  # share of runs of `STARTS` starts that flag a loss, by the loss as a share


class Report(Value):
    """All of it."""

    runner: Runner
    findings: tuple[Finding, ...]
    noise: tuple[CellNoise, ...]
    false_alarms: FalseAlarms | None


def examine(data: Path, results: Path, policy: Policy) -> Report:
    """Look at this machine, and at what its runs in `results` have shown. Raises InputError."""
    runner = machine.inspect(data)
    entries = ledger.read(results / ledger.FOLDER, runner.fingerprint)
    return Report(
        runner=runner,
        findings=tuple(_findings(runner, data)),
        noise=noise(entries, policy),
        false_alarms=ledger.false_alarms(entries, policy.confidence) if entries else None,
    )


def noise(entries: Sequence[LedgerEntry], policy: Policy) -> tuple[CellNoise, ...]:
    """The noise of each kind of cell that is known."""
    runs: dict[Cell, set[str]] = {}
    for entry in entries:
        kind = Cell(workload=entry.workload, dataset=entry.dataset, server="", threads=entry.threads)
        runs.setdefault(kind, set()).add(entry.run)
    found = []
    for kind, of_kind in sorted(runs.items()):
        spread = ledger.spreads(entries, kind).get(THROUGHPUT)
        if spread is not None:
            margin = policy.margin_of(THROUGHPUT, kind.workload)
            found.append(
                CellNoise(
                    workload=kind.workload,
                    dataset=kind.dataset,
                    threads=kind.threads,
                    runs=len(of_kind),
                    spread=spread,
                    power={f"{loss:g}": power(loss, spread, margin, policy) for loss in CHANGES},
                )
            )
    return tuple(found)


def power(loss: float, spread: float, margin: float, policy: Policy, starts: int = STARTS) -> float:
    """The share of runs that flag such a loss of throughput, where starts differ by `spread`.

    The estimate must pass the bar, and its interval zero; it lies about the loss as Student's distribution
    says. Holm's correction and the confirmation are not in it.
    """
    error = spread / math.sqrt(starts)
    floor = policy.floor_factor * stats.quantile(policy.confidence) * error
    reach = max(math.log1p(margin), floor, stats.quantile(policy.confidence, starts - 1) * error)
    beyond = -math.log1p(-loss) - reach
    return stats.student_below(beyond / error, starts - 1) if error > 0 else float(beyond >= 0)


def _findings(runner: Runner, data: Path) -> Iterator[Finding]:
    gib = runner.memory_bytes / 2**30
    yield Finding(what="processor", found=f"{runner.cpu}, {runner.cpus} CPUs")
    yield Finding(what="memory", found=f"{gib:.1f} GiB")
    yield Finding(what="disk", found=f"{runner.filesystem} on {runner.disk}")
    advice = "a machine of its own is quieter" if runner.virtual else ""
    yield Finding(what="virtualisation", found=runner.virtual or "none", advice=advice)
    for warning in runner.warnings:
        advice = _ADVICE.get(warning.code, "see docs/method.md")
        yield Finding(what=warning.code, found=warning.text, advice=advice)
    files = native.allow_files()
    advice = "" if files >= FILES_MIN else "raise the hard limit (ulimit -Hn): servers lower theirs with it"
    yield Finding(what="open files", found=str(files), advice=advice)
    if scheduler := machine.io_scheduler(data):
        yield Finding(what="I/O scheduler", found=scheduler)


_ADVICE = {
    "shared-cpu": "with four CPUs or more the load engine gets some of its own",
    "cpu-governor": "set the governor to performance (cpupower frequency-set -g performance)",
    "swap": "free memory, or turn swap off",
    "steal": "other guests take CPU time: prefer a machine of its own",
}
