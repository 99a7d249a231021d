"""Functions compared over profiled starts: in simulation, the truth is inside and nothing else is named."""

from __future__ import annotations

import numpy as np

from shootout.explain import call_paths, functions
from shootout.explain.call_paths import CallPaths
from shootout.explain.values import CallTree, Profile

FUNCTIONS = 200
STARTS = 6
SAMPLES = 4000  # of a server in a start
TRANSACTIONS = 10_000
CPU_S = 8.0
RESTART = 0.02  # spread of each function's cost over starts


def simulated(generator: np.random.Generator, extra: float) -> CallPaths:
    """Two servers of the same functions, one of which does `extra` of a transaction more in the head."""
    tree = CallTree(
        functions=tuple(f"f{number}" for number in range(FUNCTIONS)),
        parents=(-1, *[0] * FUNCTIONS),
        function=(-1, *range(FUNCTIONS)),
    )
    shares = generator.dirichlet(np.full(FUNCTIONS, 0.3))
    profiles = []
    for start in range(STARTS):
        for server in ("base", "head"):
            costs = shares * np.exp(generator.normal(0, RESTART, FUNCTIONS))
            costs[7] += extra if server == "head" else 0
            counts = generator.poisson(SAMPLES * costs)
            seen = np.flatnonzero(counts)
            profiles.append(
                Profile(
                    start=start, server=server, transactions=TRANSACTIONS, cpu_s=CPU_S * costs.sum(),
                    nodes=tuple((seen + 1).tolist()), samples=tuple(counts[seen].tolist()),
                )
            )  # fmt: skip
    return call_paths.paths_of_servers(tree, profiles, "base", "head")


def test_a_loop_of_one_percent_is_named_first_and_its_interval_holds_it() -> None:
    found = []
    for seed in range(100):
        first = next(iter(named(simulated(np.random.default_rng(seed), 0.01))), None)
        truth = 0.01 * CPU_S / TRANSACTIONS
        found.append(
            first is not None
            and first.name == "f7"
            and first.difference.low <= truth <= first.difference.high
        )
    assert sum(found) >= 85


def test_nothing_is_named_where_nothing_changed() -> None:
    assert sum(bool(named(simulated(np.random.default_rng(seed), 0.0))) for seed in range(100)) <= 2


def named(paths: CallPaths) -> list[functions.Change]:
    return [each for each in functions.changes(paths, 0.95) if each.certain]
