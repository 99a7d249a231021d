"""A bisection, measured: runs of a few revisions each, chosen by what the starts so far say.

Each run is an ordinary one, in the bisection's folder. What to do next follows from the run documents and the
builds alone, so a bisection that was cut short goes on from there.
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
from shootout.bisect import batches as bisection_batches
from shootout.bisect import documents as bisections
from shootout.bisect import judge as bisected
from shootout.bisect import posterior as bisection
from shootout.bisect.batches import FIRST, STARTS, Batch, Costs
from shootout.bisect.values import Answer, Bisection, BuildRecord, Instrument, Revision
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.measure import campaign, schedule
from shootout.measure.plan import Plan
from shootout.model.plan import Build
from shootout.model.run import Observe, Progress
from shootout.paths import cache_folder
from shootout.servers.builds import BuildError, Source, fetch
from shootout.servers.builds import digest as digest_of

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
    instrument: Instrument = "time"

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
            instrument=self.instrument,
        )

    def is_of(self, found: Bisection) -> bool:
        """Whether that bisection asks the same, but perhaps for another budget."""
        mine, other = (
            structs.replace(
                each,
                given={flag: text for flag, text in each.given.items() if flag not in OF_THE_MOMENT},
                started="",
                builds={},
                finished=False,
            )
            for each in (self.begin(found.id), found)
        )
        return mine == other


def bisect(question: Question, results: Path, observe: Observe) -> Answer:
    """Measure until one history is likely enough or the budget is spent; returns what is known then.

    With the plan's `resume`, the newest bisection in `results` goes on if it asks the same and is not over.
    Call this from the main thread. Raises InputError, and MeasureError if an end of the history cannot be
    measured.
    """
    folder, found = begun(question, results, observe)
    said = 0  # starts
    while True:
        documents = bisections.documents(folder)
        known = bisected.evidence(found, documents)
        require_ends(found, bisected.unusable(found, documents))
        answer = bisected.answer(found, documents)
        left_s = question.plan.profile.sampling.budget_s - answer.spent_s
        if answer.kind != "open" or (documents and left_s < _least_s(question)):
            found = structs.replace(found, finished=answer.kind != "open")
            bisections.write(folder, found)
            return structs.replace(answer, bisection=found)
        if len(known.starts) != said:
            said = len(known.starts)
            observe(Progress(stage="note", detail=_so_far(answer)))
        batch = _batch(question, found, known)
        built = build(question, folder, found, batch.revisions, observe)
        if built != found:  # perhaps some failed, or are the same files as others
            found = built
            continue
        labels = [found.revisions[number].label for number in batch.revisions]
        planned = _planned(question.plan, labels, batch.starts, left_s, len(documents))
        campaign.measure(planned, folder, observe)


def begun(question: Question, results: Path, observe: Observe) -> tuple[Path, Bisection]:
    """The bisection to go on with, or a new one, and its folder.

    Builds that failed are made again, unless the bisection is over.
    """
    if question.plan.resume:
        for folder in reversed(bisections.find(results, lambda reason: None)):
            found = bisections.read(folder)
            if question.is_of(found):
                observe(Progress(stage="note", detail=f"going on with {found.id}"))
                if not found.finished:
                    built = {label: each for label, each in found.builds.items() if not each.reason}
                    found = structs.replace(found, builds=built)
                return folder, found
    found = question.begin(journal.new_run(datetime.now(UTC)))
    folder = bisections.folder_of(results, found.id)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    bisections.write(folder, found)
    return folder, found


def require_ends(found: Bisection, reasons: dict[str, str]) -> None:
    """Raise MeasureError if the first or the last revision is among those that cannot be measured."""
    for end in (found.revisions[0], found.revisions[-1]):
        if end.label in reasons:
            raise MeasureError(
                f"{end.label}, an end of the history, cannot be measured: {reasons[end.label]}"
            )


def _least_s(question: Question) -> float:
    """Estimated time for the smallest batch."""
    return BATCH_S + 2 * STARTS[0] * schedule.start_s(question.plan.profile.sampling)


def _batch(question: Question, found: Bisection, known: bisection.Evidence) -> Batch:
    """What to measure next; all of a history that fits into one block and needs no builds."""
    if question.build is None and len(known.usable) <= SERVERS_MAX:
        return Batch(known.usable, FIRST)
    seconds = [build.seconds for build in found.builds.values() if not build.reason]
    measured = {number for start in known.starts for number in start}
    built = {number for number, each in enumerate(found.revisions) if each.label in found.builds}
    costs = Costs(
        build_s=(sum(seconds) / len(seconds) if seconds else BUILD_S) if question.build else LOAD_S,
        start_s=schedule.start_s(question.plan.profile.sampling),
        batch_s=BATCH_S,
    )
    posterior = bisection.posterior(known)
    return bisection_batches.next_batch(
        known, posterior, costs, built if question.build else measured, SERVERS_MAX
    )


def build(
    question: Question, folder: Path, found: Bisection, numbers: Sequence[int], observe: Observe
) -> Bisection:
    """The bisection with the builds of these revisions, each written when it ends."""
    builds = dict(found.builds)
    for number in numbers:
        revision = found.revisions[number]
        if question.build is not None and revision.label not in builds:
            observe(Progress(stage="prepare", detail=f"{revision.label}: building"))
            source = Source.parse(question.plan.servers[revision.label].reference.target)
            builds[revision.label] = _built(source, question.build)
            bisections.write(folder, structs.replace(found, builds=builds))
    return structs.replace(found, builds=builds)


def _built(source: Source, build: Build) -> BuildRecord:
    began_s = time.monotonic()
    try:
        digest, reason = digest_of(fetch(source, build, cache_folder())), ""
    except BuildError as error:
        digest, reason = "", str(error)
    return BuildRecord(seconds=round(time.monotonic() - began_s, 3), digest=digest, reason=reason)


def _planned(plan: Plan, labels: Sequence[str], starts: int, budget_s: float, number: int) -> Plan:
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
