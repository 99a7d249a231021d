"""What an explanation shows: functions, plans and settings that differ between base and head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shootout.analysis import compare
from shootout.analysis.stats import STARTS_MIN
from shootout.document import journal
from shootout.errors import InputError
from shootout.explain import call_paths, functions, plan_changes, wall_clock
from shootout.explain import documents as explanations
from shootout.explain.call_paths import CallPaths
from shootout.explain.functions import Change
from shootout.explain.plan_changes import PlanChange
from shootout.explain.values import Explanation
from shootout.model.run import RunDocument, RunHeader
from shootout.model.verdict import Interval
from shootout.settings import differences
from shootout.settings.differences import VariableDifference
from shootout.work import documents as work_documents
from shootout.work import instructions
from shootout.work.instructions import Instructions
from shootout.work.values import WorkDocument

SUSPECTS_MAX = 3  # settings that are worth a measurement


@dataclass(frozen=True)
class Explained:
    """An explanation, evaluated. Functions need a profile; without one they are empty."""

    explanation: Explanation
    ratio: Interval | None  # throughput in the profiled starts, head over base
    tried: dict[str, Interval | None]  # by setting: the same for the head with this setting changed
    wall_clock: tuple[Change, ...]  # the response time, and what it consists of
    cpu: Change | None  # of the whole server, per transaction
    paths: CallPaths
    parts: tuple[Change, ...]  # of the server's program, libraries and kernel
    functions: tuple[Change, ...]  # while on the CPU themselves; largest change first
    inclusive: tuple[Change, ...]  # with everything that they call
    narrowed: tuple[Change, ...]  # of these, those that locate the whole change
    plans: tuple[PlanChange, ...]  # changed ones first
    variables: tuple[VariableDifference, ...]  # notable ones first
    counted: Instructions | None  # from the newest document of work that has these servers and this workload
    header: RunHeader  # of the profiled starts
    confidence: float

    @property
    def suspects(self) -> tuple[str, ...]:
        """NAME=VALUE: the base's values of the settings that most likely matter."""
        return tuple(differences.suspects(self.variables)[:SUSPECTS_MAX])

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
        return tuple(each for each in self.functions if each.certain)


def read(file: Path) -> Explained:
    """Evaluate the explanation in a file, with what work documents say of it. Raises InputError."""
    explanation, document = documents(file)
    counted = instructions.find(_newest_work(explanations.results_of(file)), document.header)
    return evaluate(explanation, document, counted)


def _newest_work(results: Path) -> Iterator[WorkDocument]:
    """The documents of work in a folder that can be read, the newest first."""
    for path in reversed(work_documents.find(results)):
        with suppress(InputError):
            yield work_documents.read(path)


def documents(file: Path) -> tuple[Explanation, RunDocument]:
    """The explanation in a file, and its profiled starts. Raises InputError."""
    explanation = explanations.read(file)
    document = journal.read(file.parent / explanation.document)
    if len(document.header.servers) < 2:
        raise InputError(f"{file}: its profiled starts have one server; expected two")
    return explanation, document


def evaluate(
    explanation: Explanation, document: RunDocument, counted: Instructions | None = None
) -> Explained:
    """Evaluate an explanation; `document`: its profiled starts."""
    base, head = (server.label for server in document.header.servers[:2])
    policy = document.header.profile.policy
    compared = {each.cell.server: each.ratio for each in compare.compare(document).cells}
    paths = call_paths.of(explanation.tree, explanation.profiles, base, head)
    profiled = paths.starts >= STARTS_MIN
    cpu = functions.total(paths, policy.confidence) if profiled else None
    inclusive = functions.changes(paths, policy.confidence, inclusive=True) if profiled else []
    requested = {
        name
        for server in document.header.servers
        for setting in server.settings
        if setting.requested is not None
        for name in setting.variables
    }
    variables = explanation.variables
    return Explained(
        explanation=explanation,
        ratio=compared.get(head),
        tried={trial: compared.get(label) for label, trial in explanation.tried.items()},
        wall_clock=tuple(wall_clock.spent(document, base, head, policy.confidence)),
        cpu=cpu,
        paths=paths,
        parts=tuple(functions.parts(paths, policy.confidence)) if profiled else (),
        functions=tuple(functions.changes(paths, policy.confidence)) if profiled else (),
        inclusive=tuple(inclusive),
        narrowed=tuple(functions.narrowed(paths, inclusive, cpu)) if cpu else (),
        plans=tuple(plan_changes.compared(explanation.plans, base, head)),
        variables=tuple(differences.differences(variables.get(base, {}), variables.get(head, {}), requested)),
        counted=counted,
        header=document.header,
        confidence=policy.confidence,
    )
