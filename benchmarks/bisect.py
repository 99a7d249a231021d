"""How often a bisection is right, and its cost: `make bench-bisect`.

Histories are simulated, with starts drawn from the recorded A/A runs, one commit in eight that does not
build, and a step at a random commit or none. Measures nothing. Prints Markdown, after two minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from shootout.analysis import pairs
from shootout.bisect import timed
from shootout.bisect.judge import Costs, Found, next_batch
from shootout.bisect.values import FORMAT, Bisection, BuildRecord, Revision
from shootout.document import journal
from shootout.model.plan import Policy
from shootout.model.run import RunDocument, Samples, StartRecord
from shootout.paths import REPORTS

LENGTHS, STEPS = (40, 339), (0.03, 0.0, 0.1, 0.01)
RECORDED = REPORTS / "showcase" / "verdict"
USUAL = (0.01, 0.02)  # the spread of a start in the cells that noise is drawn from
BROKEN = 1 / 8
COSTS = Costs(build_s=600.0, start_s=3.0, batch_s=10.0)
BATCHES_MAX = 30


class Noise(NamedTuple):
    """A recorded A/A cell."""

    run: RunDocument  # of this cell alone
    rounds: NDArray[np.float64]  # deviations of single servers in single starts, by round


class History(NamedTuple):
    """A history to be bisected; revision 0 is the base."""

    last: int
    at: int | None  # of the step
    size: float
    broken: frozenset[int]
    noise: Noise
    dice: np.random.Generator
    own: NDArray[np.float64]  # what each revision differs by itself

    def rounds(self, revisions: Sequence[int]) -> NDArray[np.float64]:
        """Logarithms of throughput in one start, by revision and round."""
        drawn = self.noise.rounds[self.dice.integers(len(self.noise.rounds), size=len(revisions))]
        moved = [self.size * (self.at is not None and each >= self.at) for each in revisions]
        logs: NDArray[np.float64] = (np.array(moved) + self.own[list(revisions)])[:, None] + drawn
        return logs

    def run(self, revisions: Sequence[int], starts: int) -> RunDocument:
        """A run of these revisions."""
        template = self.noise.run
        (block,) = template.header.blocks
        (sample, *_) = template.starts[0].samples
        labels = tuple(map(str, revisions))
        block = structs.replace(block, servers=labels)
        records = tuple(
            StartRecord(block=block.key, start=number, order=(), samples=tuple(
                _samples(sample, label, logs)
                for label, logs in zip(labels, self.rounds(revisions), strict=True)
            ))
            for number in range(1, starts + 1)
        )  # fmt: skip
        header = structs.replace(template.header, blocks=(block,), servers=())
        return structs.replace(template, header=header, starts=records, failures=())


def _samples(sample: Samples, label: str, logs: NDArray[np.float64]) -> Samples:
    transactions = tuple((1000 * np.exp(logs)).tolist())
    return structs.replace(
        sample, server=label, steady=True, transactions=transactions, window_s=(1.0,) * len(transactions)
    )


class Outcome(NamedTuple):
    """A search's answer, and its cost."""

    answer: str  # "step", "none", "several" or "open"
    right: bool
    builds: int
    starts: int  # of single servers


def recorded() -> Iterator[Noise]:
    """Deviations of servers from the others of their round, for each recorded A/A cell of usual noise."""
    for path in sorted(RECORDED.glob("aa-*.jsonl.xz")):
        document = journal.read(path)
        for block in document.header.blocks:
            starts = [record for record in document.starts if record.block == block.key]
            whole = np.array([[pairs.start_log_tps(each) for each in start.samples] for start in starts])
            servers = whole.shape[1]
            share = np.sqrt(servers / (servers - 1))  # their mean took a share
            spread = float((whole - whole.mean(axis=1, keepdims=True)).std() * share)
            rounds = min(len(each.transactions) for start in starts for each in start.samples)
            logs = np.array([[_logs(each)[:rounds] for each in start.samples] for start in starts])
            logs -= logs.mean(axis=1, keepdims=True)
            if USUAL[0] <= spread <= USUAL[1]:
                profile = structs.replace(document.header.profile, policy=Policy())
                header = structs.replace(document.header, blocks=(block,), profile=profile)
                run = structs.replace(document, header=header, starts=tuple(starts[:1]), failures=())
                yield Noise(run, logs.reshape(-1, rounds) * share)


def _logs(samples: Samples) -> NDArray[np.float64]:
    """Logarithms of throughput, by round."""
    logs: NDArray[np.float64] = np.log(np.maximum(samples.transactions, 0.5) / np.array(samples.window_s))
    return logs


def history(last: int, step: float, seed: int, noises: Sequence[Noise], own: float = 0.0) -> History:
    """A random history; steps are losses. `own`: spread of what revisions differ by themselves."""
    dice = np.random.default_rng([last, round(1000 * step), seed])
    broken = frozenset(number for number in range(1, last) if dice.random() < BROKEN)
    at = int(dice.integers(1, last + 1)) if step else None
    noise = noises[int(dice.integers(len(noises)))]
    layouts = np.random.default_rng([last, seed]).normal(0, own, last + 1)
    return History(last, at, np.log1p(-step), broken, noise, dice, layouts)


def halved(given: History, costs: Costs = COSTS) -> Outcome:
    """Bisect as `shootout bisect` does."""
    revisions = tuple(
        Revision(label=f"{number}", server="", commit=f"{number}") for number in range(given.last + 1)
    )
    bisection = Bisection(
        format=FORMAT, id="", started="", shootout="", workload="", threads=1, revisions=revisions, given={},
    )  # fmt: skip
    documents: dict[str, RunDocument] = {}
    for _ in range(BATCHES_MAX):
        while batch := next_batch(found := Found(bisection, timed.measured(bisection, documents)), costs):
            wanted = {f"{number}" for number in batch[0]} - bisection.builds.keys()
            if not wanted:
                break
            made = {
                label: BuildRecord(seconds=0.0, reason="broken" * (int(label) in given.broken), digest=label)
                for label in wanted
            }
            bisection = structs.replace(bisection, builds=bisection.builds | made)
        if batch is None:
            break
        documents[f"{len(documents)}"] = given.run(*batch)
    answer = found.answer
    right = (answer.kind == "none") == (given.at is None) and answer.kind in ("none", "step")
    if answer.kind == "step" and given.at is not None:
        right = int(answer.first) <= given.at <= int(answer.last)
    return Outcome(answer.kind, right, len(bisection.builds), answer.starts)


def main() -> None:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--steps", default=",".join(map(str, STEPS)), help="losses; 0: no step")
    parser.add_argument("--own", type=float, default=0.0, help="spread of revisions' own differences")
    parser.add_argument("--build-s", type=float, default=COSTS.build_s, help="seconds for a build")
    args = parser.parse_args()
    print(f"| commits | step | right | not decided | builds | starts |\n|{'---|' * 6}")
    began_s = time.monotonic()
    noises, costs = [*recorded()], COSTS._replace(build_s=args.build_s)
    for last in map(int, args.lengths.split(",")):
        for step in map(float, args.steps.split(",")):
            histories = (history(last, step, seed, noises, args.own) for seed in range(args.histories))
            found = [halved(each, costs) for each in histories]
            cells = (
                str(last), f"{100 * step:g} %" if step else "none",
                f"{sum(each.right for each in found)} of {len(found)}",
                str(sum(each.answer == "open" for each in found)),
                f"{np.mean([each.builds for each in found]):.1f}",
                f"{np.mean([each.starts for each in found]):.0f}",
            )  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\n{len(noises)} recorded A/A cells; {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
