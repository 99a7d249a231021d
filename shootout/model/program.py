"""A workload as the load engine runs it: compiled, with every amount resolved."""

from __future__ import annotations

from typing import Literal

from shootout.model.value import Value
from shootout.model.workload import Distribution, Drawn, Repetition, Result, RowId, Sequence, Text, Thread


class ProgramStatement(Value):
    """`pieces` joined give the text; a number stands for that parameter, -1 for the table's number."""

    kind: int  # index into Program.kinds
    pieces: tuple[str | int, ...]
    into: tuple[int, ...] = ()  # parameters


class ProgramStep(Value):
    repeat: int  # 1 where a parameter says it
    statements: tuple[ProgramStatement, ...]
    repeat_of: int | None = None  # that parameter


class ProgramTransaction(Value):
    weight: int
    begin: bool
    steps: tuple[ProgramStep, ...]
    rollback: bool = False  # in the end, instead of COMMIT


class ProgramRangeEnd(Drawn, tag="range_end"):
    of: int  # index of the parameter that it starts at
    size: int


class ProgramInteger(Drawn, tag="integer"):
    min: int
    max: int


class ProgramNuRand(Drawn, tag="nurand"):
    a: int
    c: int
    min: int
    max: int


class ProgramRemote(Drawn, tag="remote"):
    of: int
    min: int
    max: int
    percent: int


class ProgramLastName(Drawn, tag="last_name"):
    of: int


ProgramParameter = (
    RowId
    | ProgramRangeEnd
    | ProgramInteger
    | ProgramNuRand
    | ProgramRemote
    | ProgramLastName
    | Text
    | Sequence
    | Thread
    | Repetition
    | Result
)


class Closed(Value, tag="closed"):
    """Each connection sends its next transaction when it has thought after the one before."""

    think_s: float = 0.0
    exponential: bool = False  # think times of that mean


class Open(Value, tag="open"):
    """Transactions come at a rate, whether or not those before them are done."""

    rate: float  # transactions/s of each server
    poisson: bool = True


class ProgramKind(Value):
    name: str
    effect: Literal["read", "write", "other"]


class Program(Value):
    """A workload compiled for one dataset: what shootout._engine executes, all names resolved.

    `kinds`: the statements' names in the order of the file, then those of "begin", "commit" and "rollback"
    that the engine sends by itself. A parameter stands after the one that it is computed from.
    """

    tables: int
    rows: int
    distribution: Distribution
    prepared: bool
    pace: Closed | Open
    reconnect: bool
    kinds: tuple[ProgramKind, ...]
    parameters: tuple[ProgramParameter, ...]
    transactions: tuple[ProgramTransaction, ...]

    @property
    def writes(self) -> bool:
        """Whether any statement changes rows."""
        return any(kind.effect == "write" for kind in self.kinds)
