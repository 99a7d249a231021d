"""Asks a block's servers how they plan its statements, after its slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from msgspec import structs

from shootout._engine import LoadError
from shootout.analysis import plan_changes
from shootout.errors import MeasureError
from shootout.measure import execution_plans, managed, statements
from shootout.measure.dataset import schema_of
from shootout.measure.plan import BoundWorkload
from shootout.measure.rounds import ANSWER_TIMEOUT_S
from shootout.model.execution_plan import ExecutionPlan
from shootout.model.plan import Block
from shootout.model.program import Program
from shootout.servers.running import Running

CAPTURES_S = (0.2, 0.8, 3.2)  # of load that statements are taken from, until each kind was sent
SEED = 1  # of that load

Asked = tuple[str, Running, tuple[str, ...]]  # a server with its label, and what its set-up warned of


@dataclass(frozen=True)
class Planner:
    """Keeps the statements that were sent, and which plans are known, over the starts of a run.

    Without `thorough` it leaves rows and statistics as they are: other blocks follow.
    """

    thorough: bool = False
    # By workload and kind.
    _sent: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False)
    _known: set[object] = field(default_factory=set, init=False, repr=False)

    def plans(
        self, start: int, block: Block, bound: BoundWorkload, program: Program, servers: Sequence[Asked]
    ) -> tuple[ExecutionPlan, ...]:
        """Read the plans of one start that no earlier one of the block had; none of a server that is gone."""
        first = block.workload not in self._sent
        if first:
            self._sent[block.workload] = _statements(bound, program, servers)
        sent = self._sent[block.workload]
        prepared = statements.prepared(bound.program, sent)
        executed = execution_plans.ANY if self.thorough else execution_plans.READING if first else None

        def asked() -> Iterator[ExecutionPlan]:
            for label, instance, told in servers:
                with suppress(MeasureError):
                    for plan in execution_plans.planned(
                        instance,
                        schema_of(instance, bound.dataset),
                        sent,
                        start=start,
                        server=label,
                        prepared=prepared,
                        session=bound.program.session,
                        draws=execution_plans.DRAWS if self.thorough and instance.ours else 1,
                        executed=executed if instance.ours else None,
                    ):
                        yield structs.replace(plan, warnings=tuple(dict.fromkeys((*told, *plan.warnings))))

        return tuple(plan for plan in asked() if self._is_new(block, plan))

    def _is_new(self, block: Block, plan: ExecutionPlan) -> bool:
        seen = (block.key, plan.server, plan.kind, plan_changes.shape(plan))
        new = seen not in self._known
        self._known.add(seen)
        return new


def _statements(bound: BoundWorkload, program: Program, servers: Sequence[Asked]) -> dict[str, str]:
    """Find a statement of each kind; those with parameters come from the log of a server of ours.

    All servers get the load that is logged: they keep equal rows. Its connections are new: the log lacks the
    values of a statement that was prepared before.
    """
    fixed = statements.fixed(bound.program)
    logging = next((instance for _, instance, _ in servers if instance.ours), None)
    if logging is None or len(fixed) == statements.kinds(bound.program):
        return fixed

    def load(seconds: float) -> None:
        for _, instance, _ in servers:
            schema = schema_of(instance, bound.dataset)
            engine = managed.engine(program, schema, instance, SEED)
            number = managed.connect(engine, instance, schema, 1)
            engine.slice(number, 0.0, seconds, ANSWER_TIMEOUT_S)

    found = fixed
    with suppress(MeasureError, LoadError):
        for seconds in CAPTURES_S:
            found = statements.captured(logging, bound.program, partial(load, seconds))
            if len(found) == statements.kinds(bound.program):
                break
    return found
