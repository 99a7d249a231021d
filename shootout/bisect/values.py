"""A bisection: since which revision of a history the servers are slower or faster."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field

from shootout.model.value import Threads, Value
from shootout.model.verdict import Interval, Verdict

FORMAT: Final = 2
Kind = Literal["step", "none", "several", "open"]  # of an answer
Here = Literal["", "possible", "yes"]  # whether a step is at a revision
TIME: Final = "time"
WITHOUT: Final = "without"  # label of the newest commit without a step's own, and of its build


class Revision(Value):
    """A server of a history: a version, or a commit's build."""

    label: str  # its server's in run documents
    server: str  # reference
    commit: str = ""  # full hash; empty: not from a repository
    parents: int = 1  # of the commit; more than one: a merge
    author: str = ""
    date: str = ""  # ISO
    subject: str = ""


class BuildRecord(Value):
    """The outcome of building a revision."""

    seconds: float
    digest: str = ""  # of all files of the server; empty: the build failed
    reason: str = ""  # why it failed, with the compiler's last words


class Bisection(Value):
    """A bisection: its question, and its builds; the run documents beside it have the starts."""

    format: Literal[2]  # FORMAT
    id: str  # unique, sorts by time
    started: str  # ISO, UTC
    shootout: str  # version
    workload: str
    threads: Threads
    revisions: tuple[Revision, ...]  # the oldest first, which is the base
    given: dict[str, str]  # options as written
    link: str = ""  # address of a commit, with {commit} in it
    builds: dict[str, BuildRecord] = field(default_factory=dict)  # by label; WITHOUT: see there
    finished: bool = False
    instrument: str = TIME  # what is compared: throughput, or what the instrument of that name counts
    begun_in: int = FORMAT  # format; one of an older format is not continued

    @property
    def is_exact(self) -> bool:
        """Whether counts are compared."""
        return self.instrument != TIME


class RevisionFinding(Value):
    """The finding on one revision."""

    revision: Revision
    verdict: Verdict | None  # against the base; None: the base, or not measured
    here: Here
    starts: int
    ratio: Interval | None = None  # to the base; None: the base, or not measured
    step: Interval | None = None  # to that of the measured revision before it
    reason: str = ""  # why it cannot be measured


class Step(Value):
    """Measured neighbours that differ."""

    older: str  # label
    newer: str
    ratio: Interval  # of the newer to the older


class Proof(Value):
    """The newest commit, and the same without a step's own commits, beside the revision before the step."""

    before: str  # label
    newest: str  # label
    ratio: Interval | None = None  # of the newest
    without: Interval | None = None
    reason: str = ""  # why there is none
    differences: tuple[str, ...] = ()  # of the step's neighbours, by statement and function


class Bisected(Value):
    """The findings of a bisection so far."""

    bisection: Bisection
    kind: Kind
    first: str  # labels of the revisions that have the step, or may have it: first and last
    last: str
    size: Interval | None  # of the step, in `measure`; None: not known
    is_worse: bool  # whether what follows the step, or the last revision, is a loss
    margin: float  # the smallest change worth a verdict
    spread: float  # standard deviation of a start's log-ratio
    starts: int  # of single servers
    spent_s: float  # builds and starts
    findings: tuple[RevisionFinding, ...]
    steps: tuple[Step, ...]
    documents: tuple[str, ...]  # file names
    measure: str = "throughput"  # or what was counted
    proof: Proof | None = None  # None: not looked for
