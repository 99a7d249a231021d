"""The first lines of a command: what it compares, for how long, and which loss it can see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from shootout import figures
from shootout.analysis import ledger, power, stats
from shootout.document import ledgers
from shootout.measure import schedule
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.model.plan import THROUGHPUT, Block
from shootout.model.run import ServerRecord
from shootout.numbers import plain_percent
from shootout.paths import cache_folder
from shootout.runner import machine
from shootout.servers.sources.fetch.packages import Progress, no_progress
from shootout.settings.differences import called

BUILD_SHOWN = 12  # characters of its digest


def lines(
    plan: Plan, report: Progress = no_progress, results: Path | None = None, settings: str = ""
) -> Iterator[str]:
    """Say what is compared, for how long, and which loss a run is likely to see. Raises InputError.

    Fetches servers that are missing; `report` receives that. `results`: of a run; without them its cells are
    left out. `settings`: a file of the user's, in place of those of the plan.
    """
    records = [
        ManagedServer.find(plan, label, report=report).record()
        for label, server in plan.servers.items()
        if not server.absent and server.reference.source != "dsn"
    ]
    builds = {record.label: f" ({_build(record)})" for record in records}
    names = [f"{label}{builds.get(label, '')}" for label in plan.servers if label not in plan.absent]
    first, *others = names
    yield f"Comparing {first} with {', '.join(others)}" if others else f"Measuring {first}"
    yield from [f"Settings: {settings}"] if settings else _settings(plan.profile.settings, records)
    yield _time(plan, with_cells=results is not None)
    if results is not None and any(len(block.servers) > 1 for block in plan.blocks):
        yield f"Detectable loss: {_detectable(plan, results)}"


def _settings(name: str, records: Sequence[ServerRecord]) -> Iterator[str]:
    servers: dict[str, list[str]] = {}  # labels by NAME = VALUE
    for record in records:
        for each in record.settings:
            if each.requested is not None:
                value = figures.setting(each.requested, each.name)
                servers.setdefault(f"{called(each.name, *records)} = {value}", []).append(record.label)
    if same := [setting for setting, labels in servers.items() if len(labels) == len(records)]:
        yield f"Settings {figures.settings(name)}: {', '.join(same)}"
    if apart := [f"{each} on {', '.join(on)}" for each, on in servers.items() if each not in same]:
        yield f"Settings that differ: {'; '.join(apart)}"


def _time(plan: Plan, *, with_cells: bool) -> str:
    sampling, blocks = plan.profile.sampling, plan.blocks
    given = figures.duration(sampling.budget_s)
    if not with_cells:
        return f"Time: at most {given}"
    cells = figures.counted(sum(max(len(block.servers) - 1, 1) for block in blocks), "cell")
    first = _first(plan)
    if len(first) == len(blocks):
        return f"Time: at most {given} for {cells}"
    needed = figures.duration(schedule.needed_s(sampling, blocks))
    keys = ", ".join(block.key for block in first)
    return f"Time: {given}; {cells} need about {needed}: first {keys}, the others if time allows"


def _first(plan: Plan) -> Sequence[Block]:
    sampling = plan.profile.sampling
    return schedule.affordable(sampling, plan.blocks, sampling.budget_s) or plan.blocks[:1]


def _build(record: ServerRecord) -> str:
    version = "" if record.version in record.label else f"{record.version}, "
    return f"{version}build {record.build[:BUILD_SHOWN]}"


def _detectable(plan: Plan, results: Path) -> str:
    """The losses that four of five such runs would flag, by the A/A cells that this runner has measured."""
    sampling, policy, blocks = plan.profile.sampling, plan.profile.policy, _first(plan)
    runner = machine.inspect(plan.data or cache_folder(), name=sampling.placement)
    entries = [
        entry
        for entry in ledgers.read(results / ledgers.FOLDER, runner.fingerprint)
        if entry.settings == plan.profile.settings
    ]
    kinds = ledger.by_kind(entries)
    pace = sampling.budget_s / schedule.needed_s(sampling, blocks)  # budgets for the fewest starts
    starts = max(stats.STARTS_MIN, min(sampling.starts_max, math.floor(pace * sampling.starts_min)))
    comparisons = sum(len(block.servers) - 1 for block in plan.blocks)
    losses = []
    for block in blocks:
        noise = ledger.noise(kinds.get((block.workload, block.dataset, block.threads), [])).get(THROUGHPUT)
        if noise is not None:
            bar = max(
                math.log1p(policy.margin_of(THROUGHPUT, block.workload)),
                policy.floor_factor * stats.quantile(policy.confidence) * noise.deviation(starts),
            )
            spread = stats.Noise((noise.deviation(starts),), starts - 1)
            losses.append(-math.expm1(-power.detectable(spread, bar, policy, comparisons)))
    if not losses:
        return "unknown until this runner has measured A/A cells of these workloads"
    low, high = plain_percent(min(losses)), plain_percent(max(losses))
    some = "" if len(losses) == len(blocks) else f", {len(losses)} of {len(blocks)} blocks known"
    span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    return f"{span} in {starts} starts, by {figures.counted(len(entries), 'A/A cell')} of this runner{some}"
