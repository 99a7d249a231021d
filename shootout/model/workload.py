"""A workload as its author writes it: statements, typed parameters and their distributions."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.value import DatasetKind, Name, Positive, Protocol, Share, Value


class Uniform(Value, tag="uniform"):
    """Every row equally likely."""


class Special(Value, tag="special"):
    """sysbench's default: `hot_percent` of hits go to the middle `hot_range_percent` of rows."""

    iterations: Positive = 12
    hot_range_percent: Annotated[int, Meta(ge=1, le=100)] = 1
    hot_percent: Annotated[int, Meta(ge=0, le=99)] = 75


class Gaussian(Value, tag="gaussian"):
    """A bell over the whole table: the mean of `iterations` uniform draws."""

    iterations: Positive = 12


class Pareto(Value, tag="pareto"):
    """The first share `h` of the rows gets 1 - `h` of the hits, and so on within it."""

    h: Share = 0.2


class Zipfian(Value, tag="zipfian"):
    """Row i is hit in proportion to 1 / i^exponent."""

    exponent: Annotated[float, Meta(ge=0, le=100)] = 0.8


Distribution = Uniform | Gaussian | Special | Pareto | Zipfian
Amount = int | str  # a number, or the name of what holds it: an option, or a measure of the dataset


class Drawn(Value, kw_only=True):  # said again for mypy
    """A parameter that is drawn anew for each repetition of a step, or once for the whole transaction."""

    per: Literal["repetition", "transaction"] = "repetition"


class RowId(Drawn, tag="row_id"):
    """A row's id by the workload's distribution; `own_share`: from the connection's part of the table."""

    own_share: bool = False


class RangeEnd(Drawn, tag="range_end"):
    """The last number of a range that starts at parameter `of`: by its `size`, or the `distance` to it."""

    of: str
    size: Amount | None = None
    distance: Amount | None = None


class Integer(Drawn, tag="integer"):
    """A uniformly distributed whole number, both ends included."""

    min: Amount
    max: Amount


class NuRand(Drawn, tag="nurand"):
    """TPC-C's non-uniform whole number, both ends included (2.1.6): A and C as named there."""

    a: Amount
    c: Amount
    min: Amount
    max: Amount


class Remote(Drawn, tag="remote"):
    """The number of `of`; in `percent` % of draws another one from `min` to `max`, where there is one."""

    of: str
    min: Amount
    max: Amount
    percent: Amount


class LastName(Drawn, tag="last_name"):
    """TPC-C's last name (4.3.2.3) for the number `of`, 0 to 999."""

    of: str


class Text(Drawn, tag="text"):
    """A string in which every `#` becomes a digit and every `@` a letter a to z."""

    pattern: str


class Sequence(Drawn, tag="sequence"):
    """1, 2, 3, …: each connection counts for itself, from its first transaction to its last."""


class Thread(Value, tag="thread"):
    """The connection's number, from 1."""


class Repetition(Value, tag="repetition"):
    """The number of the step's repetition, from 1."""


class Result(Value, tag="result"):
    """A column of the first row that an earlier statement gave (its `into`); NULL where it gave none."""

    number: bool = False  # whether it is one; otherwise text


class Group(Value, tag="group"):
    """`sql` written `count` times, each time with parameters of its own."""

    sql: str
    count: Amount
    separator: str = ", "


Parameter = (
    RowId
    | RangeEnd
    | Integer
    | NuRand
    | Remote
    | LastName
    | Text
    | Sequence
    | Thread
    | Repetition
    | Result
    | Group
)


class WorkloadStatement(Value):
    """One statement; `{table}` and `{parameter}` are filled in."""

    name: Name  # its kind: latencies are kept for each
    sql: str
    into: tuple[str, ...] = ()  # parameters that its first row's columns become


class Step(Value):
    """Statements sent one after the other, `repeat` times on one table, with fresh parameters each time."""

    statements: Annotated[tuple[WorkloadStatement, ...], Meta(min_length=1)]
    repeat: Amount = 1  # or the name of a parameter that is drawn once a transaction


class Transaction(Value):
    """What is counted as one: its steps, between BEGIN and `end` unless `skip_trx` is 1."""

    steps: Annotated[tuple[Step, ...], Meta(min_length=1)]
    weight: Positive = 1
    skip_trx: Amount = 0
    end: Literal["commit", "rollback"] = "commit"


class Check(Value):
    """What must hold after a block: a query that gives no row."""

    name: Name
    sql: str


class Workload(Value):
    """A transaction mix: statements as data."""

    title: str
    description: str
    transactions: Annotated[tuple[Transaction, ...], Meta(min_length=1)]
    dataset: DatasetKind = "sbtest"  # own: an empty schema that `setup` fills
    protocol: Protocol | None = None  # the only one that it can be sent by; None: either
    options: dict[Name, int] = field(default_factory=dict)
    distribution: Distribution = field(default_factory=Special)
    parameters: dict[Name, Parameter] = field(default_factory=dict)
    setup: tuple[str, ...] = ()  # before a block's warm-up; with {thread} in it: for each one
    checks: tuple[Check, ...] = ()
