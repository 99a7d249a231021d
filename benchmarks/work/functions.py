"""Whether counts name the function that a preloaded library adds: `make bench-work-functions`.

What has been counted is in files: it is not counted again.
"""

# needs: mvn valgrind

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import preload
from benchmarks.work.preloaded import Preloaded
from shootout import app
from shootout.inputs.options import Selection
from shootout.model.run import Progress
from shootout.numbers import number
from shootout.work import instructions, judge, measure
from shootout.work.documents import COUNTS

PROFILED = "mysql-8.0.33"
COUNTED = "oltp_point_select"
ADDED = 2_000  # instructions: 3 % of a point select's


def main() -> None:
    """Count what is missing, for some minutes, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=20.0, help="begin nothing after so many")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-work-functions"))
    args = parser.parse_args()
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    ends_s = time.monotonic() + 60 * args.minutes
    for step in measure_counts(out, args.runs):
        if time.monotonic() > ends_s:
            sys.exit(f"{step} and what follows is missing; the same command goes on")
    show_counts(out, args.runs)


def measure_counts(out: Path, runs: int) -> Iterator[str]:
    """Counts of a server, of itself once more, and of one with a function more."""
    library = preload.compiled(out / "lib")
    for run in range(1, runs + 1):
        yield f"run {run}"
        if COUNTS.find(out / str(run)):
            continue
        servers = f"{PROFILED},again={PROFILED},injected={PROFILED}"
        chosen = Selection.read(profile="work", servers=servers, workloads=COUNTED)
        extra = Preloaded(library, {"injected": lambda unit: ADDED})
        measure.measure(app.plan(chosen), out / str(run), _say, extra)


def show_counts(out: Path, runs: int) -> None:
    """Print each run."""
    _head("run", "instructions", "change", "named first", "its own", "named in A/A")
    for run in range(1, runs + 1):
        (file,) = COUNTS.find(out / str(run))
        compared = judge.compare(COUNTS.read(file))
        injected, again = (
            instructions.of(compared, COUNTED, (PROFILED, head)).whole for head in ("injected", "again")
        )
        assert injected.change.base is not None
        assert injected.difference is not None
        first = next(iter(injected.explaining), None)
        _line(
            run, number(injected.change.base.mean, 0), number(injected.difference, 0),
            first.name if first else "none", number(first.difference, 0) if first else "",
            ", ".join(each.name for each in again.explaining) or "nothing",
        )  # fmt: skip


def _say(progress: Progress) -> None:
    print(progress.detail, file=sys.stderr)


def _head(*names: str) -> None:
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def _line(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
