"""Workloads as the load engine runs them: compiled, with every amount resolved."""

from __future__ import annotations

import re
from typing import Final, Literal

from shootout.model.value import Value
from shootout.model.workload import Distribution, Drawn, Parameter, RowId, Sequence, Thread

# Their results depend on the server's version.
_OF_SERVER: Final = re.compile(
    r"\W*SHOW\b|\b(?:(?:information|performance)_schema|mysql|sys)`?\.", re.IGNORECASE
)


class ProgramStatement(Value):
    """A statement, its text in `pieces`: an int is a parameter's index, or -1 for the table number."""

    kind: int  # index into Program.kinds
    pieces: tuple[str | int, ...]
    into: tuple[int, ...] = ()  # parameter indexes


class ProgramStep(Value):
    repeat: int  # 1 if a parameter sets the count
    statements: tuple[ProgramStatement, ...]
    repeat_of: int | None = None  # index of that parameter


class ProgramTransaction(Value):
    weight: int
    begin: bool
    steps: tuple[ProgramStep, ...]
    rollback: bool = False  # ends with ROLLBACK instead of COMMIT


class ProgramLearned(Drawn, tag="learned"):
    """A Learned parameter; see there. `hot`: the shares up to and including each."""

    column: int  # index into Program.columns
    form: Literal["number", "text", "bytes"]
    positions: tuple[float, ...]
    hot: tuple[tuple[float, float], ...]
    absent: float
    nulls: float
    fresh: bool
    keys: int  # index into Program.columns
    own: float
    taken: bool
    distinct: bool
    of: int | None
    share: float
    difference: int
    beside: int | None  # index into Program.columns: the column of `of`
    lengths: tuple[float, ...]
    counts: tuple[float, ...]
    around: tuple[str, str] | None  # what surrounds a LIKE pattern


class ProgramResult(Value, tag="result"):
    number: bool
    required: bool
    column: int | None  # index into Program.columns


class Numbers(Value):
    """All integers, both ends included."""

    min: int
    max: int


class ProgramColumn(Value):
    """Values that parameters are drawn from; those of a dataset's column are read once it is loaded."""

    name: str = ""  # table.column; empty: the workload names the values
    fresh: bool = False  # whether its `next` matters
    values: Numbers | tuple[int | str, ...] | None = None  # in order; None: not read yet
    next: int | None = None  # the first number beyond them; None: they are texts
    # The column of the same table whose values theirs stand beside: those from starts[n] to starts[n + 1] are
    # beside its n-th value.
    beside: str = ""
    starts: tuple[int, ...] = ()


# A workload's parameters have numbers as their amounts here, and an index as their `of`.
ProgramParameter = Parameter | ProgramResult | ProgramLearned


class Closed(Value, tag="closed"):
    """Closed loop: each connection sends its next transaction after the last one and a think time."""

    think_s: float = 0.0
    exponential: bool = False  # exponential think times with mean `think_s`


class Open(Value, tag="open"):
    """Open loop: transactions arrive at a rate, whether or not earlier ones are done."""

    rate: float  # transactions/s of each server
    poisson: bool = True


class ProgramKind(Value):
    name: str
    effect: Literal["read", "write", "other"]


class Program(Value, omit_defaults=True):
    """A workload compiled for one dataset: what shootout._engine executes, all names resolved."""

    tables: int
    rows: int
    distribution: Distribution
    prepared: bool
    pace: Closed | Open
    reconnect: bool
    connects: bool  # each transaction opens a connection of its own
    kinds: tuple[ProgramKind, ...]  # in file order, then of begin, commit and rollback those that are sent
    parameters: tuple[ProgramParameter, ...]  # a derived one after its source
    transactions: tuple[ProgramTransaction, ...]
    columns: tuple[ProgramColumn, ...] = ()
    session: tuple[str, ...] = ()  # sent once by each connection

    @property
    def writes(self) -> bool:
        """Whether any statement changes rows, or may."""
        return any(kind.effect == "write" for kind in self.kinds)

    @property
    def alike(self) -> bool:
        """Whether every connection draws the same, at any time: none has rows or numbers of its own."""
        return not any(
            isinstance(each, Sequence | Thread)
            or (isinstance(each, RowId) and each.own_share)
            or (isinstance(each, ProgramLearned) and each.fresh)
            for each in self.parameters
        )

    @property
    def about_server(self) -> frozenset[str]:
        """The kinds with a statement about the server itself, not about its tables."""
        return frozenset(
            self.kinds[statement.kind].name
            for transaction in self.transactions
            for step in transaction.steps
            for statement in step.statements
            if any(isinstance(piece, str) and _OF_SERVER.search(piece) for piece in statement.pieces)
        )
