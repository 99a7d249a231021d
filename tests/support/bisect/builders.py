"""Bisections with chosen throughputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from lab import commits
from shootout.bisect import timed
from shootout.bisect.documents import BISECTIONS
from shootout.bisect.judge import Found
from shootout.bisect.values import FORMAT, Bisection, BuildRecord, Revision
from shootout.document import journal
from shootout.model.plan import Block
from shootout.model.run import FailureRecord, RunDocument, ServerRecord, Warning
from tests.support import builders as of_all
from tests.support.analysis import builders

LABELS = tuple("abcdefgh")


def a_bisection(
    labels: Sequence[str] = LABELS, builds: Mapping[str, BuildRecord] | None = None, **changes: object
) -> Bisection:
    values: dict[str, object] = {
        "format": FORMAT, "id": "20261124T100000Z-000001", "started": "2026-11-24T10:00:00+00:00",
        "shootout": "0", "workload": "reads", "threads": 4, "given": {},
        "revisions": tuple(
            Revision(
                label=each, server=f"git:/r#{each * 40}", commit=each * 40, author="Some Engineer",
                date="2026-11-01T10:00:00+00:00", subject=f"Change <b>{each}",
            )
            for each in labels
        ),
        "builds": dict(builds or {}),
    }  # fmt: skip
    return Bisection(**(values | changes))  # type: ignore[arg-type]


def a_run(
    levels: Mapping[str, float],
    *,
    starts: int = 8,
    failures: Sequence[FailureRecord] = (),
    servers: Sequence[ServerRecord] = (),
    noise: float = 0.005,
    seed: int = 1,
) -> RunDocument:
    """A run of these servers with these logarithms of throughput."""
    dice = np.random.default_rng(seed)
    labels = dict.fromkeys([*levels, *(each.cell.server for each in failures)])
    block = Block(workload="reads", dataset="d", threads=4, servers=tuple(labels))
    records = []
    for number in range(1, starts + 1):
        rounds = {
            label: 1000 * dice.normal(1, 0.01, 10) * math.exp(level + dice.normal(0, noise))
            for label, level in levels.items()
        }
        samples = (builders.a_sample(label, each.tolist()) for label, each in rounds.items())
        records.append(builders.a_start(number, *samples, block=block))
    return builders.a_document(records, *failures, blocks=(block,), servers=servers)


def absent(label: str) -> ServerRecord:
    return builders.a_server(label, Warning(code="not-available", text="there is no tree"))


def failed(label: str) -> FailureRecord:
    return builders.a_failure(label, Block(workload="reads", dataset="d", threads=4, servers=("a", label)))


def found_by_time(bisection: Bisection, *documents: RunDocument) -> Found:
    """Judge what a bisection by time has found."""
    return Found(bisection, timed.measured(bisection, {str(n): each for n, each in enumerate(documents)}))


def written(results: Path, bisection: Bisection, *documents: RunDocument) -> Path:
    """Write a bisection to disk."""
    path = BISECTIONS.write(results, bisection.id, bisection)
    for number, document in enumerate(documents):
        run = f"20261124T10000{number}Z-000000"
        header = replace(document.header, run=run, started="2026-11-24T10:00:00+00:00")
        (path.parent / journal.new_name(run)).write_bytes(journal.encoded(replace(document, header=header)))
    return path


def weeks(
    results: Path, built: Sequence[str], ratios: Sequence[float], *, first: int = 0, **changes: object
) -> None:
    """Store a run for each week from the `first` on: `trunk`, built of a commit, as a ratio to an anchor.

    `changes` are those of the trunk's record.
    """
    results.mkdir(parents=True, exist_ok=True)
    servers = "mysql-5.7.22", "trunk"
    for week, (commit, ratio) in enumerate(zip(built, ratios, strict=True), first):
        dice = np.random.default_rng(week)
        run = f"202601{week + 1:02}T000000Z-000000"
        block = of_all.a_block(servers=servers)
        header = replace(
            of_all.a_header(servers, ("oltp_point_select",), (1,)), run=run,
            started=f"2026-01-{week + 1:02}T00:00:00+00:00",
            workloads=(of_all.a_record("oltp_point_select"),),
            servers=(of_all.a_server(servers[0]), of_all.a_server("trunk", commit=commit, **changes)),
        )  # fmt: skip
        starts = []
        for number in range(1, 6):
            levels = zip(servers, (1000.0, 1000.0 * ratio), strict=True)
            rounds = ((server, level * dice.normal(1, 0.003, 10)) for server, level in levels)
            samples = (builders.a_sample(server, each.tolist()) for server, each in rounds)
            starts.append(builders.a_start(number, *samples, block=block))
        document = RunDocument(header=header, starts=tuple(starts), failures=(), end=builders.AN_END)
        (results / journal.new_name(run)).write_bytes(journal.encoded(document))


class History(NamedTuple):
    """Commits of a repository."""

    good: str
    step: str
    bad: str
    newest: str


STEP = 2_000  # pairs of instructions: some 6 % of a statement's


def a_history(folder: Path) -> History:
    """Forty commits: a merge, a revert, two that do not compile, and one that makes statements longer."""

    def more(*changes: tuple[str, int | None]) -> list[str]:
        return [commits.commit(folder, subject, pairs) for subject, pairs in changes]

    *_, good = commits.repository(folder, [0] * 27)
    commits.git(folder, "switch", "--quiet", "--create", "branch")
    more(("on a branch", 0))
    commits.git(folder, "switch", "--quiet", "main")
    more(("beside it", 0))
    commits.git(folder, "merge", "--quiet", "--no-ff", "--message", "Merge pull request #7", "branch")
    more(("half a change", None), ("the other half", 0), ("a mistake", 0))
    step, *_ = more(("Check each command (#12)", STEP), ("tidy", STEP), ("half again", None))
    commits.git(folder, "revert", "--no-edit", "HEAD~3")  # the mistake
    _, bad, newest = more(("whole", STEP), ("more", STEP), ("newest", STEP))
    return History(good, step, bad, newest)
