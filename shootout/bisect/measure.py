"""A bisection, measured: runs of a few revisions each, chosen by what the starts so far say.

Each run is an ordinary one, in the bisection's folder. What to do next follows from the documents there and
the builds alone, so a bisection that was cut short goes on from there. With an instrument it is a build, a
count, and half of what is left, which needs no quiet machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from shootout import __version__
from shootout.bisect.batches import FIRST, STARTS, Batch, Costs, next_batch
from shootout.bisect.counts import Halved
from shootout.bisect.documents import BISECTIONS, runs
from shootout.bisect.judge import Timed
from shootout.bisect.values import TIME, Answer, Bisection, BuildRecord, Revision
from shootout.capability import Instrument
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.inputs.options import renewed
from shootout.measure import campaign, schedule
from shootout.measure.plan import Plan
from shootout.model.plan import Build
from shootout.model.run import Observe, Progress
from shootout.paths import cache_folder
from shootout.servers import builds
from shootout.servers.builds import BuildError, Source

SERVERS_MAX = 8  # of a block
BATCH_S = 15.0  # estimate: a run besides its starts
LOAD_S = 15.0  # estimate: a server that takes part for the first time
BUILD_S = 600.0  # estimate, before the first build
OF_THE_MOMENT = ("--budget", "--seed")  # options that may change when a bisection goes on
NARROW = 1e-6  # an interval that no start reaches: the number of starts is the batch's


@dataclass(frozen=True)
class Question:
    """A history to bisect."""

    plan: Plan  # of one cell for each revision, the base first
    revisions: tuple[Revision, ...]
    build: Build | None = None  # None: there is nothing to build
    link: str = ""
    instrument: Instrument | None = None  # None: time

    def begin(self, id: str) -> Bisection:
        """The bisection before its first run."""
        (block,) = self.plan.blocks
        policy = self.plan.profile.policy
        return Bisection(
            format=1,
            id=id,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            shootout=__version__,
            workload=block.workload,
            threads=block.threads,
            revisions=self.revisions,
            given={flag: text for flag, text in self.plan.given.items() if flag != "--servers"},
            confidence=policy.confidence,
            trim=policy.trim,
            link=self.link,
            instrument=self.instrument.name if self.instrument else TIME,
        )

    def is_of(self, bisection: Bisection) -> bool:
        """Whether that bisection asks the same, but perhaps for another budget."""
        return _asked(self.begin(bisection.id)) == _asked(bisection)


def _asked(bisection: Bisection) -> Bisection:
    """Without what may differ between two that ask the same, such as where the repository lies."""
    given = {flag: text for flag, text in renewed(bisection.given).items() if flag not in OF_THE_MOMENT}
    revisions = tuple(
        structs.replace(revision, server="" if revision.commit else revision.server)
        for revision in bisection.revisions
    )
    return structs.replace(
        bisection, given=given, revisions=revisions, link="", started="", builds={}, finished=False
    )


def bisect(question: Question, results: Path, observe: Observe) -> Path:
    """Measure until the answer is known or the budget is spent; returns the bisection's file.

    With the plan's `resume`, the newest bisection in `results` goes on if it asks the same and is not over.
    Call this from the main thread. Raises InputError, and MeasureError if an end of the history cannot be
    measured.
    """
    if question.instrument is None:
        return _by_time(question, results, observe)
    return _by_counts(question, question.instrument, results, observe)


def _by_time(question: Question, results: Path, observe: Observe) -> Path:
    path, bisection = begun(question, results, observe)
    documents = runs(path.parent)
    said = 0  # starts
    while True:
        known = Timed(bisection, documents)
        require_ends(bisection, known.unusable)
        left_s = question.plan.profile.sampling.budget_s - known.answer.spent_s
        over = known.answer.kind != "open"
        if over or (documents and left_s < _least_s(question)):
            return BISECTIONS.write(results, bisection.id, structs.replace(bisection, finished=over))
        if len(known.evidence.starts) != said:
            said = len(known.evidence.starts)
            observe(Progress(stage="note", detail=_so_far(known.answer)))
        batch = _batch(question, known)
        made = build(question, results, bisection, batch.revisions, observe)
        if made != bisection:  # perhaps some failed, or are the same files as others
            bisection = made
            continue
        labels = [bisection.revisions[number].label for number in batch.revisions]
        planned = run_of(question.plan, labels, batch.starts, left_s, len(documents))
        run = campaign.measure(planned, path.parent, observe)
        documents[run.name] = journal.read(run)


def _by_counts(question: Question, instrument: Instrument, results: Path, observe: Observe) -> Path:
    instrument.check(question.plan)
    path, bisection = begun(question, results, observe)
    base = bisection.revisions[0].label
    documents = instrument.counted(path.parent, base)
    while True:
        known = Halved(bisection, documents, instrument.title)
        require_ends(bisection, known.unusable)
        left_s = question.plan.profile.sampling.budget_s - known.answer.spent_s
        numbers = known.next_revisions
        if not numbers or (documents and left_s <= 0):
            return BISECTIONS.write(results, bisection.id, structs.replace(bisection, finished=not numbers))
        if question.build is None and not documents and len(bisection.revisions) <= SERVERS_MAX:
            numbers = tuple(range(1, len(bisection.revisions)))
        made = build(question, results, bisection, (0, *numbers), observe)
        if made != bisection:  # perhaps some failed, or are the same files as others
            bisection = made
            continue
        labels = [bisection.revisions[number].label for number in (0, *numbers)]
        observe(Progress(stage="note", detail=f"counting {', '.join(labels)}"))
        plan = question.plan.only({cell for cell in question.plan.cells if cell.server in labels})
        instrument.measure(plan, path.parent, observe)
        documents = instrument.counted(path.parent, base)


def begun(question: Question, results: Path, observe: Observe) -> tuple[Path, Bisection]:
    """The bisection to go on with, or a new one, and its file.

    Builds that failed are made again, unless the bisection is over.
    """
    if question.plan.resume:
        for bisection in BISECTIONS.newest_first(results, lambda reason: None):
            if question.is_of(bisection):
                observe(Progress(stage="note", detail=f"going on with {bisection.id}"))
                bisection = structs.replace(bisection, link=question.link or bisection.link)  # noqa: PLW2901
                if not bisection.finished:
                    built = {label: record for label, record in bisection.builds.items() if not record.reason}
                    bisection = structs.replace(bisection, builds=built)  # noqa: PLW2901
                return BISECTIONS.path_of(results, bisection.id), bisection
    bisection = question.begin(journal.new_run(datetime.now(UTC)))
    folder = BISECTIONS.path_of(results, bisection.id).parent
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return BISECTIONS.write(results, bisection.id, bisection), bisection


def require_ends(bisection: Bisection, reasons: dict[str, str]) -> None:
    """Raise MeasureError if the first or the last revision is among those that cannot be measured."""
    for end in (bisection.revisions[0], bisection.revisions[-1]):
        if end.label in reasons:
            raise MeasureError(
                f"{end.label}, an end of the history, cannot be measured: {reasons[end.label]}"
            )


def _least_s(question: Question) -> float:
    """Estimated time for the smallest batch."""
    return BATCH_S + 2 * STARTS[0] * schedule.start_s(question.plan.profile.sampling)


def _batch(question: Question, known: Timed) -> Batch:
    """What to measure next; all of a history that fits into one block and needs no builds."""
    evidence, built = known.evidence, known.bisection.builds
    if question.build is None and len(evidence.usable) <= SERVERS_MAX:
        return Batch(evidence.usable, FIRST)
    seconds = [record.seconds for record in built.values() if not record.reason]
    costs = Costs(
        build_s=(sum(seconds) / len(seconds) if seconds else BUILD_S) if question.build else LOAD_S,
        start_s=schedule.start_s(question.plan.profile.sampling),
        batch_s=BATCH_S,
    )
    if question.build:
        ready = {n for n, revision in enumerate(known.bisection.revisions) if revision.label in built}
    else:
        ready = {number for start in evidence.starts for number in start}
    return next_batch(evidence, known.posterior, costs, ready, SERVERS_MAX)


def build(
    question: Question, results: Path, bisection: Bisection, numbers: Sequence[int], observe: Observe
) -> Bisection:
    """The bisection with the builds of these revisions, each written when it ends."""
    for number in numbers:
        label = bisection.revisions[number].label
        if question.build is not None and label not in bisection.builds:
            observe(Progress(stage="prepare", detail=f"{label}: building"))
            source = Source.parse(question.plan.servers[label].reference.target)
            record = try_to_build(source, question.build)
            bisection = structs.replace(bisection, builds={**bisection.builds, label: record})
            BISECTIONS.write(results, bisection.id, bisection)
    return bisection


def try_to_build(source: Source, build: Build) -> BuildRecord:
    """What building a commit gives."""
    began_s = time.monotonic()
    try:
        digest, reason = builds.digest(builds.fetch(source, build, cache_folder())), ""
    except BuildError as error:
        digest, reason = "", str(error)
    return BuildRecord(seconds=round(time.monotonic() - began_s, 3), digest=digest, reason=reason)


def run_of(plan: Plan, labels: Sequence[str], starts: int, budget_s: float, number: int) -> Plan:
    """An ordinary run of these servers, with so many starts."""
    chosen = plan.only({cell for cell in plan.cells if cell.server in labels})
    sampling = structs.replace(
        plan.profile.sampling, starts_min=starts, starts_max=starts, half_width=NARROW, budget_s=budget_s
    )
    profile = structs.replace(
        plan.profile,
        servers=tuple(server.reference.written for server in chosen.servers.values()),
        stand_ins={},
        sampling=sampling,
        policy=structs.replace(plan.profile.policy, confirm_starts=0),
    )
    return replace(
        chosen,
        profile=profile,
        given={flag: text for flag, text in plan.given.items() if flag != "--servers"},
        seed=random.Random(f"{plan.seed}/{number}").getrandbits(32),
        resume=False,
    )


def _so_far(answer: Answer) -> str:
    place = answer.last if answer.first == answer.last else f"{answer.first} to {answer.last}"
    step = sum(finding.probability for finding in answer.findings)
    return (
        f"after {answer.starts} starts: one step {step:.0%}, likeliest at {place}; "
        f"none {answer.none:.0%}, several {answer.several:.0%}"
    )
