"""How often a bisection is right, and its cost: `make bench-bisect`.

Histories are simulated, with starts drawn from the recorded A/A runs, one commit in eight that does not
build, and a step at a random commit or none. Measures nothing. Prints Markdown, after two minutes.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.bisect.simulated import COSTS, halved, history, recorded

LENGTHS, STEPS = (40, 339), (0.03, 0.0, 0.1, 0.01)


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
            found = [
                halved(history(last, step, seed, noises, args.own), costs) for seed in range(args.histories)
            ]
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
