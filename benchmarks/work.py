"""What `shootout work` sees of no change and of known changes: `make bench-work`.

Each server is counted against itself (A/A) while busy loops take the CPUs, and then with a preloaded library
that executes known shares of a statement's instructions more, once for each command that the server receives.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shootout import app
from shootout.inputs.options import Selection
from shootout.measure import work
from shootout.measure.work_units import Unit
from shootout.model.work import WorkComparison
from shootout.report.work import count, interval, percent, spread
from shootout.servers import callgrind
from shootout.servers.installation import Installation
from shootout.servers.instances import Instance
from shootout.servers.native import Tree

SERVERS = "mysql-5.7.22,mysql-8.0.33,mysql-9.7,mariadb-10.11,mariadb-11.8"
WORKLOADS = (
    "oltp_read_write,oltp_insert,oltp_update_index,oltp_update_non_index,oltp_delete,"
    "select_random_points,select_random_ranges"
)
INJECTED = "oltp_read_write,oltp_update_index"
BUSY = "while True: pass"
LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

static ssize_t (*real)(int, void *, size_t, int);
static volatile long *pairs;
static __thread ssize_t rest; /* of the command, whose header and body come apart or at once */

__attribute__((constructor)) static void begin(void) {
    real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    pairs = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, open(getenv("SHOOTOUT_BURN"), O_RDONLY), 0);
}

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    ssize_t got = real(socket, buffer, length, flags);
    if (got <= 0)
        return got;
    if (rest <= 0 && got >= 4) {
        unsigned char *header = buffer;
        long left = *pairs;
        rest = 4 + header[0] + (header[1] << 8) + (header[2] << 16);
        if (left > 0)
            __asm__ volatile("1: dec %0\\n jnz 1b" : "+r"(left) : : "cc"); /* two instructions each time */
    }
    rest -= got;
    return got;
}
"""

Burn = Callable[[Unit], float]  # instructions for each command


def main() -> None:
    """Count, and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default=SERVERS)
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--inject", default="mysql-5.7.22,mysql-8.0.33", help="servers; empty: none")
    parser.add_argument("--injected", default=INJECTED, help="workloads")
    parser.add_argument("--option", help="of workloads, as NAME=VALUE,…: distinct_ranges=0 saves time")
    parser.add_argument("--shares", default="0.001,0.005,0.01", help="of a statement's instructions")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-work"))
    parser.add_argument("--busy", type=int, default=2, help="busy loops beside it")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    library = _compiled(args.out)
    with _busy(args.busy):
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
    chosen = Selection.read(profile="work", servers=names, workloads=workloads, option=args.option)
    plan = app.plan(chosen)
    with _burning(library, list(heads.values())):
        path = work.measure(plan, args.out, lambda progress: print(progress.detail, file=sys.stderr))
    return app.judge_work(path)


@contextmanager
def _burning(library: Path | None, burns: Sequence[Burn | None]) -> Iterator[None]:
    """Start heads with the library, and tell it before each kind how much to add."""
    plain, connected = callgrind.under, work._Bench._connected

    def under(program: Installation, home: Path) -> Tree:
        tree = plain(program, home)
        if library is None or not int(home.name):
            return tree
        (home / "burn").write_bytes(bytes(8))
        added = {"LD_PRELOAD": str(library), "SHOOTOUT_BURN": str(home / "burn")}
        return replace(tree, launch=replace(tree.launch, variables={**tree.launch.variables, **added}))

    @contextmanager
    def telling(
        bench: work._Bench, instance: Instance, schema: str, unit: Unit, seed: str
    ) -> Iterator[Callable[[int], None]]:
        burn = burns[number - 1] if (number := int(bench.home.name)) else None
        if burn is not None:
            with (bench.home / "burn").open("r+b") as file:
                file.write(struct.pack("q", round(burn(unit) / 2)))
        with connected(bench, instance, schema, unit, seed) as send:
            yield send

    callgrind.under, work._Bench._connected = under, telling  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        callgrind.under, work._Bench._connected = plain, connected  # type: ignore[method-assign]


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


def _compiled(folder: Path) -> Path:
    source, library = folder / "burn.c", folder.absolute() / "burn.so"
    source.write_text(LIBRARY, "utf-8")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", BUSY], env=dict(os.environ)) for _ in range(loops)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


if __name__ == "__main__":
    main()
