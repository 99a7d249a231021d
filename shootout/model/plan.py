"""The plan of a run: servers, datasets, cells and blocks, and the profile that names them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType, field, structs

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
    Start,
    Threads,
    Value,
)
from shootout.model.workload import Distribution


class ServerReference(Value):
    """A server as the user wrote it: its source and its settings."""

    source: Literal["catalogue", "path", "image", "dsn", "git"]
    # Catalogue id, directory, archive URL#sha256=HEX, image name, address without its password, or
    # repository#commit.
    target: str
    settings: str | None = None  # name or file of settings; None: the run's
    name: str | None = None  # the user's own, which becomes the label

    @property
    def text(self) -> str:
        """The reference in its written form, without the user's name."""
        where = self.target if self.source == "catalogue" else f"{self.source}:{self.target}"
        return where if self.settings is None else f"{where}@{self.settings}"

    @property
    def written(self) -> str:
        """The reference with the user's name."""
        return self.text if self.name is None else f"{self.name}={self.text}"


SBTEST_ROW_BYTES = 250
TPCC_WAREHOUSE_BYTES = 100_000_000


class DatasetSize(Value):
    """The sizes of a run's datasets; each workload names the kind that it runs on."""

    tables: Positive = 4  # sbtest
    rows: Annotated[int, Meta(ge=1, le=2_000_000_000)] = 25_000  # sbtest: per table
    warehouses: Positive = 1  # tpcc
    seed: Annotated[int, Meta(ge=0)] = 1  # other rows of the same kind, which are loaded again
    engine: Name = "InnoDB"  # storage engine, in any case; "default": as each server's settings choose

    def of_kind(self, kind: DatasetKind) -> Dataset:
        """Make the dataset of the given kind in this size."""
        return Dataset(kind=kind, **structs.asdict(self))


NUMBERS: Final = "seq"  # in place of a digest: the own dataset with the table of numbers, which others share


class Dataset(DatasetSize):
    """A workload's tables, the same on every server by checksum; of kind `own`, its `setup` makes them."""

    kind: DatasetKind = "sbtest"
    dump: str = ""  # the file's path; of kind dump
    digest: str = ""  # of its bytes; of kind own, of the workload's name: each has a schema to itself

    @property
    def key(self) -> str:
        """Identifier of a kind of rows; with equal seeds, too, the rows are equal.

        A load may leave pages in a state that lasts. Runs with other seeds have the same key, so what loads
        add is in the spread of a runner's A/A cells, of its history and of baselines.
        """
        sizes = {"sbtest": f"-{self.tables}x{self.rows}", "tpcc": f"-{self.warehouses}w"}
        of = self.digest if self.kind == "dump" else self.engine.lower()
        return f"{self.kind}{sizes.get(self.kind, '')}-{of}"

    @property
    def is_loaded(self) -> bool:
        """Whether it has rows before any set-up."""
        return self.kind != "own" or self.digest == NUMBERS

    @property
    def files(self) -> str:
        """A workload's own folder for LOAD DATA and INTO OUTFILE, relative to the data directory."""
        return f"../tmp/{self.digest or self.kind}"

    @property
    def nominal_bytes(self) -> int:
        """Approximate size of rows and indexes in InnoDB, equal for all servers. 0: not known in advance."""
        sbtest, tpcc = self.tables * self.rows * SBTEST_ROW_BYTES, self.warehouses * TPCC_WAREHOUSE_BYTES
        return {"sbtest": sbtest, "tpcc": tpcc}.get(self.kind, 0)


class Cell(Value, order=True):
    """The subject of a verdict, and the key that results are joined on."""

    workload: str
    dataset: str  # Dataset.key
    server: str  # label, unique in a run
    threads: Threads

    @property
    def name(self) -> str:
        """How commands and files call it: unique in a run, as each workload has one dataset there."""
        return f"{block_key(self.workload, self.threads)}-{self.server}"


def block_key(workload: str, threads: int) -> str:
    """Identify a block in a run, in which each workload has one dataset."""
    return f"{workload}-t{threads}"


class Block(Value, order=True):
    """All cells with the same workload, dataset and thread count, measured together in interleaved slices."""

    workload: str
    dataset: str
    threads: Threads
    servers: Annotated[tuple[str, ...], Meta(min_length=1)]  # labels, the base first

    @property
    def key(self) -> str:
        """Identifier in a run."""
        return block_key(self.workload, self.threads)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell per server, in the block's order."""
        return tuple(self.cell(server) for server in self.servers)

    def cell(self, server: str) -> Cell:
        """Make the cell of one server."""
        return Cell(workload=self.workload, dataset=self.dataset, server=server, threads=self.threads)


class Planned(Value):
    """All blocks of a run: every workload at every thread count, on all servers."""

    workloads: dict[str, str]  # name to Dataset.key
    threads: tuple[Threads, ...]
    servers: tuple[str, ...]  # labels, the base first

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks in the order of measurement."""
        return tuple(
            Block(workload=workload, dataset=dataset, threads=threads, servers=self.servers)
            for workload, dataset in self.workloads.items()
            for threads in self.threads
        )


Isolation = Literal["auto", "share", "pause", "exclusive"]
PlacementName = Literal["auto", "apart", "shared"]


class Sampling(Value):
    """How much is measured, and in what pieces."""

    starts_min: Positive = 6
    starts_max: Positive = 12
    slice_s: Seconds = 0.1  # window of a slice; grows with the transaction latency
    ramp_s: Seconds = 0.02  # ramp before the window; grows likewise
    measure_s: Seconds = 1.2  # total window per server, start and block
    transactions: Positive | None = None  # or the time that the slowest server needs for this many
    warmup_max_s: Seconds = 6.0  # per server, start and block; beyond it, samples are marked unsteady
    # During another server's slice a server keeps running (share) or is stopped (pause); or each server has
    # all its slices in one stretch while the others are stopped (exclusive). auto: see `isolated`.
    isolation: Isolation = "auto"
    placement: PlacementName = "auto"  # CPUs of client and servers: machine.placement
    # The log-ratio's interval; once it, or a tenth of the change, is as wide, no further start is needed.
    half_width: Share = 0.015
    budget_s: Seconds = 420.0  # for all starts of a run, restarts included

    def isolated(self, *, writes: bool, ours: bool) -> Sampling:
        """Resolve `auto` for one block: pause if it writes and we can stop all servers, else share."""
        if self.isolation != "auto":
            return self
        # A server left running after writes would flush during the others' slices and shrink differences.
        return structs.replace(self, isolation="pause" if writes and ours else "share")

    @property
    def stops_idle(self) -> bool:
        """Whether servers are stopped between their slices; resolve `auto` with `isolated` first."""
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
    "flush_latency",
    "rows_read",
    "buffer_pool_reads",
    "lock_waits",
]


class Policy(Value):
    """The rules for verdicts: metrics, margins, confirmation, and what fails a gate."""

    confidence: Share = 0.95
    judged: Annotated[tuple[Metric, ...], Meta(min_length=1)] = ("throughput",)
    margin: Share = 0.02  # the smallest change worth a verdict
    margins: dict[Metric, Share] = field(default_factory=dict)  # overrides by metric
    workloads: dict[Name, dict[Metric, Share]] = field(default_factory=dict)  # overrides by workload, metric
    trim: Annotated[float, Meta(ge=0, lt=0.5)] = 0.2  # share of rounds cut from each end of a start
    floor_factor: Annotated[float, Meta(ge=0, le=1000)] = 1.5  # a change must exceed so many A/A noise floors
    confirm_starts: Start = 2  # fresh starts to confirm an apparent change; 0: none
    # While the runner's false-alarm rate may be higher, only a confirmed regression whose whole interval lies
    # beyond the margin fails a gate; 1: every regression does.
    false_alarms_max: Annotated[float, Meta(gt=0, le=1)] = 1.0
    inconclusive_fails: bool = False  # whether an inconclusive cell fails a gate

    @property
    def is_gate(self) -> bool:
        """Whether a run answers with pass or fail: it bounds the share of false alarms."""
        return self.false_alarms_max < 1

    def margin_of(self, metric: str, workload: str) -> float:
        """Return the margin of a metric in a workload."""
        by_name: dict[str, float] = {**self.margins, **self.workloads.get(workload, {})}  # type: ignore[dict-item]
        return by_name.get(metric, self.margin)


class Load(Value):
    """How transactions are sent: by which protocol, and when."""

    protocol: Protocol = "text"
    # Transactions/s per server; None: closed loop.
    rate: Annotated[float, Meta(gt=0, le=RATE_MAX)] | None = None
    arrivals: Literal["uniform", "poisson"] = "poisson"  # under a rate
    think_s: Annotated[float, Meta(ge=0, le=THINK_MAX_S)] = 0.0  # between two transactions of a connection
    think: Literal["fixed", "exponential"] = "fixed"  # distribution; exponential has the mean `think_s`
    reconnect: bool = False  # count and reopen lost connections; otherwise one fails the cell


class Container(Value):
    """The container of each server that runs from an image."""

    network: Literal["host", "bridge"] = "host"  # bridge: its own network, reached over TCP
    memory: Size | None = None  # limit per container; None: no limit

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit, swap included."""
        if self.memory is None:
            return None
        unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(self.memory[-1])
        return int(self.memory) if unit is None else int(self.memory[:-1]) * unit


class Build(Value):
    """How servers named by `git:` are built."""

    command: str  # for the shell, in the commit's work tree
    tree: str = "."  # where the server comes to lie in it
    jobs: Positive | None = None  # None: as many as there are CPUs
    timeout_min: Seconds = 120.0


class Scale(Value):
    """Changes to a profile for less time or a smaller machine; fields left out change nothing."""

    servers: tuple[str, ...] = ()  # this and the next two replace the profile's
    workloads: tuple[str, ...] = ()
    threads: tuple[Threads, ...] = ()
    threads_per_cpu: Positive | None = None  # drop higher thread counts
    rows: Positive | None = None  # maximum per sbtest table
    memory_share: Share | None = None  # of the machine's memory: maximum for the rows of all servers
    settings: str | None = None
    sampling: Sampling | None = None


class Profile(Value):
    """One reproducible run: workloads, servers, settings and thoroughness."""

    description: str
    workloads: tuple[str, ...]
    threads: tuple[Threads, ...]
    servers: tuple[str, ...] = ()  # server references, the base first
    settings: str = "in-memory"
    dataset: DatasetSize = field(default_factory=DatasetSize)
    load: Load = field(default_factory=Load)
    options: dict[Name, int] = field(default_factory=dict)  # override the workloads'
    distribution: Distribution | None = None  # overrides the workloads'
    sampling: Sampling = field(default_factory=Sampling)
    policy: Policy = field(default_factory=Policy)
    container: Container = field(default_factory=Container)
    build: Build | UnsetType = UNSET  # of servers named by `git:`
    published: Name | None = None  # the published comparison that it repeats, in fixtures/published
    # By server that exists only as a local tree: the server to measure if the tree is missing. "", or a
    # vendor's server that has not been fetched: none; the cells then report it as not available.
    stand_ins: dict[str, str] = field(default_factory=dict)
    scales: dict[Name, Scale] = field(default_factory=dict)


class ProfileFile(Profile):
    """A profile as its file has it."""

    scale: Name | None = None  # the one of `scales` that is measured; None: the profile as it is
    # TCP port of the first server on 127.0.0.1; the others take the next ones. None: free ports.
    port: Annotated[int, Meta(ge=1024, le=65_535)] | None = None
    reader_base: Name | None = None  # the server that the report's picture compares with; None: the base

    @property
    def measured(self) -> Profile:
        """The profile that a run measures, at its scale."""
        kept = {name: getattr(self, name) for name in Profile.__struct_fields__}
        return Profile(**kept | {"scales": {}})
