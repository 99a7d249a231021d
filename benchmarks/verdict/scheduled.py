"""Whole gates in simulation, start by start: by the code that decides what is measured, and judges it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import structs

from lab.verdict.judging import CHANGED
from lab.verdict.simulated import GATE, share
from shootout.analysis import decisions, gate
from shootout.document import journal
from shootout.measure import schedule
from shootout.model.plan import Block
from shootout.model.run import RunDocument, Samples, StartRecord
from shootout.model.verdict import Verdict
from shootout.paths import REPORTS

BASE, HEAD = "base", "head"
BLOCKS = tuple(
    Block(workload=f"w{number}", dataset="d", threads=1, servers=(BASE, HEAD)) for number in range(6)
)
ROUNDS = 8
# As on the recorded runs' machine: for each server of a block, and for both servers' restart.
LOAD_S, RESTART_S = 4.1, 3.0
LOSSES = (0.0, 0.02, 0.05, 0.20, 0.90)  # of one cell of six
SPREADS = (0.005, 0.01, 0.02, 0.04)


class Played(NamedTuple):
    """How a simulated gate ended."""

    minutes: float
    verdicts: tuple[Verdict, ...]  # the cell with the loss first
    alarms: bool  # any changed, A/A cells included
    fails: bool


def played(seed: int, loss: float, spread: float) -> Played:
    """Play a gate whose first cell has lost this share; starts differ by `spread`, half of it by rounds."""
    rng, run, spent_s, done = np.random.default_rng(seed), _begun(), 0.0, 0
    controlled = BLOCKS[int(rng.integers(len(BLOCKS)))]
    while start := schedule.next_start(run, done, spent_s):
        spent_s += RESTART_S
        for block in start.blocks:
            lost = math.log1p(-loss) if block == BLOCKS[0] else 0.0
            levels = rng.normal(0, spread / 2, 3) + np.array([0.0, lost, 0.0])
            noise = rng.normal(0, spread / 2 * math.sqrt(ROUNDS), (3, ROUNDS))
            base, head, control = (
                structs.replace(_TEMPLATE, server=server, transactions=tuple(rounds.tolist()))
                for server, rounds in zip(
                    (BASE, HEAD, BASE), 100 * np.exp(levels[:, None] + noise), strict=True
                )
            )
            aa_control = control if block == controlled else None
            spent_s += LOAD_S * (3 if aa_control else 2)
            record = StartRecord(
                block=block.key, start=start.number, order=(), samples=(base, head), aa_control=aa_control,
                confirming=start.confirming, spent_s=spent_s,
            )  # fmt: skip
            run = structs.replace(run, starts=(*run.starts, record))
        done = start.number
    policy = run.header.profile.policy
    cells, aa_controls = decisions.of_run(run, policy)
    judged = [decided for decided in cells if decided.pair.cell.server == HEAD]
    verdicts = tuple(decided.decision.verdict for decided in judged)
    alarms = any(decided.decision.verdict in CHANGED for decided in (*judged, *aa_controls))
    metrics = (metric for decided in judged for metric in decided.decision.metrics)
    return Played(spent_s / 60, verdicts, alarms, any(map(gate.beyond_doubt, metrics)))


_TEMPLATE = Samples(
    server=BASE, steady=True, warmup_rounds=16, drift=0.0, transactions=(), window_s=(0.1,) * ROUNDS,
    completed=(100,) * ROUNDS, server_cpu_s=None, client_cpu_s=(0.001,) * ROUNDS, latencies="", statements={},
    reads=0, writes=0, other=0, errors={}, counters={},
)  # fmt: skip


@lru_cache
def _begun() -> RunDocument:
    """A gate that has not begun, on a recorded runner."""
    recorded = journal.read(REPORTS / "showcase" / "verdict" / "aa-1.jsonl.xz")
    header = structs.replace(recorded.header, blocks=BLOCKS, profile=GATE, servers=())
    return RunDocument(header=header, starts=(), failures=(), end=None)


def tables(runs: int = 100) -> Iterator[str]:
    """Minutes to the verdict and what gates find, as Markdown."""
    yield "| starts differ by | one loss | minutes | 90 % within | flagged | fails | others equivalent |"
    yield "|---|---|---|---|---|---|---|"
    for spread in SPREADS:
        for loss in LOSSES:
            found = [played(seed, loss, spread) for seed in range(runs)]
            yield _row(found, loss, spread)


def _row(found: Sequence[Played], loss: float, spread: float) -> str:
    minutes = [each.minutes for each in found]
    flagged = [each.verdicts[0] is Verdict.REGRESSED if loss else each.alarms for each in found]
    others = [verdict is Verdict.EQUIVALENT for each in found for verdict in each.verdicts[1:]]
    shares = (share(flagged), share([each.fails for each in found]), share(others))
    times = f"{np.mean(minutes):.1f} | {np.quantile(minutes, 0.9):.1f}"
    return f"| {spread:.1%} | {loss:.0%} | {times} | {' | '.join(f'{each:.0%}' for each in shares)} |"
