"""The proof of a step: the newest commit without the step's own, beside the newest and the neighbours.

The documents lie in the folder `proof` of the bisection. Its builds say what became of WITHOUT, so a proof is
looked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import structs

from shootout.analysis import compare
from shootout.bisect.documents import BISECTIONS, runs
from shootout.bisect.judge import Found
from shootout.bisect.measure import measured, run_of, try_to_build
from shootout.bisect.values import WITHOUT, Bisected, BuildRecord, Proof, RevisionFinding
from shootout.conclusion import Conclusion
from shootout.count import instrument as counting
from shootout.count.instrument import Callgrind
from shootout.document import journal
from shootout.errors import InputError, Skip
from shootout.explain import changed_cells
from shootout.measure import campaign
from shootout.measure.plan import Plan
from shootout.model.run import Observe, Progress
from shootout.model.verdict import Interval
from shootout.paths import cache_folder
from shootout.servers.sources import builds
from shootout.servers.sources.builds import Commit, Source

FOLDER = "proof"
TIMED = 16  # starts of a proof by time

Planned = Callable[[str], Plan]  # of server references


def prove(
    answer: Bisected,
    path: Path,
    newest: Source,
    planned: Planned,
    *,
    instrument: Callgrind | None,
    observe: Observe,
    explain_min: float | None,
    skip: Skip,
) -> None:
    """Undo the step on the newest commit, build that, and measure it; `path`: the bisection's file.

    `explain_min`: minutes to explain a step by time; `skip` receives why it is not explained.

    Raises InputError, and MeasureError if git fails or nothing can be measured.
    """
    first, last = place(answer)
    step = answer.bisection.revisions[first : last + 1]
    commits = [Commit(each.commit, each.parents, each.author, each.date, each.subject) for each in step]
    names = " and ".join(each.label for each in step)
    servers = {each.label: each.server for each in (before(answer).revision, step[-1])}
    servers.setdefault(label(newest.commit), f"git:{newest.target}")
    plan = planned(references(servers.items()))
    observe(Progress(stage="prepare", detail=f"{label(newest.commit)} without {names}: building"))
    without = builds.reverted(newest, commits, cache_folder())
    if without is None:
        record = BuildRecord(seconds=0.0, reason=f"{names} cannot be reverted on {label(newest.commit)}")
    else:
        assert plan.profile.build  # which the bisection took, too
        record = try_to_build(without, plan.profile.build)
        if not record.reason:
            servers[WITHOUT] = f"git:{without.target}"
            plan = planned(references(servers.items()))
    folder = path.parent / FOLDER
    if instrument is not None:
        instrument.measure(plan, folder, observe)
    elif explain_min is not None or not record.reason:
        folder.mkdir(exist_ok=True)
        budget_s = plan.profile.sampling.budget_s
        run = journal.read(campaign.measure(run_of(plan, [*servers], TIMED, budget_s, 0), folder, observe))
        compared = compare.compare(run)
        cells = tuple(each for each in compared.cells if each.cell.server == step[-1].label)
        of_step = Conclusion(run, structs.replace(compared, cells=cells), (), folder / run.header.run)
        if explain_min is not None:
            changed_cells.explain(of_step, explain_min, observe, skip)
    proven = {**answer.bisection.builds, WITHOUT: record}
    BISECTIONS.write_to(path, structs.replace(answer.bisection, builds=proven))


def read(path: Path) -> Bisected:
    """Judge a bisection, with its proof. Raises InputError."""
    bisection = BISECTIONS.read(path)
    answer = Found(bisection, measured(bisection, path.parent)).answer
    return structs.replace(answer, proof=_proof(answer, path))


def every(results: Path, skip: Skip) -> Iterator[Bisected]:
    """Judge the bisections of a folder, the newest first; `skip` receives why one cannot be read."""
    for path in reversed(BISECTIONS.find(results)):
        try:
            yield read(path)
        except InputError as error:
            skip(str(error))


def _proof(answer: Bisected, path: Path) -> Proof | None:
    """The proof of a step; None if none was looked for."""
    record = answer.bisection.builds.get(WITHOUT)
    if record is None or answer.kind != "step":
        return None
    folder, base = path.parent / FOLDER, before(answer).revision.label
    if answer.bisection.is_exact:
        documents = [*counting.CALLGRIND.counted(folder, base).values()]
        ratios = {server: count.ratio for each in documents[-1:] for server, count in each.counts.items()}
        differences = counting.CALLGRIND.differences(folder, base, answer.last)
    else:
        ratios, differences = _timed(folder, answer.last)
    newest = next((server for server in reversed(ratios) if server not in (base, WITHOUT)), "")
    lacks = "" if WITHOUT in ratios else "the commit without it could not be measured"
    return Proof(
        before=base, newest=newest, ratio=ratios.get(newest), without=ratios.get(WITHOUT),
        reason=record.reason or lacks, differences=differences,
    )  # fmt: skip


def _timed(folder: Path, last: str) -> tuple[dict[str, Interval | None], tuple[str, ...]]:
    """Ratios to the base in the last run, by server, and why `last` is slower, if that is explained."""
    for run in [*runs(folder).values()][-1:]:
        cells = compare.compare(run).cells
        of_last = [each.cell for each in cells if each.cell.server == last]
        known = changed_cells.sections(folder, run.header.run, of_last, lambda reason: None)
        causes = (each.cause for sections in known.values() for each in sections if each.cause)
        return {each.cell.server: each.ratio for each in cells if each.ratio}, tuple(causes)
    return {}, ()


def place(answer: Bisected) -> tuple[int, int]:
    """The first and the last revision where the step is, or is likeliest."""
    labels = [revision.label for revision in answer.bisection.revisions]
    return labels.index(answer.first), labels.index(answer.last)


def before(answer: Bisected) -> RevisionFinding:
    """The last revision before the step that was measured."""
    earlier = reversed(answer.findings[: place(answer)[0]])
    return next(finding for finding in earlier if finding.starts and not finding.reason)


def label(commit: str) -> str:
    """Name a commit's server."""
    return commit[:10]


def of_commits(repository: str, commits: Iterable[Commit]) -> str:
    """The servers that commits build, as an option takes them."""
    return references((label(each.commit), f"git:{repository}#{each.commit}") for each in commits)


def references(servers: Iterable[tuple[str, str]]) -> str:
    """Named servers as an option takes them."""
    return ",".join(f"{name}={server}" for name, server in servers)
