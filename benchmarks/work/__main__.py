"""What `shootout work` sees of no change and of known changes: `make bench-work`.

Each server is counted against itself (A/A) while busy loops take the CPUs, and then with a preloaded library
that executes known shares of a statement's instructions more, once for each command that the server receives.
"""

# needs: mvn valgrind

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import beside, preload
from benchmarks.work.preloaded import Burn, Preloaded
from shootout import app
from shootout.inputs.options import Selection
from shootout.work import judge, measure
from shootout.work.documents import COUNTS
from shootout.work.report import count, interval, percent, spread
from shootout.work.units import Unit
from shootout.work.values import WorkComparison

SERVERS = "mysql-5.7.22,mysql-8.0.33,mysql-9.7,mariadb-10.11,mariadb-11.8"
WORKLOADS = (
    "oltp_read_write,oltp_insert,oltp_update_index,oltp_update_non_index,oltp_delete,"
    "select_random_points,select_random_ranges"
)
INJECTED = "oltp_read_write,oltp_update_index"


def main() -> None:
    """Count, and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default=SERVERS)
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--inject", default="mysql-5.7.22,mysql-8.0.33", help="servers; empty: none")
    parser.add_argument("--injected", default=INJECTED, help="workloads")
    parser.add_argument("--set", action="append", help="options.distinct_ranges=0 saves time")
    parser.add_argument("--shares", default="0.001,0.005,0.01", help="of a statement's instructions")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-work"))
    parser.add_argument("--busy", type=int, default=2, help="busy loops beside it")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    library = preload.compiled(args.out)
    with beside.programs(args.busy):
        _head("server", "kind", "instructions", "A/A", "interval", "spread", "verdict")
        for server in filter(None, args.servers.split(",")):
            _print(server, _counted(args, args.workloads, server, {"again": None}))
        _head("server", "kind", "instructions", "added", "found", "interval", "spread", "verdict")
        for server in filter(None, args.inject.split(",")):
            _inject(server, args, library)


def _inject(server: str, args: argparse.Namespace, library: Path) -> None:
    plain = _counted(args, args.injected, server, {})
    costs = {(change.workload, change.kind): change.head.mean for change in plain.changes if change.head}
    shares = {f"+{100 * share:g} %": share for share in map(float, args.shares.split(","))}
    heads = {f"burn{number}": _share(share, costs) for number, share in enumerate(shares.values())}
    compared = _counted(args, args.injected, server, heads, library)
    _print(server, compared, list(shares))


def _share(share: float, costs: dict[tuple[str, str], float]) -> Burn:
    def burn(unit: Unit) -> float:
        kind = unit.kind
        others = sum(times * costs[kind.workload, other] for other, times in kind.less.items())
        return share * (costs[kind.workload, kind.name] + others) / _commands(unit)

    return burn


def _commands(unit: Unit) -> int:
    (transaction,) = unit.program.transactions
    statements = sum(step.repeat * len(step.statements) for step in transaction.steps)
    return statements + 2 * transaction.begin


def _counted(
    args: argparse.Namespace,
    workloads: str,
    server: str,
    heads: Mapping[str, Burn | None],
    library: Path | None = None,
) -> WorkComparison:
    """The server as the base, and once for each head with what is added to it."""
    names = ",".join([server, *(f"{head}={server}" for head in heads)])
    chosen = Selection.read(profile="work", servers=names, workloads=workloads, set=args.set)
    extra = None if library is None else Preloaded(library, heads)
    path = measure.measure(
        app.plan(chosen),
        args.out,
        lambda progress: print(progress.detail or progress.block, file=sys.stderr),
        extra,
    )
    return judge.compare(COUNTS.read(path))


def _head(*names: str) -> None:
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def _print(server: str, compared: WorkComparison, added: Sequence[str] = ()) -> None:
    labels = [record.label for record in compared.document.servers]
    for change in compared.changes:
        if change.ratio is None:
            continue
        cells = (
            server, f"{change.workload}, {change.kind}", count(change.base),
            *([added[labels.index(change.server) - 1]] if added else []),
            percent(change.ratio), interval(change.ratio), spread(change), str(change.verdict),
        )  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
