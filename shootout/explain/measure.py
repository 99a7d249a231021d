"""Fresh starts that explain a cell: base and head, profiled while they take turns, with plans and variables.

These starts are never judged. They are recorded as a run of their own, in the folder of the explanation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from shootout._engine import Engine
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.explain import perf
from shootout.explain.documents import EXPLANATIONS
from shootout.explain.values import CallTree, Explanation, Profile
from shootout.inputs.options import Selection
from shootout.measure import campaign
from shootout.measure.plan import Plan, bind
from shootout.model.plan import Block, Cell
from shootout.model.run import Observe, RunDocument, RunHeader, StartRecord
from shootout.servers.running import Running
from shootout.servers.sources import reference

BASE, HEAD = "base", "head"
STARTS_MIN = 3
STARTS_MAX = 12
SAMPLED_MIN_S, SAMPLED_MAX_S = 1.0, 10.0  # of load on each server and start


@dataclass(frozen=True)
class Question:
    """Why the head of a cell differs from its base."""

    document: RunDocument  # that judged the cell
    cell: Cell
    results: Path  # folder of that document
    trials: tuple[str, ...] = ()  # NAME=VALUE: settings to change on the head, one at a time

    @property
    def base(self) -> str:
        """Label of the server that the cell is compared with."""
        return base_of(self.document.header, self.cell)

    @property
    def trial_by_label(self) -> dict[str, str]:
        """The settings to try, by the label of the head that has it."""
        return {f"tried{number}": trial for number, trial in enumerate(self.trials, 1)}

    @property
    def folder(self) -> Path:
        """Where the answer and its run document go."""
        return EXPLANATIONS.folder_of(self.results, self.document.header.run)


def base_of(header: RunHeader, cell: Cell) -> str:
    """The first of the cell's servers that was there."""
    absent = {record.label for record in header.servers if record.absent}
    servers = next(block.servers for block in header.blocks if cell in block.cells)
    return next((label for label in servers if label not in absent), servers[0])


def plan(
    question: Question, budget_s: float, environment: Mapping[str, str], passwords: Mapping[str, str]
) -> Plan:
    """Plan the starts that explain a cell: its base as `base`, its server as `head`.

    The head with each setting to try comes after them. `passwords`: those known already, by the labels of the
    cell's servers. Raises InputError if the cell has no base, if a server is absent, or if the workload has
    changed since.
    """
    header, cell = question.document.header, question.cell
    if question.base == cell.server:
        raise InputError(f"{cell.server} is the base; expected a cell of another server")
    records = {record.label: record for record in header.servers}
    base, head = records[question.base], records[cell.server]
    if missing := base.absent or head.absent:
        raise InputError(missing)
    servers = [f"{BASE}={base.reference}", f"{HEAD}={head.reference}"]
    for label, trial in question.trial_by_label.items():
        if "=" not in trial:
            raise InputError(f"--try {trial!r}: expected NAME=VALUE, such as performance_schema=OFF")
        tried = reference.parse(head.reference)
        settings = "+".join(filter(None, (tried.settings, trial)))
        servers.append(structs.replace(tried, name=label, settings=settings).written)
    sent = next(record for record in header.workloads if record.name == cell.workload)
    sampled_s = budget_s / (2 * STARTS_MIN * len(servers))  # the other half: starts, warm-up, plans
    sampling = structs.replace(
        header.profile.sampling, starts_min=STARTS_MIN, starts_max=STARTS_MAX, half_width=1e-4,
        measure_s=min(max(sampled_s, SAMPLED_MIN_S), SAMPLED_MAX_S), transactions=None, budget_s=budget_s,
    )  # fmt: skip
    profile = structs.replace(
        header.profile, servers=tuple(servers), stand_ins={}, workloads=(sent.written,), options=sent.options,
        threads=(cell.threads,), sampling=sampling, published=None,
        policy=structs.replace(header.profile.policy, confirm_starts=0),
    )  # fmt: skip
    data = Path(header.given["--data"]) if "--data" in header.given else None
    selection = Selection(
        profile=header.profile_name,
        data=data if data and data.is_dir() else None,
        remote="--remote" in header.given,
    )
    planned = bind(profile, selection, environment)
    same = planned.workloads[cell.workload].dataset.key == cell.dataset
    if not same or planned.digests.get(cell.workload) != header.digests.get(cell.workload):
        raise InputError(f"workload {sent.written} has changed since run {header.run}; measure it again")
    known = {}
    for label, server in planned.servers.items():
        own = base.label if label == BASE else head.label
        known[label] = replace(server, password=passwords.get(own, server.password))
    return replace(planned, servers=known)


def explain(question: Question, planned: Plan, observe: Observe) -> Path:
    """Measure and profile a plan of `plan`; returns the explanation's file.

    Raises InputError and MeasureError. Without perf, or the right to use it, all but profiles is there. An
    interruption leaves an explanation by the starts so far, unless the cell has one.
    """
    watcher = _Watcher(question)
    before = {*journal.find(question.folder)}
    try:
        path = campaign.measure(planned, question.folder, observe, watcher)
    except KeyboardInterrupt:
        run, cell = question.document.header.run, question.cell.name
        if not EXPLANATIONS.path_of_cell(question.results, run, cell).exists():
            for path in {*journal.find(question.folder)} - before:
                _written(question, path, watcher)
        raise
    return _written(question, path, watcher)


def _written(question: Question, path: Path, watcher: _Watcher) -> Path:
    starts = journal.read(path).starts
    explanation = Explanation(
        format=2, run=question.document.header.run, cell=question.cell, base=question.base,
        document=path.name, profiler=f"{perf.event()}, {perf.HERTZ} Hz", not_profiled=watcher.not_profiled,
        tree=watcher.paths.tree(), profiles=tuple(watcher.profiles(starts)),
        plans=tuple(plan for start in starts for plan in start.plans), variables=watcher.variables,
        tried=question.trial_by_label,
    )  # fmt: skip
    return EXPLANATIONS.replace(question.results, explanation)


@dataclass
class _Paths:
    """Call paths as a growing tree."""

    functions: dict[str, int] = field(default_factory=dict)
    nodes: dict[tuple[int, int], int] = field(default_factory=dict)  # by parent and function

    def node(self, stack: perf.Stack) -> int:
        """The node of a stack, whose functions go from the outermost to the innermost."""
        at = 0
        for name in stack:
            function = self.functions.setdefault(name, len(self.functions))
            at = self.nodes.setdefault((at, function), len(self.nodes) + 1)
        return at

    def tree(self) -> CallTree:
        return CallTree(
            functions=tuple(self.functions),
            parents=(-1, *(parent for parent, _ in self.nodes)),
            function=(-1, *(function for _, function in self.nodes)),
        )


@dataclass
class _Watcher:
    """Samples the servers of each start, and asks them for variables after it."""

    question: Question
    not_profiled: str = ""
    paths: _Paths = field(default_factory=_Paths)
    counts: dict[tuple[int, str], Counter[int]] = field(default_factory=dict)  # by start and server
    variables: dict[str, dict[str, str]] = field(default_factory=dict)

    @contextmanager
    def watching(
        self, start: int, block: Block, engine: Engine, instances: Mapping[str, Running]
    ) -> Iterator[Callable[[], None]]:
        """Yields what begins the sampling, to be called before the first slice that counts."""
        pids = {instance.pid: label for label, instance in instances.items() if instance.pid is not None}
        with ExitStack() as held:
            recording = None
            with self._noting_absence():
                if not pids:
                    raise perf.UnavailableError("the servers' processes are not visible from here")
                recording = held.enter_context(perf.recording(self.question.folder))

            def begin() -> None:
                if recording is not None:
                    with self._noting_absence():
                        recording.begin()

            yield begin
            if recording is not None and not self.not_profiled:
                with self._noting_absence():
                    recording.end()
                    for pid, stacks in recording.stacks(pids).items():
                        counted = {self.paths.node(stack): count for stack, count in stacks.items()}
                        self.counts[start, pids[pid]] = Counter(counted)
        for label, instance in instances.items():
            self.variables[label] = instance.variables()

    def failed(self, server: str, reason: str) -> None:
        """Raises MeasureError, or InputError if the setting to try is what the server does not like."""
        label = self.question.base if server == BASE else self.question.cell.server
        if trial := self.question.trial_by_label.get(server):
            raise InputError(f"--try {trial}: {label} fails with it: {reason.partition('; its')[0]}")
        raise MeasureError(f"{label} failed while it was sampled: {reason}")

    def profiles(self, starts: Sequence[StartRecord]) -> Iterator[Profile]:
        """Yield the samples of each start and server."""
        for record in starts:
            for samples in record.samples:
                counted = self.counts.get((record.start, samples.server))
                if counted and samples.server_cpu_s and sum(samples.completed):
                    yield Profile(
                        start=record.start, server=samples.server, transactions=sum(samples.completed),
                        cpu_s=sum(samples.server_cpu_s), nodes=tuple(counted),
                        samples=tuple(counted.values()),
                    )  # fmt: skip

    @contextmanager
    def _noting_absence(self) -> Iterator[None]:
        """Note that there are no samples: the rest of an explanation is still worth having."""
        try:
            yield
        except perf.UnavailableError as error:
            self.not_profiled = self.not_profiled or str(error)
