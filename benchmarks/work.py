"""What `shootout work` sees of no change and of known changes: `make bench-work`.

A preloaded library executes a known number of instructions each time that the server receives a command.
The server is counted against itself without them (A/A), and with them, while busy loops take the CPUs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shootout import app
from shootout.inputs.options import Selection
from shootout.measure import work
from shootout.model.work import WorkComparison
from shootout.report.work import count, interval, percent, spread
from shootout.servers import callgrind
from shootout.servers.installation import Installation
from shootout.servers.native import Tree

BUSY = "while True: pass"
LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

static ssize_t (*real)(int, void *, size_t, int);
static long pairs;

__attribute__((constructor)) static void begin(void) {
    real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    pairs = atol(getenv("SHOOTOUT_BURN")) / 2;
}

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    ssize_t got = real(socket, buffer, length, flags);
    long left = pairs;
    if (got > 0 && left > 0)
        __asm__ volatile("1: dec %0\\n jnz 1b" : "+r"(left) : : "cc"); /* two instructions each time */
    return got;
}
"""


def main() -> None:
    """Count, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default="mysql-5.7.22,mysql-8.0.33,mysql-9.7,mariadb-10.11,mariadb-11.8")
    parser.add_argument("--workloads", default="oltp_read_write,oltp_insert,select_random_points")
    parser.add_argument("--burn", default="320,640", help="instructions for each command, as A,B,…")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-work"))
    parser.add_argument("--busy", type=int, default=2, help="busy loops beside it")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    library = _compiled(args.out)
    burns = [0, *map(int, args.burn.split(","))]
    print("| server | kind | instructions | added | expected | found | interval | spread | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    with _busy(args.busy):
        for server in args.servers.split(","):
            compared = _counted(server, args.workloads, args.out, library, burns)
            print("\n".join(_rows(server, compared, burns)), flush=True)


def _counted(server: str, workloads: str, out: Path, library: Path, burns: list[int]) -> WorkComparison:
    """The server as the base, and once for each number of instructions, of which the first is 0."""
    names = ",".join([server, *(f"burn{burn}={server}" for burn in burns)])
    plan = app.plan(Selection.read(profile="work", servers=names, workloads=workloads))
    plain = callgrind.under

    def under(program: Installation, home: Path) -> Tree:
        tree = plain(program, home)
        if not (number := int(home.name)):
            return tree
        added = {"LD_PRELOAD": str(library), "SHOOTOUT_BURN": str(burns[number - 1])}
        return replace(tree, launch=replace(tree.launch, variables={**tree.launch.variables, **added}))

    callgrind.under = under
    try:
        path = work.measure(plan, out, lambda progress: print(progress.detail, file=sys.stderr))
    finally:
        callgrind.under = plain
    return app.judge_work(path)


def _rows(server: str, compared: WorkComparison, burns: list[int]) -> Iterator[str]:
    for change in compared.changes:
        if change.ratio is None or change.base is None:
            continue
        added = burns[[record.label for record in compared.document.servers].index(change.server) - 1]
        expected = 100 * added / change.base.mean
        cells = (
            server, f"{change.workload}, {change.kind}", count(change.base), str(added), f"+{expected:.2f} %",
            percent(change.ratio), interval(change.ratio), spread(change), str(change.verdict),
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"


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
