"""A bisection: since which revision of a history the servers are slower or faster."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field

from shootout.model.value import Threads, Value
from shootout.model.verdict import Interval

FORMAT: Final = 1
Kind = Literal["step", "none", "several", "open"]  # of an answer
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
    """What building a revision gave."""

    seconds: float
    digest: str = ""  # of all files of the server; empty: the build failed
    reason: str = ""  # why it failed, with the compiler's last words


class Bisection(Value):
    """What a bisection looks for, and what it built; the run documents beside it have the starts."""

    format: Literal[1]  # FORMAT
    id: str  # unique, sorts by time
    started: str  # ISO, UTC
    shootout: str  # version
    workload: str
    threads: Threads
    revisions: tuple[Revision, ...]  # the oldest first, which is the base
    given: dict[str, str]  # options as written
    confidence: float  # of intervals
    trim: float  # Policy.trim
    link: str = ""  # address of a commit, with {commit} in it
    builds: dict[str, BuildRecord] = field(default_factory=dict)  # by label; WITHOUT: see there
    finished: bool = False
    instrument: str = TIME  # what is compared: throughput, or what the instrument of that name counts

    @property
    def is_exact(self) -> bool:
        """Whether counts are compared."""
        return self.instrument != TIME

    def is_worse(self, ratio: Interval) -> bool:
        """Whether a ratio to the base's is a loss, as a whole."""
        return ratio.low > 1 if self.is_exact else ratio.high < 1


class RevisionFinding(Value):
    """What is known of one revision."""

    revision: Revision
    probability: float  # of one step at it
    starts: int
    ratio: Interval | None = None  # to the base; None: the base, or not measured
    step: Interval | None = None  # to that of the measured revision before it
    reason: str = ""  # why it cannot be measured


class Proof(Value):
    """The newest commit, and the same without a step's own commits, beside the revision before the step."""

    before: str  # label
    newest: str  # label
    ratio: Interval | None = None  # of the newest
    without: Interval | None = None
    reason: str = ""  # why there is none
    differences: tuple[str, ...] = ()  # of the step's neighbours, by statement and function


class Answer(Value):
    """What a bisection says so far."""

    bisection: Bisection
    kind: Kind
    probability: float  # of the answer; of the likeliest one, if it is open
    first: str  # labels of the run of revisions that has the step most likely: first and last
    last: str
    size: Interval  # of `measure`: after the step to that before it, if there is one
    none: float  # probability
    several: float
    noise: float  # standard deviation of one server's start, as a logarithm
    starts: int  # of single servers
    spent_s: float  # builds and starts
    findings: tuple[RevisionFinding, ...]
    documents: tuple[str, ...]  # file names
    measure: str = "throughput"  # or what was counted
    proof: Proof | None = None  # None: not looked for

    @property
    def is_worse(self) -> bool:
        """Whether what follows the step, or the newest revision that was measured, is a loss."""
        last = next((finding.ratio for finding in reversed(self.findings) if finding.ratio), None)
        changed = {"step": self.size, "several": last}.get(self.kind)
        return changed is not None and self.bisection.is_worse(changed)
