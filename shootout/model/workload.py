"""Workloads as their authors write them: statements, typed parameters and distributions."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.value import Name, Positive, Protocol, Share, Value


class Uniform(Value, tag="uniform"):
    """Every row is equally likely."""


class Special(Value, tag="special"):
    """sysbench's default: `hot_percent` of hits go to the middle `hot_range_percent` of rows."""

    iterations: Positive = 12
    hot_range_percent: Annotated[int, Meta(ge=1, le=100)] = 1
    hot_percent: Annotated[int, Meta(ge=0, le=99)] = 75


class Gaussian(Value, tag="gaussian"):
    """A bell curve over the whole table: the mean of `iterations` uniform draws."""

    iterations: Positive = 12


class Pareto(Value, tag="pareto"):
    """The first share `h` of the rows gets 1 - `h` of the hits, recursively."""

    h: Share = 0.2


class Zipfian(Value, tag="zipfian"):
    """The probability of row i is proportional to 1 / i^exponent."""

    exponent: Annotated[float, Meta(ge=0, le=100)] = 0.8


Distribution = Uniform | Gaussian | Special | Pareto | Zipfian
Amount = int | str  # a number, or the name of an option or dataset size; of a parameter: its name, or index


class Drawn(Value, kw_only=True):  # repeated for mypy
    """A random parameter, drawn for each repetition of a step or once per transaction."""

    per: Literal["repetition", "transaction"] = "repetition"


class RowId(Drawn, tag="row_id"):
    """A row id from the workload's distribution; `own_share`: from the connection's part of the table."""

    own_share: bool = False


class RangeEnd(Drawn, tag="range_end"):
    """The last number of a range that starts at parameter `of`, given its `size` or `distance` (size - 1)."""

    of: Amount
    size: Amount | None = None
    distance: Amount | None = None


class Integer(Drawn, tag="integer"):
    """A uniformly distributed integer, both ends included."""

    min: Amount
    max: Amount


class NuRand(Drawn, tag="nurand"):
    """TPC-C's non-uniform integer (2.1.6, which defines A and C), both ends included."""

    a: Amount
    c: Amount
    min: Amount
    max: Amount


class Remote(Drawn, tag="remote"):
    """The value of `of`; in `percent` % of draws a different one from `min` to `max`, if there is one."""

    of: Amount
    min: Amount
    max: Amount
    percent: Amount


class LastName(Drawn, tag="last_name"):
    """TPC-C's last name (4.3.2.3) for the number `of`, 0 to 999."""

    of: Amount


class Text(Drawn, tag="text"):
    """A string; every `#` becomes a random digit and every `@` a random letter a to z."""

    pattern: str


class Sequence(Drawn, tag="sequence"):
    """1, 2, 3, …, counted by each connection from its first transaction to its last."""


class Thread(Value, tag="thread"):
    """The connection's number, from 1."""


class Repetition(Value, tag="repetition"):
    """The number of the step's repetition, from 1."""


class Result(Value, tag="result"):
    """A column of an earlier statement's first row (its `into`), or an INSERT's row number; else NULL."""

    number: bool = False  # a number rather than text
    required: bool = False  # statements that need it are left out while it is NULL
    column: str | None = None  # of an INSERT: the table.column of the dataset that the server numbers


class Group(Value, tag="group"):
    """`sql` repeated `count` times, each with its own draws of the parameters."""

    sql: str
    count: Amount
    separator: str = ", "


Place = Annotated[float, Meta(ge=0, le=1)]
Size = Annotated[float, Meta(ge=0, le=1e8)]


class Learned(Drawn, tag="learned"):
    """A value as a log had it: drawn by its position in the order of a column's own values, or of a range.

    A curve is a list of points at equal steps of probability, with a line from each to the next.
    """

    column: str | None = None  # table.column of the dataset
    min: int | None = None  # or: the numbers from min to max
    max: int | None = None
    values: tuple[str, ...] = ()  # or: these
    form: Literal["number", "text", "bytes"] = "number"  # as the statement has it
    positions: Annotated[tuple[Place, ...], Meta(min_length=1)] = (0.0, 1.0)  # a curve
    hot: tuple[tuple[Place, Share], ...] = ()  # positions of frequent values, and each one's share of draws
    absent: Place = 0.0  # share of values that the column does not have
    nulls: Place = 0.0  # share of NULLs
    fresh: bool = False  # absent values are new keys: nobody else has them
    keys: str | None = None  # table.column: the one whose new keys `own` draws; None: `column`
    own: Place = 0.0  # share of keys that earlier transactions of the connection have inserted, if any
    taken: bool = False  # each of these is drawn once, the oldest first; with an `own` of 1 nothing else is
    distinct: bool = False  # no value comes twice in a transaction, as far as there are others
    of: str | None = None  # repeats this parameter's number, plus `difference`, in `share` of draws
    share: Place = 1.0
    difference: int = 0
    beside: bool = False  # or: a value that the column has in a row with the value of `of`, of the same table
    lengths: tuple[Size, ...] = ()  # a curve: characters of absent texts, or of those that LIKE searches
    counts: tuple[Size, ...] = ()  # a curve: values of a list; empty: one value
    like: Literal["prefix", "suffix", "part"] | None = None  # what a LIKE pattern has of the value


Parameter = (
    RowId | RangeEnd | Integer | NuRand | Remote | LastName | Text | Sequence | Thread | Repetition
) | (Result | Group | Learned)


class WorkloadStatement(Value):
    """One statement; `{table}` and `{parameter}` are placeholders."""

    name: Name  # its kind; latencies are recorded by kind
    sql: str
    into: tuple[str, ...] = ()  # parameters that take the columns of its first row


class Step(Value):
    """A sequence of statements, sent `repeat` times on one table with fresh parameters each time."""

    statements: Annotated[tuple[WorkloadStatement, ...], Meta(min_length=1)]
    repeat: Amount = 1  # or the name of a parameter that is drawn once per transaction


class Transaction(Value):
    """The unit of counting: steps, between BEGIN and `end` unless `skip_trx` is 1."""

    steps: Annotated[tuple[Step, ...], Meta(min_length=1)]
    weight: Positive = 1
    skip_trx: Amount = 0
    end: Literal["commit", "rollback"] = "commit"


class Dump(Value):
    """A dataset that is loaded from a file of statements, as mysqldump writes it."""

    dump: str  # the file, relative to the workload's


class Check(Value):
    """A consistency check after a block: a query that must return no row."""

    name: Name
    sql: str


class Workload(Value):
    """A transaction mix: statements as data."""

    title: str
    description: str
    transactions: Annotated[tuple[Transaction, ...], Meta(min_length=1)]
    dataset: Literal["sbtest", "tpcc", "own"] | Dump = "sbtest"  # own: an empty schema that `setup` fills
    protocol: Protocol | None = None  # the only possible protocol; None: either
    connects: bool = False  # each transaction opens a connection of its own, and closes it
    may_lack: bool = False  # a server that does not know a statement lacks it, instead of failing
    settings: tuple[str, ...] = ()  # NAME=VALUE of every server that runs it, above those of the run
    options: dict[Name, int] = field(default_factory=dict)
    distribution: Distribution = field(default_factory=Special)
    parameters: dict[Name, Parameter] = field(default_factory=dict)
    setup: tuple[str, ...] = ()  # run before a block's warm-up; with {thread}: once per thread
    checks: tuple[Check, ...] = ()
    session: tuple[str, ...] = ()  # sent once by each connection of the load
