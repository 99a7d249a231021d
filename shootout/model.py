"""Every value that crosses a stage: the types, the validation of what users write, and the file formats.

Values are frozen and know nothing but themselves. A field's name or comment says its unit; seconds and
bytes unless it says otherwise. The words are the glossary's (README, "Words").
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, dataclass_transform

from msgspec import Meta, Struct, StructMeta, field, structs

Positive = Annotated[int, Meta(ge=1)]
Threads = Annotated[int, Meta(ge=1, le=65_535)]
Seconds = Annotated[float, Meta(gt=0)]
RATE_MAX = 10_000_000.0  # transactions/s
THINK_MAX_S = 60.0
Share = Annotated[float, Meta(gt=0, lt=1)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]  # $ would let a line break end it
Size = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,15}[KMG]?\Z")]  # bytes: 512M, 8G
Protocol = Literal["text", "prepared"]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Family = Literal["mysql", "mariadb", "percona"]
Version = tuple[int, int, int]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class _ValueMeta(StructMeta):
    """Says once for all values what msgspec (and mypy) want said by each class."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _ValueMeta:
        common = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True}
        return super().__new__(mcls, name, bases, namespace, **common | options)


class Value(Struct, metaclass=_ValueMeta):
    """Base of all values: immutable, keyword-only, and no key passes unread."""


# --- what is measured -----------------------------------------------------------------------------


class ServerReference(Value):
    """A server as the user wrote it: where it comes from, and the settings it runs under."""

    source: Literal["catalogue", "path", "image", "dsn"]
    # Catalogue id, directory, archive's URL#sha256=HEX, image's name, or an address without its password.
    target: str
    settings: str | None = None  # a settings profile's name, or a file; None: the run's own

    @property
    def text(self) -> str:
        """The reference in its written form."""
        where = self.target if self.source == "catalogue" else f"{self.source}:{self.target}"
        return where if self.settings is None else f"{where}@{self.settings}"


DatasetKind = Literal["sbtest", "tpcc", "own"]
SBTEST_ROW_BYTES = 250
TPCC_WAREHOUSE_BYTES = 100_000_000


class Dataset(Value):
    """The tables a workload runs on; the same on every server, proven by checksum.

    Of kind `own` there are none: the workload's `setup` makes them.
    """

    kind: DatasetKind = "sbtest"
    tables: Positive = 4  # sbtest
    rows: Annotated[int, Meta(ge=1, le=2_000_000_000)] = 25_000  # sbtest: in each table
    warehouses: Positive = 1  # tpcc
    seed: Annotated[int, Meta(ge=0)] = 1
    engine: Name = "InnoDB"  # or "default": what each server's settings make its own

    @property
    def key(self) -> str:
        """Identity in one word; equal keys mean equal rows."""
        engine = self.engine.lower()
        match self.kind:
            case "sbtest":
                return f"sbtest-{self.tables}x{self.rows}-{engine}-seed{self.seed}"
            case "tpcc":
                return f"tpcc-{self.warehouses}w-{engine}-seed{self.seed}"
            case "own":
                return f"own-{engine}"

    @property
    def nominal_bytes(self) -> int:
        """About what the rows and indexes take in InnoDB; the same for every server. 0: not known before."""
        match self.kind:
            case "sbtest":
                return self.tables * self.rows * SBTEST_ROW_BYTES
            case "tpcc":
                return self.warehouses * TPCC_WAREHOUSE_BYTES
            case "own":
                return 0


class Cell(Value, order=True):
    """The unit a verdict is about, and the join key everywhere."""

    workload: str
    dataset: str  # Dataset.key
    server: str  # label, unique in a run
    threads: Threads


def block_key(workload: str, threads: int) -> str:
    """A block's identity in a run, where a workload has one dataset."""
    return f"{workload}-t{threads}"


class Block(Value, order=True):
    """All cells that share workload, dataset and threads: measured together, interleaved."""

    workload: str
    dataset: str
    threads: Threads
    servers: tuple[str, ...]  # labels, the base first

    @property
    def key(self) -> str:
        """Identity in one word."""
        return block_key(self.workload, self.threads)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One for each server, in the block's order."""
        return tuple(self.cell(server) for server in self.servers)

    def cell(self, server: str) -> Cell:
        """The cell of one server."""
        return Cell(workload=self.workload, dataset=self.dataset, server=server, threads=self.threads)


class Planned(Value):
    """All blocks of a run: each workload with each number of threads, on all servers."""

    workloads: dict[str, str]  # Dataset.key of each
    threads: tuple[Threads, ...]
    servers: tuple[str, ...]  # labels, the base first

    @property
    def blocks(self) -> tuple[Block, ...]:
        """In the order of a run."""
        return tuple(
            Block(workload=workload, dataset=dataset, threads=threads, servers=self.servers)
            for workload, dataset in self.workloads.items()
            for threads in self.threads
        )


# --- what users write -----------------------------------------------------------------------------


class Scale(Value):
    """How large the datasets of a run are; each workload says which kind of them it runs on."""

    tables: Positive = 4  # sbtest
    rows: Annotated[int, Meta(ge=1, le=2_000_000_000)] = 25_000  # sbtest: in each table
    warehouses: Positive = 1  # tpcc
    seed: Annotated[int, Meta(ge=0)] = 1
    # Storage engine; upper and lower case are one. "default": of each server what its settings make its own.
    engine: Name = "InnoDB"

    def of(self, kind: DatasetKind) -> Dataset:
        """The dataset of that kind at this scale."""
        return Dataset(
            kind=kind,
            tables=self.tables,
            rows=self.rows,
            warehouses=self.warehouses,
            seed=self.seed,
            engine=self.engine,
        )


Isolation = Literal["auto", "share", "pause", "exclusive"]
PlacementName = Literal["apart", "shared", "halves", "free"]


class Sampling(Value):
    """How much is measured, and in which pieces."""

    starts_min: Positive = 6
    starts_max: Positive = 12
    slice_s: Seconds = 0.1  # counted part of a slice; grows with the transaction latency
    ramp_s: Seconds = 0.02  # uncounted part before it; grows likewise
    measure_s: Seconds = 1.2  # counted time of each server in one start of one block
    transactions: Positive | None = None  # or as long as the slowest server takes for so many
    warmup_max_s: Seconds = 6.0  # each server, start and block; then the samples are marked unsteady
    # While another has its slice a server goes on with what it has to do (share), or is stopped (pause); or
    # each has all of its slices in one stretch, the others stopped (exclusive). auto: see `isolated`.
    isolation: Isolation = "auto"
    placement: PlacementName = "apart"  # who runs on which CPU: machine.placements
    half_width: Share = 0.015  # of the log-ratio's interval: narrower needs no further start
    budget_s: Seconds = 420.0  # for all starts of a run, restarts included
    # In place of `placement` and `slice_s`, what `doctor --calibrate` found best on the runner, where it did.
    calibrated: bool = True

    def isolated(self, *, writes: bool, ours: bool) -> Sampling:
        """For one block: `auto` is pause where a workload writes and all its servers are ours to stop.

        What an idle server still flushes would be flushed in the others' slices, and bring them closer to it.
        """
        if self.isolation != "auto":
            return self
        return structs.replace(self, isolation="pause" if writes and ours else "share")

    @property
    def stops_idle(self) -> bool:
        """Whether servers stand still while it is not their turn; `auto` is settled for each block."""
        return self.isolation in ("pause", "exclusive")


THROUGHPUT: Final = "throughput"
Metric = Literal[
    "throughput",
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "latency_p999",
    "server_cpu",
    "context_switches",
    "disk_written",
    "fsyncs",
    "rows_read",
    "buffer_pool_reads",
    "lock_waits",
]


class Policy(Value):
    """The bar that a verdict is held against."""

    confidence: Share = 0.95
    judged: Annotated[tuple[Metric, ...], Meta(min_length=1)] = ("throughput",)  # what a verdict is about
    margin: Share = 0.02  # smaller changes are not worth a verdict
    margins: dict[Metric, Share] = field(default_factory=dict)  # instead, for a metric
    workloads: dict[Name, dict[Metric, Share]] = field(default_factory=dict)  # and for one of a workload
    trim: Annotated[float, Meta(ge=0, lt=0.5)] = 0.2  # share of rounds cut from each end of a start
    floor_factor: Annotated[float, Meta(ge=0)] = 1.5  # a change is larger than so many A/A noise floors
    confirm_starts: Annotated[int, Meta(ge=0)] = 2  # fresh ones, for what looks changed; 0: none
    # Where the runner's rate may be higher, a gate only advises; 1: it never does.
    false_alarms_max: Annotated[float, Meta(gt=0, le=1)] = 1.0
    inconclusive_fails: bool = False  # whether a gate that cannot tell fails

    def margin_of(self, metric: str, workload: str) -> float:
        """The margin of a metric in a workload."""
        by_name: dict[str, float] = {**self.margins, **self.workloads.get(workload, {})}  # type: ignore[dict-item]
        return by_name.get(metric, self.margin)


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


class Load(Value):
    """How transactions are sent: by which protocol, and when."""

    protocol: Protocol = "text"
    # Transactions/s of each server; None: each connection sends when it can.
    rate: Annotated[float, Meta(gt=0, le=RATE_MAX)] | None = None
    arrivals: Literal["uniform", "poisson"] = "poisson"  # of that rate
    think_s: Annotated[float, Meta(ge=0, le=THINK_MAX_S)] = 0.0  # between two transactions of a connection
    think: Literal["fixed", "exponential"] = "fixed"  # exponential: of that mean
    reconnect: bool = False  # a lost connection is counted and opened again; else it fails the cell


class Container(Value):
    """What surrounds the servers that run from an image."""

    network: Literal["host", "bridge"] = "host"  # bridge: of its own, and the load goes over TCP
    memory: Size | None = None  # that each of them may take; None: no limit

    @property
    def memory_bytes(self) -> int | None:
        """The limit, swap included."""
        if self.memory is None:
            return None
        unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(self.memory[-1])
        return int(self.memory) if unit is None else int(self.memory[:-1]) * unit


class Smaller(Value):
    """What less time, or a smaller machine, makes of a profile; what is left out stays as it is."""

    servers: tuple[str, ...] = ()  # these three: instead of the profile's
    workloads: tuple[str, ...] = ()
    threads: tuple[Threads, ...] = ()
    threads_per_cpu: Positive | None = None  # more than so many are left out
    rows: Positive | None = None  # in each table of sbtest, at most
    memory_share: Share | None = None  # of the machine's, that the rows of all servers take at most
    settings: str | None = None
    sampling: Sampling | None = None


class Profile(Value):
    """One reproducible run: what, on which servers, under which settings, how thoroughly."""

    description: str
    workloads: tuple[str, ...]
    threads: tuple[Threads, ...]
    servers: tuple[str, ...] = ()  # server references, the base first
    settings: str = "in-memory"
    dataset: Scale = field(default_factory=Scale)
    load: Load = field(default_factory=Load)
    options: dict[Name, int] = field(default_factory=dict)  # these two: instead of the workloads' own
    distribution: Distribution | None = None
    sampling: Sampling = field(default_factory=Sampling)
    policy: Policy = field(default_factory=Policy)
    container: Container = field(default_factory=Container)
    published: Name | None = None  # the published comparison that it repeats, of fixtures/published
    # Of those servers that only exist as trees of one's own: what is measured where the tree is not here; "":
    # nothing, and their cells say so.
    stand_ins: dict[str, str] = field(default_factory=dict)
    scales: dict[Name, Smaller] = field(default_factory=dict)  # --scale NAME


# --- what was published ---------------------------------------------------------------------------


class PublishedPeak(Value):
    """The highest throughput of a workload, and at how many threads."""

    tps: Annotated[float, Meta(gt=0)]
    threads: Threads


class PublishedReport(Value):
    """What sysbench prints at the end of a run."""

    tps: Annotated[float, Meta(gt=0)]
    requests_per_s: float  # reads and writes
    other_per_s: float
    reads: float  # these four: statements in the whole run
    writes: float
    other: float
    total: float
    latency_ms: tuple[float, float, float, float]  # fastest, mean, slowest, 95 %


class PublishedServer(Value):
    """A server of a published comparison, with what was measured of it there."""

    name: str  # as published
    server: str  # which of the profile's it is
    released: str = ""
    # Transactions/s in the comparison's workload at each of its thread counts: "error" as published, "none"
    # where nothing was.
    tps: tuple[Annotated[float, Meta(gt=0)] | Literal["error", "none"], ...] = ()
    peaks: dict[Name, PublishedPeak] = field(default_factory=dict)  # by workload
    report: PublishedReport | None = None


# One number of threads; two: the mean of all from one to the other; none: the one with the highest figure.
ThreadsOfSpot = Annotated[tuple[Threads, ...], Meta(max_length=2)]


class Spot(Value):
    """Where a throughput stands in a comparison."""

    server: str  # as published
    threads: ThreadsOfSpot = ()
    workload: Name | None = None  # None: the comparison's


class Claim(Value, kw_only=True):  # said again for mypy
    """What a publication says of its figures; `text` in a sentence."""

    name: Name
    text: str


class RatioClaim(Claim, tag="ratio"):
    """One throughput over another one lies between bounds."""

    head: Spot
    base: Spot
    low: float | None = None
    high: float | None = None
    factor: Annotated[float, Meta(gt=0)] | None = None  # as published


class WithinClaim(Claim, tag="within"):
    """All servers lie within a tolerance of their mean."""

    threads: Threads
    tolerance: Share
    servers: tuple[str, ...]
    workload: Name | None = None


class OrderClaim(Claim, tag="order"):
    """Each server is slower than the one before it."""

    threads: Threads
    servers: tuple[str, ...]
    workload: Name | None = None


class TopClaim(Claim, tag="top"):
    """One server is faster than each of the others."""

    server: str
    others: tuple[str, ...]
    threads: ThreadsOfSpot = ()
    workload: Name | None = None


class PeakClaim(Claim, tag="peak"):
    """Throughput is highest at a number of threads near that of CPUs."""

    servers: tuple[str, ...]
    low: float  # in CPUs
    high: float
    workload: Name | None = None


class OpenClaim(Claim, tag="open"):
    """One that no run can tell."""

    reason: str


class Published(Value):
    """A published comparison: where it comes from, its figures, and what it claims."""

    title: str
    hardware: str
    load: str  # how it was made, in a sentence
    # Of its table: a row for each server, for each number of threads, for each server with its peaks, or for
    # each line of sysbench's report.
    shape: Literal["servers", "threads", "peaks", "report"]
    workload: Name
    threads: tuple[Threads, ...]
    reference: str  # the server that ratios are relative to
    servers: Annotated[tuple[PublishedServer, ...], Meta(min_length=1)]
    claims: tuple[RatioClaim | WithinClaim | OrderClaim | TopClaim | PeakClaim | OpenClaim, ...]
    year: int | None = None  # these two: None where it is not known
    cpus: Positive | None = None
    notes: tuple[str, ...] = ()  # what a reader should know of the figures


# --- servers that can be fetched ------------------------------------------------------------------


class Packed(Value, kw_only=True):  # said again for mypy
    """One archive, and what of it becomes a server's tree."""

    sha256: Sha256  # of what is downloaded
    folder: str = ""  # of the archive, that becomes the tree
    keep: tuple[str, ...] = ()  # patterns of paths in the tree, each with all below; empty: everything


class Maven(Packed, tag="maven"):
    """A Maven artifact: an archive, or one that holds the archive."""

    artifact: str  # group:artifact:version[:packaging[:classifier]]
    archive: str = ""  # inside it; empty: the artifact itself


class Npm(Packed, tag="npm"):
    """An npm package."""

    package: str  # name@version


class Debian(Value, tag="debian"):
    """Packages of a Debian release, with loader and libc: apt verifies them, and takes the newest ones."""

    series: str  # code name
    packages: Annotated[tuple[str, ...], Meta(min_length=1)]  # with all that they depend on
    alone: tuple[str, ...] = ()  # without
    keep: tuple[str, ...] = ()  # as Packed's


class Archive(Packed, tag="archive"):
    """An archive that lies somewhere; with no `folder` its single top one, where it has, is the tree.

    `keep` then counts from the archive's own top.
    """

    url: str  # http, https or file


Source = Maven | Npm | Debian | Archive


class CatalogueEntry(Value):
    """A server that can be fetched by its id."""

    family: Literal["mysql", "mariadb", "percona"]
    version: str  # or as much of it as stays the same while its source moves on
    released: str  # ISO date
    edition: str
    sources: Annotated[tuple[Source, ...], Meta(min_length=1)]  # in order of preference
    note: str = ""  # what is special about it


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


# --- what the engine runs -------------------------------------------------------------------------


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


# --- what was measured ----------------------------------------------------------------------------


ABSENT: Final = "not-available"  # code of the warning of a server that is not here


class Warning(Value):
    """A doubt that travels with the result it is about."""

    code: str  # stable, for machines: "unsteady", "settings-differ", …
    text: str  # one sentence, for people


class Placement(Value):
    """Which CPUs the load engine and the servers are held to."""

    client: tuple[int, ...]
    servers: tuple[int, ...]
    single: int  # the CPU that both share where they only take turns: one thread that reads

    def of(self, threads: int, *, writes: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The client's CPUs and the servers' in a block."""
        if threads > 1:
            return self.client, self.servers
        if not writes:
            return (self.single,), (self.single,)
        # The server's log is written beside the one thread: neither on its CPU alone, nor on the client's.
        return self.client, tuple(cpu for cpu in self.servers if cpu not in self.client) or self.servers


class Finding(Value):
    """One thing about a runner that was looked at."""

    code: str  # stable, for machines: "cpu-governor", …; a run's warning has the same
    what: str
    found: str
    why: str = ""  # a sentence: what it does to results
    fit: bool = True
    mend: str = ""  # the command that mends it, which nobody but the user runs; "": there is none

    @property
    def warning(self) -> Warning:
        """The doubt that it casts on what is measured."""
        return Warning(code=self.code, text=f"{self.what}: {self.found}. {self.why}")


class Trial(Value):
    """What slices of one length under one CPU placement have shown of a server beside itself."""

    placement: str  # machine.placements
    slice_s: float
    # Noise of the log-ratio from one second of measuring; from four seconds it is half of that.
    spread: float
    visits: int  # stretches of measuring that it was seen in, of all blocks


class Calibration(Value):
    """How a runner measures best, as A/A slices have shown."""

    format: Literal[1]
    runner: str  # fingerprint
    measured: str  # ISO, UTC
    server: str  # reference
    best: Trial
    trials: tuple[Trial, ...]  # all, the usual one first


class Runner(Value):
    """The machine that measured. Runs compare only where the fingerprints are equal."""

    fingerprint: str
    cpu: str
    cpus: int
    memory_bytes: int
    kernel: str
    system: str  # the distribution's own name
    virtual: str  # hypervisor, or "" on bare metal
    filesystem: str  # of the data directories
    disk: str  # "ssd", "disk" or "unknown"
    placement: Placement
    warnings: tuple[Warning, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)  # what the fingerprint is made of
    calibration: Calibration | None = None  # of placement and slices; None: they are the profile's

    def sampling(self, asked: Sampling) -> Sampling:
        """As it is done here: with the slices that the runner was calibrated for."""
        return structs.replace(asked, slice_s=self.calibration.best.slice_s) if self.calibration else asked


class SettingRecord(Value):
    """One setting, requested and as the server reports it; None: not requested, or not known there."""

    name: str  # of a settings profile; or the server's own variable, where profiles have no name for it
    requested: str | None
    effective: str | None
    differs: bool
    variables: tuple[str, ...] = ()  # what this version calls it
    lacking: bool = False  # the version has no such thing; `effective` is then what comes nearest
    note: str = ""  # why it is lacking, or how the value came about


class ServerRecord(Value):
    """A server as it really was."""

    label: str
    reference: str
    family: str
    version: str  # as the server says
    comment: str  # its version_comment
    build: str  # sha256 of the server binary, or an image's id; "": not visible
    settings_name: str
    settings: tuple[SettingRecord, ...]
    checksum: str  # of the dataset's rows
    load_s: float | None  # None: restored from the cache
    warnings: tuple[Warning, ...] = ()
    image: str = ""  # by which its registry gives the same again: name@sha256:…

    @property
    def absent(self) -> str:
        """Why nothing could be measured of it; empty where it is here."""
        return next((warning.text for warning in self.warnings if warning.code == ABSENT), "")


class Samples(Value):
    """What the slices of one server in one start of one block measured; the arrays have one entry a round."""

    server: str
    steady: bool
    warmup_rounds: int
    drift: float  # change of log throughput over the newest half of the warm-up
    transactions: tuple[float, ...]  # in the window, fractions at its edges
    window_s: tuple[float, ...]
    server_cpu_s: tuple[float, ...] | None  # whole slice; None: not visible
    client_cpu_s: tuple[float, ...]  # whole slice
    completed: tuple[int, ...]  # transactions of the whole slice: what CPU and counters are divided by
    latencies: str  # of transactions in the windows; HdrHistogram V2, nanoseconds, deflated, base64
    statements: dict[str, str]  # the same for each kind of statement
    reads: int  # statements over whole slices, by effect
    writes: int
    other: int
    errors: dict[str, int]  # by the server's error code: rolled back and retried
    # The server's own, from before the first round to after the last; those that are visible.
    counters: dict[str, float]


class WorkloadRecord(Value):
    """A workload as it was sent."""

    name: str
    written: str  # as the user gave it: that name, or a file
    protocol: Protocol
    options: dict[str, int]
    distribution: Distribution


class Part(Value):
    """What one run has measured of a run that is merged from several: blocks, each of them whole."""

    run: str
    started: str  # ISO, UTC
    finished: str  # these three: as its EndRecord says; without one empty, 0 and true
    elapsed_s: float
    interrupted: bool
    seed: int
    runner: Runner
    servers: tuple[ServerRecord, ...]
    blocks: tuple[str, ...]  # Block.key, in the order of the whole run


class RunHeader(Value, tag="run", tag_field="record"):
    """A run document's first line: all that was decided before the first slice."""

    format: Literal[4]  # document.FORMAT
    run: str  # unique, sorts by time
    started: str  # ISO, UTC
    shootout: str  # version
    seed: int
    profile_name: str  # or file, as the user gave it
    profile: Profile
    runner: Runner
    servers: tuple[ServerRecord, ...]
    blocks: tuple[Block, ...]
    workloads: tuple[WorkloadRecord, ...] = ()
    given: dict[str, str] = field(default_factory=dict)  # what won over the profile, as written, by option
    digests: dict[str, str] = field(default_factory=dict)  # of each workload with its statements, by name
    planned: Planned | None = None  # of a shard: all blocks of the run that it is one of
    parts: tuple[Part, ...] = ()  # of a merged run, whose `runner` and `servers` are only for reading

    def part(self, cell: Cell) -> Part | RunHeader:
        """Who has measured a cell, with which servers on which machine; of one that nobody has, the run."""
        block = block_key(cell.workload, cell.threads)
        return next((part for part in self.parts if block in part.blocks), self)

    @property
    def runners(self) -> tuple[Runner, ...]:
        """The machines that have measured, one for each fingerprint."""
        found: dict[str, Runner] = {}
        for part in self.parts or (self,):
            found.setdefault(part.runner.fingerprint, part.runner)
        return tuple(found.values())


class StartRecord(Value, tag="start", tag_field="record"):
    """One start of one block: the unit of replication."""

    block: str  # Block.key
    start: int
    order: tuple[tuple[int, ...], ...]  # for each round, the block's servers in the order of their slices
    samples: tuple[Samples, ...]  # in the block's order
    confirming: bool = False  # made to see again what the starts before it showed
    twin: Samples | None = None  # the base's, on another instance of the same server: a hidden A/A cell
    spent_s: float | None = None  # of the budget, when it was over; None: before format 4


class FailureRecord(Value, tag="failure", tag_field="record"):
    """Why a cell could not be measured (any further); a result like any other."""

    cell: Cell
    start: int
    reason: str


class EndRecord(Value, tag="end", tag_field="record"):
    """A run document's last line; without it the run was cut short."""

    finished: str  # ISO, UTC
    elapsed_s: float  # breaks left out
    interrupted: bool


class ResumeRecord(Value, tag="resume", tag_field="record"):
    """From here on a run that was cut short went on."""

    resumed: str  # ISO, UTC
    shootout: str  # version


class RunDocument(Value):
    """A whole run document: JSON lines on disk, one record each."""

    header: RunHeader
    starts: tuple[StartRecord, ...]
    failures: tuple[FailureRecord, ...]
    end: EndRecord | None
    resumes: tuple[ResumeRecord, ...] = ()

    def interrupted(self, cell: Cell) -> bool:
        """Whether the run was cut short where it measured the cell."""
        part = self.header.part(cell)
        if isinstance(part, Part):
            return part.interrupted
        return self.end is None or self.end.interrupted


# --- what is concluded ----------------------------------------------------------------------------


class Verdict(StrEnum):
    """What can be said of a cell against its base."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"
    UNJUDGED = "unjudged"


class Interval(Value):
    """An estimate and the interval it lies in, at the policy's confidence."""

    estimate: float
    low: float
    high: float


class Latency(Value):
    """Latencies of a cell, of its transactions or of one kind of statement, in seconds."""

    count: int  # in the windows
    mean_s: float
    min_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    p999_s: float
    max_s: float


class CellFigures(Value):
    """A cell's absolute figures, for reading; verdicts come from ratios only."""

    tps: Interval  # over starts; a single start gives low = high = estimate
    latency: Latency
    server_cpu_s: float | None  # these five: each transaction; None: not visible
    client_cpu_s: float
    reads: float
    writes: float
    other: float
    errors: dict[str, int]
    counters: dict[str, float]  # each transaction
    starts: int
    rounds: int
    statements: dict[str, Latency] = field(default_factory=dict)  # by kind


class MetricComparison(Value):
    """A figure of each transaction (metrics.METRICS), beside its base's."""

    name: str
    base: float  # these two: means over starts, in the metric's unit
    head: float
    difference: Interval  # head less base
    ratio: Interval | None  # head over base; None: one of them is 0 in some start
    p_value: float  # of no difference, after Holm over the cell's figures


class StatementTime(Value):
    """How much of a mean transaction passes in one kind of statement."""

    kind: str
    base_s: float
    head_s: float
    difference_s: Interval


class Cause(Value):
    """What a cell's change may come from."""

    kind: Literal["statement", "work"]
    name: str  # of a kind of statement, or of a metric (metrics.METRICS)
    base: float  # these two: of each transaction, in seconds or the metric's unit
    head: float
    difference: Interval  # head less base
    # What the difference adds to a transaction's time, as a share of the base's; of work about (causes.py).
    share: float


class Acknowledgement(Value):
    """A regression that is known and accepted. Names are patterns with `*` and `?`."""

    workload: str
    server: str
    at_most: Annotated[float, Meta(gt=0)]  # by how much it may be worse, as a share of the base
    expires: date  # the last day on which it holds
    owner: Annotated[str, Meta(min_length=1)]
    reason: Annotated[str, Meta(min_length=1)]
    threads: Threads | None = None  # None: any
    metric: Metric = "throughput"


class JudgedMetric(Value):
    """A metric that a verdict is about, held against its bar."""

    metric: Metric
    verdict: Verdict
    ratio: Interval  # head over base, over all starts
    p_value: float  # of no difference, after Holm over all cells and metrics that are judged
    margin: float
    spread: float  # standard deviation of one start's logarithm
    floor: float | None  # A/A noise floor, a logarithm: what no change may look like; None: not known
    # The smallest change for the worse that four of five such runs would have flagged, a share of the base.
    detectable: float | None
    confirmed: bool | None  # it held again after fresh starts; None: there were none, or nothing to confirm


class CellComparison(Value):
    """A cell, its base, and what can be said. `ratio` is throughput over the base's throughput."""

    cell: Cell
    base: Cell
    verdict: Verdict
    figures: CellFigures | None  # None: nothing was measured
    ratio: Interval | None  # None: nothing to compare with, or the base itself
    p_value: float | None  # of no difference, after Holm over the comparison's cells
    per_start: tuple[float, ...]  # each start's own ratio
    reason: str  # one sentence: why this verdict
    warnings: tuple[Warning, ...]
    judged: tuple[JudgedMetric, ...] = ()  # what the verdict is about, the metric that decided it first
    metrics: tuple[MetricComparison, ...] = ()
    statements: tuple[StatementTime, ...] = ()  # where a transaction's time goes, the largest change first
    # Of a regression or an improvement; else what changed though throughput does not tell. The largest first.
    causes: tuple[Cause, ...] = ()
    acknowledged: Acknowledgement | None = None  # its regression is known, and fails nothing


class ScalingLaw(Value):
    """The universal scalability law that a server's throughputs follow (scaling.py)."""

    workload: str
    dataset: str
    server: str
    one: float  # λ: of one thread, transactions/s
    contention: float  # σ
    coherency: float  # κ
    peak_threads: float | None  # None: it has none
    peak_tps: float | None


class CurveComparison(Value):
    """A workload's scaling curve on a server beside its base's, as ratios of throughput."""

    workload: str
    dataset: str
    server: str
    base: str
    threads: tuple[int, ...]
    level: Interval  # over all threads
    tilt: Interval  # the ratio at the most threads over that at the fewest, on the line through all of them
    p_value: float  # of neither, after Holm over the run's curves


class BaselineServer(Value):
    """What a server was when its baseline was accepted."""

    version: str
    build: str
    settings: dict[str, str]  # effective ones


class BaselineCell(Value):
    """A cell's throughput relative to the anchor's, which does not change when the machine does."""

    dataset: str  # Dataset.key
    server: str
    threads: Threads
    log_ratio: float  # mean over starts of ln(server / anchor)
    error: float  # standard error of that mean
    starts: Annotated[int, Meta(ge=2)]
    floor: float | None  # A/A noise floor at that time
    tps: float  # these two: for reading
    anchor_tps: float
    run: str


class Baseline(Value):
    """The bar for later runs of one workload on one runner: a file of fixtures/baselines/."""

    format: Literal[1]
    runner: str  # fingerprint
    anchor: str
    workload: WorkloadRecord
    load: Load
    servers: dict[str, BaselineServer]
    cells: tuple[BaselineCell, ...]
    machine: dict[str, str] = field(default_factory=dict)  # identity.facts; none: it was not kept yet
    digest: str = ""  # of the workload with its statements; "": it was not kept yet


class HistoryPoint(Value):
    """What one run says of a cell."""

    run: str
    started: str  # ISO, UTC
    ratio: float  # of throughput, server over anchor
    tps: float


class ChangePoint(Value):
    """Where a series changed its level."""

    last_good: str  # runs: the last one before it, and the first one of the new level
    first_bad: str
    before: float  # ratios: medians of both levels
    after: float
    confirmed: bool  # enough runs lie on the new level; else it is a suspicion


class HistorySeries(Value):
    """A cell's ratio to the anchor over the runs of one runner."""

    runner: str  # fingerprint
    workload: str
    dataset: str
    server: str
    anchor: str
    threads: Threads
    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]


class Regression(Value):
    """A cell's loss against the anchor that its history confirms and no later run has made up for."""

    runner: str  # fingerprint
    workload: str
    dataset: str
    server: str
    anchor: str
    threads: Threads
    last_good: str  # these three: runs
    first_bad: str
    newest: str
    before: float  # these two: ratios to the anchor, of the level that ended with `last_good`
    after: float  # and of the newest level
    changed: tuple[str, ...]  # what else is different in `first_bad`: builds, settings, work; for people
    repeat: str  # the command that measures it again
    acknowledged: Acknowledgement | None = None  # in the newest run


class LedgerEntry(Value):
    """What an A/A cell showed: a server beside a second instance of itself."""

    run: str
    workload: str
    dataset: str  # Dataset.key
    threads: Threads
    verdict: Verdict
    starts: Annotated[int, Meta(ge=2)]
    spreads: dict[Metric, float]  # standard deviations of the starts' log-ratios
    margin: float | None = None  # of throughput, that it was judged by; None: it was not kept yet
    runner: str = ""  # fingerprint, once it is read: the file says it


class FalseAlarms(Value):
    """How often A/A cells were called regressed or improved."""

    alarms: int
    cells: int
    share: Interval  # Wilson's


class Comparison(Value):
    """A run document judged: what pages, tables and exit codes are made from."""

    header: RunHeader
    end: EndRecord | None
    policy: Policy
    cells: tuple[CellComparison, ...]  # block by block, the base's cell first in each
    curves: tuple[CurveComparison, ...] = ()
    laws: tuple[ScalingLaw, ...] = ()  # of the curves that have enough cells for one
    twins: tuple[CellComparison, ...] = ()  # A/A cells, judged like the others and hidden among them
    false_alarms: FalseAlarms | None = None  # of this runner, this run included; None: no A/A cell yet


class Outcome(StrEnum):
    """What can be said of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNTOLD = "cannot be told"


class Contrast(Value):
    """A ratio of throughputs beside the bounds that a claim sets it."""

    what: str  # over what
    ratio: Interval
    low: float | None
    high: float | None
    outcome: Outcome


class JudgedClaim(Value):
    """A published claim, held against a run."""

    claim: Claim
    outcome: Outcome
    contrasts: tuple[Contrast, ...]
    reason: str  # why it cannot be told, or of whom it is not told; empty: nothing to say
    in_their_figures: Outcome  # held against the published ones, which have no intervals


class Progress(Value):
    """Where a running measurement is; for displays."""

    stage: str  # "resume", "prepare", "start", "warm-up", "measure"
    detail: str
    block: str = ""
    block_number: int = 0
    blocks: int = 0
    start: int = 0
    starts: int = 0
    round: int = 0
    rounds: int = 0
    half_width: float | None = None  # of the block's widest interval so far
    left_s: float | None = None  # estimated time to the run's end
