"""Findings of an explanation: functions, plans and settings that differ between base and head."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shootout.analysis import compare, metrics, plan_changes
from shootout.analysis.interval_verdict import interval_verdict
from shootout.analysis.stats import STARTS_MIN
from shootout.document import journal
from shootout.errors import InputError
from shootout.explain import call_paths, functions, wall_clock
from shootout.explain.call_paths import CallPaths
from shootout.explain.documents import EXPLANATIONS
from shootout.explain.functions import Change
from shootout.explain.values import Explanation
from shootout.model.execution_plan import PlanChange
from shootout.model.plan import block_key
from shootout.model.run import RunDocument, RunHeader, Samples
from shootout.model.verdict import Interval, StatementTime, Verdict
from shootout.settings import differences
from shootout.settings.behaviours import Evidence
from shootout.settings.differences import VariableDifference

SUSPECTS_MAX = 3  # settings that are worth a measurement


@dataclass(frozen=True)
class Trial:
    """Throughput of the head with a setting changed."""

    to_base: Interval | None  # None: no steady start
    to_head: Interval | None  # beside the head without it
    verdict: Verdict  # on that


@dataclass(frozen=True)
class Explained:
    """An explanation, evaluated. Functions need a profile; without one they are empty."""

    explanation: Explanation
    ratio: Interval | None  # throughput in the profiled starts, head over base
    tried: dict[str, Trial]  # by setting
    statements: tuple[StatementTime, ...]
    wall_clock: tuple[Change, ...]  # the response time, and what it consists of
    cpu: Change | None  # of the whole server, per transaction
    paths: CallPaths
    parts: tuple[Change, ...]  # of the server's program, libraries and kernel
    functions: tuple[Change, ...]  # while on the CPU themselves; largest change first
    inclusive: tuple[Change, ...]  # with everything that they call
    narrowed: tuple[Change, ...]  # of these, those that locate the whole change
    plans: tuple[PlanChange, ...]  # changed ones first
    unplanned: tuple[str, ...]  # kinds of statement whose plans could not be compared, and why
    variables: tuple[VariableDifference, ...]  # notable ones first
    writes: bool  # the load does
    header: RunHeader  # of the profiled starts
    slowed: tuple[float, float] | None  # seconds of the base's transaction: profiled, and in the run
    confidence: float

    @property
    def suspects(self) -> tuple[str, ...]:
        """NAME=VALUE: what plans point at, and the base's values of the settings that most likely matter."""
        planned = any(change.changed for change in self.plans)
        every = differences.suspects(
            self.variables, planned=planned, writes=self.writes, evidence=Evidence.of(self.plans)
        )
        return tuple(every[:SUSPECTS_MAX])

    @property
    def unnamed(self) -> float:
        """The share of the CPU time that is in functions of the servers without a name."""
        if self.cpu is None:
            return 0.0
        own = self.paths.by_function(inclusive=False) * self.paths.units[:, :, None]
        nameless = [name.startswith("[") for name in self.paths.tree.functions]
        return float(own[:, :, nameless].sum() / own.sum())

    @property
    def named(self) -> tuple[Change, ...]:
        """The functions that certainly changed, those that explain most first."""
        return tuple(change for change in self.functions if change.certain)


def read(file: Path) -> Explained:
    """Evaluate the explanation in a file. Raises InputError."""
    explanation = EXPLANATIONS.read(file)
    document = journal.read(file.parent / explanation.document)
    if len(document.header.servers) < 2:
        raise InputError(f"{file}: its sampled starts have one server; expected two")
    run = file.parents[2] / journal.new_name(explanation.run)
    return evaluate(explanation, document, journal.read(run) if run.is_file() else None)


def evaluate(explanation: Explanation, document: RunDocument, run: RunDocument | None = None) -> Explained:
    """Evaluate an explanation; `document`: its profiled starts; `run`: the run that judged its cell."""
    base, head = (server.label for server in document.header.servers[:2])
    policy = document.header.profile.policy
    compared = {c.cell.server: c for c in compare.compare(document).cells}
    ratios = {server: c.ratio for server, c in compared.items()}
    paths = call_paths.paths_of_servers(explanation.tree, explanation.profiles, base, head)
    profiled = paths.starts >= STARTS_MIN
    cpu = functions.total(paths, policy.confidence) if profiled else None
    inclusive = functions.changes(paths, policy.confidence, inclusive=True) if profiled else []
    settings = [setting for server in document.header.servers for setting in server.settings]
    requested = {name for each in settings if each.requested is not None for name in each.variables}
    variables = explanation.variables
    again = compare.compare(document, base=head).cells if ratios.get(head) else ()
    beside = {c.cell.server: c.ratio for c in again}
    return Explained(
        explanation=explanation,
        ratio=ratios.get(head),
        tried={
            setting: _trial(ratios.get(label), beside.get(label), policy.margin)
            for label, setting in explanation.tried.items()
        },
        statements=compared[head].statements if head in compared else (),
        wall_clock=tuple(wall_clock.spent(document, base, head, policy.confidence)),
        cpu=cpu,
        paths=paths,
        parts=tuple(functions.parts(paths, policy.confidence)) if profiled else (),
        functions=tuple(functions.changes(paths, policy.confidence)) if profiled else (),
        inclusive=tuple(inclusive),
        narrowed=tuple(functions.narrowed(paths, inclusive, cpu)) if cpu else (),
        plans=tuple(plan_changes.compared(explanation.plans, base, head)),
        unplanned=tuple(plan_changes.not_compared(explanation.plans, base, head, document)),
        variables=tuple(differences.differences(variables.get(base, {}), variables.get(head, {}), requested)),
        writes=any(samples.writes for start in document.starts for samples in start.samples),
        header=document.header,
        slowed=None if run is None else _slowed(explanation, document, run),
        confidence=policy.confidence,
    )


def _trial(to_base: Interval | None, to_head: Interval | None, margin: float) -> Trial:
    verdict = Verdict.UNJUDGED if to_head is None else interval_verdict(to_head, margin, worse="lower")
    return Trial(to_base, to_head, verdict)


def _slowed(explanation: Explanation, document: RunDocument, run: RunDocument) -> tuple[float, float] | None:
    block = block_key(explanation.cell.workload, explanation.cell.threads)
    base = document.header.servers[0].label
    both = [_starts(document, block, base), _starts(run, block, explanation.base)]
    return (metrics.transaction_s(both[0]), metrics.transaction_s(both[1])) if all(both) else None


def _starts(document: RunDocument, block: str, server: str) -> dict[int, Samples]:
    starts = (start for start in document.starts if start.block == block)
    return {start.start: one for start in starts for one in start.samples if one.server == server}
