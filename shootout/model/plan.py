"""What a run is asked to measure: servers, datasets, cells and blocks, and the profile that names them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field, structs

from shootout.model.value import (
    RATE_MAX,
    THINK_MAX_S,
    DatasetKind,
    Name,
    Positive,
    Protocol,
    Seconds,
    Share,
    Size,
    Threads,
    Value,
)
from shootout.model.workload import Distribution


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


SBTEST_ROW_BYTES = 250
TPCC_WAREHOUSE_BYTES = 100_000_000


class DatasetSize(Value):
    """How large a run's datasets are; each workload names the kind it runs on."""

    tables: Positive = 4  # sbtest
    rows: Annotated[int, Meta(ge=1, le=2_000_000_000)] = 25_000  # sbtest: in each table
    warehouses: Positive = 1  # tpcc
    seed: Annotated[int, Meta(ge=0)] = 1
    engine: Name = "InnoDB"  # storage engine, in any case; "default": the one each server's settings choose

    def of(self, kind: DatasetKind) -> Dataset:
        """The dataset of that kind and size."""
        return Dataset(kind=kind, **structs.asdict(self))


class Dataset(DatasetSize):
    """The tables a workload runs on; the same on every server, proven by checksum.

    A dataset of kind `own` starts empty: the workload's `setup` makes its tables.
    """

    kind: DatasetKind = "sbtest"

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


class Scale(Value):
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
    dataset: DatasetSize = field(default_factory=DatasetSize)
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
    scales: dict[Name, Scale] = field(default_factory=dict)  # --scale NAME
