"""How well a bisection finds a step, and what it costs beside `git bisect`: `make bench-bisect`.

Histories are simulated, with noise drawn from the recorded A/A runs, one commit in eight that does not
build, and a step at a random commit or none. `git bisect` gets repeated gates, whose bar is half of the true
step, and as many starts for each as its answers need to be right as often; without a step, as many as a step
of 3 % needs.
Measures nothing. Prints Markdown.

With --bayesect, git-bayesect (PyPI, not among the requirements) searches the same histories, too. Its tests
are starts of the base and one revision, which fail beyond half of the true step.

With --real: bisects a repository of 40 commits, of which three do not compile, with a step and without; a
step is a server that works longer for each command. Takes up to forty minutes of an idle machine.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import commits
from benchmarks.verdict import campaign
from shootout import cli
from shootout.analysis import pairs
from shootout.bisect import batches as bisection_batches
from shootout.bisect import posterior as bisection
from shootout.bisect.batches import Costs
from shootout.bisect.posterior import Evidence
from shootout.paths import REPORTS

RECORDED = REPORTS / "showcase" / "verdict"
USUAL = (0.01, 0.02)  # the spread of a start in the cells that noise is drawn from
BROKEN = 1 / 8
COSTS = Costs(build_s=600.0, start_s=3.0, batch_s=10.0)
SERVERS_MAX = 8
BATCHES_MAX = 30
REAL, REAL_AT, REAL_BROKEN = 40, 22, (7, 21, 30)  # commits
LENGTHS, STEPS = (40, 339, 1024), (0.03, 0.0, 0.1, 0.01)
ASSUMED = 0.03  # without a step: what a gate looks for
REPEATS = (2, 4, 8, 16, 32, 64)
BAYESECT_STARTS_MAX = 4000
CERTAIN = 3.0  # standard errors by which a gate tells both ends of a history apart


class History(NamedTuple):
    """A history to be bisected; revision 0 is the base."""

    last: int
    at: int | None  # of the step
    size: float
    broken: frozenset[int]
    noise: NDArray[np.float64]  # deviations of single starts
    dice: np.random.Generator
    own: NDArray[np.float64]  # what each revision differs by itself

    def start(self, revisions: Sequence[int]) -> dict[int, float]:
        """What one start of these revisions gives."""
        drawn = self.dice.choice(self.noise, len(revisions))
        moved = [self.size * (self.at is not None and each >= self.at) for each in revisions]
        logs = np.array(moved) + self.own[list(revisions)] + drawn
        return dict(zip(revisions, logs.tolist(), strict=True))


class Found(NamedTuple):
    """What a search answered, and its cost."""

    answer: str  # "step", "none", "several" or "": no answer
    right: bool
    builds: int
    starts: int  # of single servers
    claims: tuple[bool, ...] = ()  # for each claim of 0.9 on the way to the answer: whether it is true


def main() -> None:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--steps", default=",".join(map(str, STEPS)), help="losses; 0: no step")
    parser.add_argument(
        "--own", type=float, default=0.0, help="spread of what revisions differ by themselves"
    )
    parser.add_argument("--bayesect", action="store_true", help="search with git-bayesect, too")
    parser.add_argument("--real", type=Path, metavar="DIR", help="build and measure in this folder instead")
    parser.add_argument("--pairs", type=int, default=2400, help="pairs of instructions that the step adds")
    args = parser.parse_args()
    if args.real:
        for pairs_ in (args.pairs, 0):
            real(args.real / f"pairs-{pairs_}", pairs_)
        return
    titles = (
        *("commits", "step", "right", "no answer", "claims of 0.9 right", "builds", "starts"),
        *("git bisect: right", "starts of a gate", "builds", "starts"),
        *(("git-bayesect: right", "builds", "starts") if args.bayesect else ()),
    )
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    began_s = time.monotonic()
    noises = [*recorded()]
    for last in map(int, args.lengths.split(",")):
        repeats = REPEATS[-1]
        for step in map(float, args.steps.split(",")):
            choice = REPEATS if step else (repeats,)
            histories = partial(history, last, step, noises=noises, own=args.own)
            line, needed = row(step, histories, args.histories, choice)
            if args.bayesect:
                theirs = [bayesect(histories(seed)) for seed in range(args.histories)]
                right = sum(each.right for each in theirs)
                line += f" {right} of {args.histories} | {' | '.join(_cost(theirs))} |"
            repeats = needed if step == ASSUMED else repeats
            print(line, flush=True)
    print(f"\n{len(noises)} recorded A/A cells; {time.monotonic() - began_s:.0f} s")


def real(folder: Path, added: int) -> None:
    """Bisect a repository whose commits are servers; a step adds so much work to each command."""
    history: list[int | None] = [0 if number < REAL_AT else added for number in range(REAL)]
    for number in REAL_BROKEN:
        history[number] = None
    made = commits.repository(folder / "repository", history, differing=True)
    print(f"{added} pairs since {made[REAL_AT][:10]}:")
    cli.main(
        [
            *("bisect", "--repo", str(folder / "repository"), "--good", made[0], "--bad", made[-1]),
            *("--build", commits.BUILD, "--tree", commits.TREE, "--tables", "1", "--table-size", "10000"),
            *("--budget", "20", "--out", str(folder), "--resume"),
        ]
    )


def recorded() -> Iterator[NDArray[np.float64]]:
    """Deviations of servers from the others of their start, for each recorded A/A cell of usual noise."""
    for path in sorted(RECORDED.glob("aa-*.jsonl.xz")):
        document = campaign.load(path)
        for block in document.header.blocks:
            starts = [record.samples for record in document.starts if record.block == block.key]
            logs = np.array([[pairs.start_log_tps(each) for each in samples] for samples in starts])
            logs -= logs.mean(axis=1, keepdims=True)
            servers = logs.shape[1]
            found = logs.ravel() * np.sqrt(servers / (servers - 1))  # their mean took a share
            if USUAL[0] <= found.std() <= USUAL[1]:
                yield found


def history(
    last: int, step: float, seed: int, noises: Sequence[NDArray[np.float64]], own: float = 0.0
) -> History:
    """A random history; steps are losses. `own`: spread of what revisions differ by themselves."""
    dice = np.random.default_rng([last, round(1000 * step), seed])
    broken = frozenset(number for number in range(1, last) if dice.random() < BROKEN)
    at = int(dice.integers(1, last + 1)) if step else None
    noise = noises[int(dice.integers(len(noises)))]
    layouts = np.random.default_rng([last, seed]).normal(0, own, last + 1)
    return History(last, at, np.log1p(-step), broken, noise, dice, layouts)


def posterior(given: History) -> Found:
    """Bisect as `shootout bisect` does."""
    starts: list[dict[int, float]] = []
    tried: set[int] = set()
    claims = []
    for _ in range(BATCHES_MAX):
        evidence = Evidence(given.last, starts, tuple(tried & given.broken))
        found = bisection.posterior(evidence)
        run = max(evidence.runs, key=found.within)
        holds = given.at is not None and run[0] <= given.at <= run[1]
        said = {
            "step": (found.within(run), holds),
            "none": (found.none, given.at is None),
            "several": (found.several, False),
        }
        claims += [right for probability, right in said.values() if probability >= 0.9]
        if bisection_batches.answered(evidence, found):
            answer = max(said, key=lambda name: said[name][0])
            return Found(answer, said[answer][1], len(tried), sum(map(len, starts)), tuple(claims))
        batch = bisection_batches.next_batch(evidence, found, COSTS, tried, SERVERS_MAX)
        tried |= {*batch.revisions}
        usable = [number for number in batch.revisions if number not in given.broken]
        if len(usable) > 1:
            starts += [given.start(usable) for _ in range(batch.starts)]
    return Found("", False, len(tried), sum(map(len, starts)), tuple(claims))


def gates(given: History, repeats: int) -> Found:
    """`git bisect` with a gate of so many starts for each revision, each beside the base."""
    tried: set[int] = {0}
    bar = given.size / 2 if given.size else np.log1p(-ASSUMED) / 2

    def gate(revision: int) -> NDArray[np.float64]:
        tried.add(revision)
        starts = [given.start((0, revision)) for _ in range(repeats)]
        return np.array([each[revision] - each[0] for each in starts])

    ends = gate(given.last)
    gated, good, bad = 1, 0, given.last
    error = ends.std(ddof=1) / np.sqrt(repeats)
    if ends.mean() > bar or abs(ends.mean()) < CERTAIN * error:
        return Found("none", given.at is None, len(tried), 2 * repeats)
    while usable := [each for each in range(good + 1, bad) if each not in given.broken & tried]:
        middle = min(usable, key=lambda each: abs(each - (good + bad) / 2))
        tried.add(middle)
        if middle in given.broken:
            continue
        gated += 1
        if gate(middle).mean() > bar:
            good = middle
        else:
            bad = middle
    return Found("step", given.at is not None and good < given.at <= bad, len(tried), 2 * repeats * gated)


def bayesect(given: History) -> Found:
    """Bisect with git-bayesect until one place has a probability of 0.95; it knows no "none"."""
    search = importlib.import_module("git_bayesect").Bisector(
        np.ones(given.last)
    )  # the newest revision first
    bar = given.size / 2 if given.size else np.log1p(-ASSUMED) / 2
    tried: set[int] = {0}
    starts = 0
    while starts < BAYESECT_STARTS_MAX and max(search.distribution) < bisection_batches.ENOUGH:
        revision = given.last - search.select()
        tried.add(revision)
        if revision in given.broken:
            search.record(given.last - revision, None)
            continue
        start = given.start((0, revision))
        starts += 2
        search.record(given.last - revision, bool(start[revision] - start[0] < bar))
    found = given.last - int(np.argmax(search.distribution))
    certain = max(search.distribution) >= bisection_batches.ENOUGH
    usable = [each for each in range(1, given.last + 1) if each not in given.broken]
    first = next((each for each in usable if given.at is not None and each >= given.at), None)
    return Found("step" if certain else "", certain and found == first, len(tried), starts)


def row(
    step: float, histories: Callable[[int], History], count: int, choice: Sequence[int]
) -> tuple[str, int]:
    """One line of the table, and how many starts of `choice` the gates of `git bisect` had.

    `histories`: by seed.
    """

    def over(search: Callable[[History], Found]) -> list[Found]:
        return [search(histories(seed)) for seed in range(count)]

    mine, repeats = over(posterior), choice[-1]
    wanted = sum(each.right for each in mine)
    for repeats in choice:
        theirs = over(lambda given: gates(given, repeats))  # noqa: B023 (used at once)
        if sum(each.right for each in theirs) >= wanted:
            break
    claims = [right for each in mine for right in each.claims]
    cells = (
        f"{histories(0).last:,}".replace(",", " "), f"{100 * step:g} %" if step else "none",
        f"{wanted} of {count}", f"{sum(not each.answer for each in mine)}",
        f"{sum(claims)} of {len(claims)}", *_cost(mine),
        f"{sum(each.right for each in theirs)} of {count}", f"{repeats}", *_cost(theirs),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |", repeats


def _cost(found: Sequence[Found]) -> tuple[str, str]:
    return (
        f"{np.mean([each.builds for each in found]):.1f}",
        f"{np.mean([each.starts for each in found]):.0f}",
    )


if __name__ == "__main__":
    main()
