"""What a run records: the machine, the servers, and the samples of each start."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field, structs

from shootout.model.plan import Block, Cell, Planned, Profile, Sampling, block_key
from shootout.model.value import Protocol, Value
from shootout.model.workload import Distribution

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
    aa_control: Samples | None = field(default=None, name="twin")  # a second instance of the base
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
