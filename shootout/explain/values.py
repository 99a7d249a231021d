"""An explanation: what a cell's servers did in profiled starts, and how they planned its statements."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from shootout.model.execution_plan import ExecutionPlan
from shootout.model.plan import Cell
from shootout.model.value import Positive, Quantity, Start, Value


class CallTree(Value):
    """Every call path that was sampled. Node 0 is the root, a node's parent comes before it."""

    functions: tuple[str, ...]  # names; those of the kernel and of libraries end with [kernel], [libc.so.6]
    parents: tuple[int, ...]  # by node; -1 for the root
    function: tuple[int, ...]  # by node, index into `functions`; -1 for the root


class Profile(Value):
    """CPU samples of one server in one start: how often each call path was on a CPU."""

    start: Start
    server: str  # label
    transactions: Positive  # completed while sampling
    cpu_s: Quantity  # of the server in these transactions, exact
    nodes: tuple[int, ...]  # of the call tree, where a sample was taken
    samples: tuple[Positive, ...]  # of these nodes


class Explanation(Value):
    """The evidence behind a cell's change; `Cell.server` is the head."""

    format: Literal[2]
    run: str  # that judged the cell
    cell: Cell
    base: str  # label
    document: str  # file name of the profiled starts' run document, beside this file
    profiler: str  # what was sampled: "cycles" or "cpu-clock", and how often
    not_profiled: str  # why there are no profiles; empty if there are
    tree: CallTree
    profiles: tuple[Profile, ...]
    plans: tuple[ExecutionPlan, ...]
    variables: dict[str, dict[str, str]]  # SHOW GLOBAL VARIABLES by server
    tried: dict[str, str] = field(
        default_factory=dict
    )  # by label: the setting changed on this copy of the head
