"""What loads add to the difference of two servers: the same cells on rows that were loaded anew.

Reads the run documents of `shootout run --set dataset.seed=N`, one for each load. Prints for each cell the
log-ratio by load, its standard error, and the standard deviation between loads: the moment estimate of a
random effect (DerSimonian and Laird 1986), with the upper end of its 95 % interval by Cochran's Q
(Viechtbauer 2007).
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from scipy.optimize import brentq
from scipy.stats import chi2

from shootout.analysis import pairs, stats
from shootout.document import journal
from shootout.model.run import RunDocument

Estimates = dict[int, tuple[float, float]]  # log-ratio and standard error, by seed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+", type=Path)
    found: dict[tuple[str, int, str], Estimates] = defaultdict(dict)
    for path in parser.parse_args().documents:
        document = journal.read(path)
        for cell, estimate in _estimates(document):
            found[cell][document.header.profile.dataset.seed] = estimate
    print("| workload | threads | server | by load, % | within, % | between loads, % | at most, % |")
    print("|---|--:|---|---|--:|--:|--:|")
    for (workload, threads, server), by_seed in sorted(found.items()):
        logs = ", ".join(f"{100 * log:+.2f}" for _, (log, _) in sorted(by_seed.items()))
        errors = [error for _, error in by_seed.values()]
        within = math.sqrt(sum(error**2 for error in errors) / len(errors))
        between, most = _between([*by_seed.values()])
        figures = " | ".join(f"{100 * each:.2f}" for each in (within, between, most))
        print(f"| {workload} | {threads} | {server} | {logs} | {figures} |")


def _estimates(document: RunDocument) -> list[tuple[tuple[str, int, str], tuple[float, float]]]:
    policy = document.header.profile.policy
    found = []
    for block in document.header.blocks:
        for pair in pairs.of_block(document, block, policy, block.servers[0]):
            rounds = pairs.log_ratios(pair.base_starts, pair.starts) if pair.cell != pair.base else {}
            if len(rounds) > 1:
                means = stats.contributions([*rounds.values()], policy.trim)
                mean = sum(means) / len(means)
                variance = sum((each - mean) ** 2 for each in means) / (len(means) - 1) / len(means)
                key = block.workload, block.threads, pair.cell.server
                found.append((key, (mean, math.sqrt(variance))))
    return found


def _between(estimates: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Standard deviation between loads: the estimate, and the end of its interval."""

    def q(variance: float) -> float:
        weights = [1 / (error**2 + variance) for _, error in estimates]
        mean = sum(w * log for w, (log, _) in zip(weights, estimates, strict=True)) / sum(weights)
        return sum(w * (log - mean) ** 2 for w, (log, _) in zip(weights, estimates, strict=True))

    df = len(estimates) - 1
    weights = [1 / error**2 for _, error in estimates]
    scale = sum(weights) - sum(w * w for w in weights) / sum(weights)
    moment = max((q(0.0) - df) / scale, 0.0)
    least = float(chi2.ppf(0.025, df))
    most = brentq(lambda variance: q(variance) - least, 0.0, 1.0) if q(0.0) > least else 0.0
    return math.sqrt(moment), math.sqrt(most)


if __name__ == "__main__":
    main()
