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
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.bisect import commits
from benchmarks.bisect.simulated import (
    ASSUMED,
    Found,
    History,
    bayesect,
    by_posterior,
    gates,
    history,
    recorded,
)
from shootout import cli

REAL, REAL_AT, REAL_BROKEN = 40, 22, (7, 21, 30)  # commits
LENGTHS, STEPS = (40, 339, 1024), (0.03, 0.0, 0.1, 0.01)
REPEATS = (2, 4, 8, 16, 32, 64)


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
            *("--build", commits.BUILD, "--set", f"build.tree={commits.TREE}"),
            *("--set", "dataset.tables=1", "--set", "dataset.rows=10000"),
            *("--budget", "20", "--out", str(folder), "--resume"),
        ]
    )


def row(
    step: float, histories: Callable[[int], History], count: int, choice: Sequence[int]
) -> tuple[str, int]:
    """One line of the table, and how many starts of `choice` the gates of `git bisect` had.

    `histories`: by seed.
    """

    def over(answer: Callable[[History], Found]) -> list[Found]:
        return [answer(histories(seed)) for seed in range(count)]

    mine, repeats = over(by_posterior), choice[-1]
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
