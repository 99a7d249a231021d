"""The record of a run: the machine, the servers, and the samples of each start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

from msgspec import Meta, field

from shootout.model.execution_plan import ExecutionPlan
from shootout.model.plan import Block, Cell, Planned, Profile, block_key
from shootout.model.value import Count, Difference, Positive, Protocol, Quantity, Seconds, Start, Value
from shootout.model.workload import Distribution

ABSENT: Final = "not-available"  # warning code for a server that is not available
MODES_DROPPED: Final = "modes-dropped"  # warning code for a dump that was loaded without some session modes
# The option that compares what servers return, and the codes of warnings about what it found.
COMPARES: Final = "--check-results"
OTHER_ROWS, NOT_COMPARED = "other-rows", "not-compared"


REMARK: Final = "remark"  # warning code of a capability's remark on a run before it is measured


class Warning(Value):
    """A reason to doubt a result; it travels with the result."""

    code: str  # stable, for machines: "unsteady", "settings-differ", …
    text: str  # one sentence, for people


class Placement(Value):
    """The CPUs that the load engine and the servers are pinned to."""

    client: tuple[int, ...]
    servers: tuple[int, ...]
    single: int  # for one reading thread: client and server take turns, so they share a CPU
    reading: tuple[int, ...] = ()  # the servers' for several reading threads; (): `servers`

    def cpus(self, threads: int, *, writes: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the client's and the servers' CPUs in a block."""
        if threads > 1:
            return self.client, self.servers if writes else self.reading or self.servers
        if not writes:
            return (self.single,), (self.single,)
        # The server's log is written by a background thread, which needs a CPU apart from the connection's
        # and the client's.
        return self.client, tuple(cpu for cpu in self.servers if cpu not in self.client) or self.servers

    @property
    def starting(self) -> tuple[int, ...]:
        """Every CPU that a block may give to a server: a container cannot get others later."""
        return self.reading or self.servers


class Finding(Value):
    """The result of one preflight check."""

    code: str  # stable, for machines: "cpu-governor", …; also the code of the run's warning
    what: str
    found: str
    why: str = ""  # its effect on results, one sentence
    fit: bool = True
    mend: str = ""  # the command that fixes it, left to the user to run; "": there is none

    @property
    def warning(self) -> Warning:
        """The finding as a run's warning."""
        return Warning(code=self.code, text=f"{self.what}: {self.found}. {self.why}")


class Runner(Value):
    """The machine that measured. Runs are comparable only if the fingerprints are equal."""

    fingerprint: str
    cpu: str
    cpus: Positive
    memory_bytes: Count
    kernel: str
    system: str  # Linux distribution
    virtual: str  # hypervisor; "": bare metal
    filesystem: str  # of the data directories
    disk: str  # "ssd", "disk" or "unknown"
    placement: Placement
    warnings: tuple[Warning, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)  # input of the fingerprint


class SettingRecord(Value):
    """One setting, requested and as the server reports it; None: not requested, or not reported."""

    name: str  # as in settings files, or the server's variable if these have no name for it
    requested: str | None
    effective: str | None
    differs: bool
    variables: tuple[str, ...] = ()  # their names in this version
    lacking: bool = False  # this version lacks the setting; `effective` is then the nearest equivalent
    note: str = ""  # why it is lacking, or how the value was derived


class ServerRecord(Value):
    """A server as it was measured."""

    label: str
    reference: str
    family: str
    version: str  # as the server reports it
    comment: str  # version_comment
    build: str  # digest of the files that it is made of, or image id; "": not visible
    settings_name: str
    settings: tuple[SettingRecord, ...]
    checksum: str  # of the dataset's rows
    load_s: Quantity | None  # None: restored from the cache
    warnings: tuple[Warning, ...] = ()
    image: str = ""  # reproducible image reference: name@sha256:…
    commit: str = ""  # that it was built from; "": not known

    @property
    def absent(self) -> str:
        """Why the server could not be measured; empty if it is available."""
        return next((warning.text for warning in self.warnings if warning.code == ABSENT), "")


REOPENED: Final = "connections_reopened"  # a counter: how often the server closed the suite's own connection
# Counters, from slices in which they exceed STANDSTILL_S: how long the server did not answer, how long this
# process stood still, and by how much a clock jumped.
STOOD_S, STOPPED_S, JUMPED_S = "stood_still_s", "client_stopped_s", "clock_jumped_s"
STANDSTILL_S: Final = 1.0
FLUSHES, FLUSH_S = "disk_flushes", "disk_flush_s"  # counters: flushes of the disk, and what they took


class Returned(Value):
    """Rows and bytes that a kind of statement returned in a start, with their variation by slice."""

    executions: Positive
    slices: Positive  # with executions
    rows: Count  # returned, or changed
    rows_error: Quantity  # standard error of rows per execution, from slices
    bytes: Count  # of the returned rows
    bytes_error: Quantity
    # False: each connection asks for other rows, and servers serve some more often than others.
    alike: bool = True


class Samples(Value):
    """The slices of one server in one start of one block; arrays have one entry per round."""

    server: str
    steady: bool
    warmup_rounds: Count
    drift: Difference  # change of log throughput over the second half of the warm-up
    transactions: Annotated[tuple[Quantity, ...], Meta(min_length=1)]  # in windows; fractional at their edges
    window_s: tuple[Seconds, ...]
    server_cpu_s: tuple[Quantity, ...] | None  # whole slice; None: not visible
    client_cpu_s: tuple[Quantity, ...]  # whole slice
    completed: tuple[Count, ...]  # transactions in the whole slice; the divisor of CPU times and counters
    latencies: str  # of transactions in the windows; HdrHistogram V2, nanoseconds, deflated, base64
    # The same by kind of statement. Beside `times`, which are of this start, they may be of others, too: in a
    # packed document a cell's first start has those of all.
    statements: dict[str, str]
    reads: Count  # statements over whole slices, by effect
    writes: Count
    other: Count
    errors: dict[str, Count]  # transactions rolled back and retried, by the server's error code
    # The server's visible counters, from before the first round to after the last, and of its disk those of
    # its slices.
    counters: dict[str, Difference]
    returned: dict[str, Returned] = field(default_factory=dict)  # by kind of statement
    times: dict[str, tuple[Count, Quantity]] = field(default_factory=dict)  # number, and mean in seconds


class WorkloadRecord(Value):
    """A workload as it was sent."""

    name: str
    written: str  # name or file, as the user wrote it
    protocol: Protocol
    options: dict[str, int]
    distribution: Distribution


class Part(Value):
    """One run's share of a merged run: whole blocks."""

    run: str
    started: str  # ISO, UTC
    finished: str  # this and the next two: from its EndRecord; without one: empty, 0, true
    elapsed_s: Quantity
    interrupted: bool
    seed: int
    runner: Runner
    servers: tuple[ServerRecord, ...]
    blocks: tuple[str, ...]  # Block.key, in the order of the whole run


class RunHeader(Value, tag="run", tag_field="record"):
    """The first line of a run document: everything decided before the first slice."""

    format: Literal[6]  # formats.RUN
    run: str  # unique, sorts by time
    started: str  # ISO, UTC
    shootout: str  # version
    seed: int
    profile_name: str  # or file, as the user wrote it
    profile: Profile
    runner: Runner
    servers: tuple[ServerRecord, ...]
    blocks: tuple[Block, ...]
    workloads: tuple[WorkloadRecord, ...] = ()
    given: dict[str, str] = field(default_factory=dict)  # options that override the profile, as written
    digests: dict[str, str] = field(default_factory=dict)  # of workloads and their statements, by name
    planned: Planned | None = None  # in a shard: all blocks of the whole run
    parts: tuple[Part, ...] = ()  # in a merged run; its `runner` and `servers` are then for display only

    def part(self, cell: Cell) -> Part | RunHeader:
        """Find the part that measured a cell; the run itself if none did."""
        block = block_key(cell.workload, cell.threads)
        return next((part for part in self.parts if block in part.blocks), self)

    def runner_of(self, cell: Cell) -> Runner | None:
        """Find the machine that measured a cell; None if its shard is missing from a merged run."""
        part = self.part(cell)
        return None if self.parts and part is self else part.runner

    @property
    def same_rows(self) -> bool:
        """Whether results were compared before the run, and every server returned the base's rows."""
        told = {warning.code for server in self.servers for warning in server.warnings}
        return COMPARES in self.given and told.isdisjoint({OTHER_ROWS, NOT_COMPARED})

    @property
    def runners(self) -> tuple[Runner, ...]:
        """The machines that measured, one per fingerprint."""
        runners: dict[str, Runner] = {}
        for part in self.parts or (self,):
            runners.setdefault(part.runner.fingerprint, part.runner)
        return tuple(runners.values())


class StartRecord(Value, tag="start", tag_field="record"):
    """One start of one block: the unit of replication."""

    block: str  # Block.key
    start: Start
    order: tuple[tuple[int, ...], ...]  # for each round, the block's servers in the order of their slices
    samples: tuple[Samples, ...]  # in the block's order
    confirming: bool = False  # made to confirm a change seen in earlier starts
    aa_control: Samples | None = field(default=None, name="twin")  # a second instance of the base
    plans: tuple[ExecutionPlan, ...] = ()  # of its statements, as far as no earlier start had them
    spent_s: Quantity | None = None  # budget spent by the end of this start; None: not recorded


LACKS = "lacks "  # begins the reason of a server that does not know a statement that it may lack


class FailureRecord(Value, tag="failure", tag_field="record"):
    """Why measuring a cell failed, at once or partway; failures are results, too."""

    cell: Cell
    start: Start
    reason: str


class EndRecord(Value, tag="end", tag_field="record"):
    """The last line of a run document; without it the run was cut short."""

    finished: str  # ISO, UTC
    elapsed_s: Quantity  # without interruptions
    interrupted: bool


class ResumeRecord(Value, tag="resume", tag_field="record"):
    """The point where a run that was cut short was resumed."""

    resumed: str  # ISO, UTC
    shootout: str  # version


class RunDocument(Value):
    """A whole run document: JSON lines on disk, one record each."""

    header: RunHeader
    starts: tuple[StartRecord, ...]
    failures: tuple[FailureRecord, ...]
    end: EndRecord | None
    resumes: tuple[ResumeRecord, ...] = ()

    @property
    def spent_s(self) -> float:
        """The part of the budget spent by the end of the last start, as far as that is recorded."""
        return max((start.spent_s or 0.0 for start in self.starts), default=0.0)

    def interrupted(self, cell: Cell) -> bool:
        """Whether the run or part that measured the cell was cut short."""
        part = self.header.part(cell)
        if isinstance(part, Part):
            return part.interrupted
        return self.end is None or self.end.interrupted


class Progress(Value):
    """The progress of a running measurement, for display."""

    stage: str  # "note", "prepare", "start", "warm-up", "measure", "plans", "changes"
    detail: str
    block: str = ""
    block_number: int = 0
    blocks: int = 0
    start: int = 0
    round: int = 0
    rounds: int = 0
    changes: tuple[str, ...] = ()  # of all cells so far, provisional
    left_s: float | None = None  # estimated time until the run ends


Observe = Callable[[Progress], None]  # receives the progress
