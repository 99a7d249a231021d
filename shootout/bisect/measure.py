"""A bisection, measured: builds, and runs or counts of a few revisions beside the base.

Each run is an ordinary one, in the bisection's folder. The next step follows from the documents there and the
builds alone, so a bisection that was cut short continues from there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from shootout import __version__, files
from shootout.bisect import counts, timed
from shootout.bisect.documents import BISECTIONS, runs
from shootout.bisect.judge import FIRST, Costs, Found, Measured, next_batch
from shootout.bisect.values import FORMAT, TIME, Bisected, Bisection, BuildRecord, Revision
from shootout.count import instrument as counting
from shootout.count.instrument import Callgrind
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.inputs.options import renewed
from shootout.measure import campaign, schedule
from shootout.measure.plan import Plan
from shootout.model.plan import Build
from shootout.model.run import Observe, Progress
from shootout.paths import cache_folder
from shootout.servers.sources import builds
from shootout.servers.sources.builds import BuildError, Source

BATCH_S = 15.0  # estimate: a run besides its starts
BUILD_S = 600.0  # estimate, before the first build
OF_THE_MOMENT = ("--budget", "--seed")  # options that may change when a bisection continues
NARROW = 1e-6  # an interval that no start reaches: the number of starts is the batch's


@dataclass(frozen=True)
class Question:
    """A history to bisect."""

    plan: Plan  # of one cell for each revision, the base first
    revisions: tuple[Revision, ...]
    build: Build | None = None  # None: there is nothing to build
    link: str = ""
    instrument: Callgrind | None = None  # None: time

    def begin(self, id: str) -> Bisection:
        """Make the bisection before its first run."""
        (block,) = self.plan.blocks
        return Bisection(
            format=FORMAT, id=id, started=datetime.now(UTC).isoformat(timespec="seconds"),
            shootout=__version__, workload=block.workload, threads=block.threads, revisions=self.revisions,
            given={flag: text for flag, text in self.plan.given.items() if flag != "--servers"},
            link=self.link, instrument=self.instrument.stored if self.instrument else TIME,
        )  # fmt: skip


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

    With the plan's `resume`, the newest bisection in `results` continues if it asks the same and is not over.
    Call this from the main thread. Raises InputError, and MeasureError if an end of the history cannot be
    measured.
    """
    instrument = question.instrument
    if instrument is not None:
        instrument.check(question.plan)
    path, bisection = begun(question, results, observe)
    said = 0  # documents
    while True:
        found = Found(bisection, measured(bisection, path.parent))
        for end in (found.answer.findings[0], found.answer.findings[-1]):
            if end.reason:
                raise MeasureError(
                    f"{end.revision.label}, an end of the history, cannot be measured: {end.reason}"
                )
        documents = len(found.measured.documents)
        left_s = question.plan.profile.sampling.budget_s - found.answer.spent_s
        costs = None if instrument else _costs(question, bisection)
        batch = next_batch(found, costs)
        least_s = BATCH_S + 2 * FIRST * costs.start_s if costs else 0.0
        if batch is None or (documents and left_s < least_s):
            return BISECTIONS.write(results, bisection.id, structs.replace(bisection, finished=batch is None))
        numbers, starts = batch
        if documents != said:
            said = documents
            observe(Progress(stage="note", detail=_so_far(found.answer)))
        made = build(question, results, bisection, numbers, observe)
        if made != bisection:  # perhaps some failed, or are the same files as others
            bisection = made
            continue
        labels = [bisection.revisions[number].label for number in numbers]
        if instrument is None:
            planned = run_of(question.plan, labels, starts, left_s, documents)
            campaign.measure(planned, path.parent, observe)
        else:
            observe(Progress(stage="note", detail=f"counting {', '.join(labels)}"))
            plan = question.plan.only({cell for cell in question.plan.cells if cell.server in labels})
            instrument.measure(plan, path.parent, observe)


def measured(bisection: Bisection, folder: Path) -> Measured:
    """Judge what a bisection's folder has, by time or by what was counted. Raises InputError."""
    if not bisection.is_exact:
        return timed.measured(bisection, runs(folder))
    instrument = counting.CALLGRIND
    if bisection.instrument != instrument.stored:
        raise InputError(f"{folder}: bisected by {bisection.instrument!r}, which this shootout does not have")
    counted = instrument.counted(folder, bisection.revisions[0].label)
    return counts.measured(bisection, counted, instrument.title)


def begun(question: Question, results: Path, observe: Observe) -> tuple[Path, Bisection]:
    """Find the bisection to continue, or begin a new one; return it with its file.

    Builds that failed are made again, unless the bisection is over.
    """
    if question.plan.resume:
        for bisection in BISECTIONS.newest_first(results, lambda reason: None):
            if _asked(question.begin(bisection.id)) == _asked(bisection):
                observe(Progress(stage="note", detail=f"resuming {bisection.id}"))
                bisection = structs.replace(bisection, link=question.link or bisection.link)  # noqa: PLW2901
                if not bisection.finished:
                    built = {label: record for label, record in bisection.builds.items() if not record.reason}
                    bisection = structs.replace(bisection, builds=built)  # noqa: PLW2901
                return BISECTIONS.write(results, bisection.id, bisection), bisection
    bisection = question.begin(journal.new_run(datetime.now(UTC)))
    folder = BISECTIONS.path_of(results, bisection.id).parent
    with files.writing(folder):
        folder.mkdir(parents=True)
    return BISECTIONS.write(results, bisection.id, bisection), bisection


def _costs(question: Question, bisection: Bisection) -> Costs:
    """Estimated from the builds so far."""
    seconds = [record.seconds for record in bisection.builds.values() if not record.reason]
    build_s = sum(seconds) / len(seconds) if seconds else BUILD_S
    return Costs(build_s, schedule.start_s(question.plan.profile.sampling), BATCH_S)


def build(
    question: Question, results: Path, bisection: Bisection, numbers: Sequence[int], observe: Observe
) -> Bisection:
    """Build these revisions; each build is written when it ends."""
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
    """Try to build a commit."""
    began_s, digest, reason = time.monotonic(), "", ""
    try:
        digest = builds.digest(builds.fetch(source, build, cache_folder()))
    except BuildError as error:
        reason = str(error)
    return BuildRecord(seconds=round(time.monotonic() - began_s, 3), digest=digest, reason=reason)


def run_of(plan: Plan, labels: Sequence[str], starts: int, budget_s: float, number: int) -> Plan:
    """Plan an ordinary run of these servers, with so many starts."""
    chosen = plan.only({cell for cell in plan.cells if cell.server in labels})
    sampling = structs.replace(
        plan.profile.sampling, starts_min=starts, starts_max=starts, half_width=NARROW, budget_s=budget_s
    )
    servers = tuple(server.reference.written for server in chosen.servers.values())
    policy = structs.replace(plan.profile.policy, confirm_starts=0)
    profile = structs.replace(plan.profile, servers=servers, stand_ins={}, sampling=sampling, policy=policy)
    given = {flag: text for flag, text in plan.given.items() if flag != "--servers"}
    seed = random.Random(f"{plan.seed}/{number}").getrandbits(32)
    return replace(chosen, profile=profile, given=given, seed=seed, resume=False)


def _so_far(answer: Bisected) -> str:
    place = answer.last if answer.first == answer.last else f"{answer.first} to {answer.last}"
    return f"after {answer.starts} starts: the step may be at {place}"
