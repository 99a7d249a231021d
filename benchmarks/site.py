"""The site after three years of weekly runs, 78 000 results, in time, memory, page sizes: `make bench-site`.

It measures `site.build` as `shootout site` calls it, on samples of the runs in reports/showcase. Old runs are
what they are in a real folder: documents that were judged when they were measured, of which only the verdicts
are read. The newest have their samples.

Exits with 1 if a limit is exceeded. Needs Chromium, and 300 MB of disk for a while. It works in reports/ and
removes its files. On ext4 without a journal, wait five minutes before the next run: until then the file
system skips recently removed files one by one.
"""

# needs: chromium

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from lab import browser
from lab.showcase import record
from shootout import app
from shootout.analysis import ledger
from shootout.document import journal, judgements, ledgers
from shootout.model.history import LedgerEntry
from shootout.model.plan import Block
from shootout.model.run import EndRecord, RunDocument, RunHeader, Samples, StartRecord
from shootout.model.verdict import CellComparison, Comparison, Interval
from shootout.paths import REPORTS, ROOT

WEEKS = 156
SERVERS = ("mysql-5.7.22", "mysql-8.0.12", "mysql-8.0.33", "mysql-9.7", "mariadb-11.8")
WORKLOADS = (
    "oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only", "oltp_update_index",
    "oltp_update_non_index", "oltp_insert", "oltp_delete", "select_random_points", "select_random_ranges",
)  # fmt: skip
THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
STARTS = 4
NOISE = 0.01  # by which starts differ, as logarithms
FIRST = datetime(2023, 11, 25, 2, 41, tzinfo=UTC)

BUILD_S, BUILD_BYTES = 25.0, 10**9
JUDGING_S = 10.0
OVERVIEW_BYTES, INTERACTIVE_S = 150_000, 1.0
PAGE_BYTES = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, help="work there and keep it (default: a folder in reports/)")
    parser.add_argument("--build", nargs=2, type=Path, metavar=("RESULTS", "OUT"), help=argparse.SUPPRESS)
    parser.add_argument("--weeks", type=int, default=WEEKS, help="runs in all (default: %(default)s)")
    args = parser.parse_args()
    if args.build:
        return _build(*args.build)
    # Where sites really are: in /tmp, with its many short-lived files, a build can take ten times longer.
    with tempfile.TemporaryDirectory(prefix="bench-", dir=REPORTS) as folder:
        return _measure((args.dir or Path(folder)).resolve(), args.weeks)


def _measure(folder: Path, weeks: int) -> int:
    results, out = folder / "results", folder / "site"
    shutil.rmtree(folder / "results", ignore_errors=True)
    shutil.rmtree(out, ignore_errors=True)
    began_s = time.monotonic()
    judging_s = generate(results, weeks)
    print(f"{weeks} runs made in {time.monotonic() - began_s:.0f} s", file=sys.stderr)
    seconds, memory = _built(results, out)
    sizes = {path: path.stat().st_size for path in out.rglob("*.html")}
    largest = max(sizes, key=lambda path: sizes[path])
    rows = [
        ("build, s", seconds, BUILD_S),
        ("memory of its largest process, MB", memory / 1e6, BUILD_BYTES / 1e6),
        ("judging a new run, s (not in the build)", judging_s, JUDGING_S),
        ("overview, kB of HTML", sizes[out / "index.html"] / 1e3, OVERVIEW_BYTES / 1e3),
        ("overview interactive, s", _interactive(out / "index.html"), INTERACTIVE_S),
        (f"largest page, kB ({largest.relative_to(out)})", sizes[largest] / 1e3, PAGE_BYTES / 1e3),
    ]
    table = Table("", "measured", "at most", box=None)
    for name, value, most in rows:
        table.add_row(name, f"{value:,.2f}", f"{most:,.2f}")
    table.add_row("pages", f"{len(sizes):,}", "")
    Console(width=140).print(table)
    return int(any(value > most for _, value, most in rows))


def _built(results: Path, out: Path) -> tuple[float, int]:
    """Seconds and bytes of a build in a separate process, as the command line does; without imports."""
    os.sync()  # otherwise the writeback of earlier files would count, too
    command = [sys.executable, "-m", "benchmarks.site", "--build", str(results), str(out)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kibibytes = done.stdout.split()
    return float(seconds), int(kibibytes) * 1024


def _build(results: Path, out: Path) -> int:
    began_s = time.perf_counter()
    app.publish(results, out, (), partial(print, file=sys.stderr))
    largest = max(resource.getrusage(of).ru_maxrss for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(time.perf_counter() - began_s, largest)
    return 0


def _interactive(index: Path) -> float:
    """Measure the seconds until the overview is interactive: parsed, with its scripts run."""
    with browser.chromium() as chromium:
        tab = chromium.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(index.as_uri())
        tab.wait_for_load_state("load")
        found: float = tab.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    return found / 1000


# --- three years of runs --------------------------------------------------------------------------


@cache
def recorded() -> tuple[RunDocument, ...]:
    """Read the showcase's documents."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(map(journal.read, record.unpacked(Path(folder))))


def generate(results: Path, weeks: int) -> float:
    """Generate that many runs, the newest two with samples; returns the longest judging time in seconds."""
    results.mkdir(parents=True, exist_ok=True)
    judging_s, newest = 0.0, weeks - 1
    for week in (newest, newest - 1):
        path = _written(results, _header(week), tuple(_starts(_header(week), week)))
        began_s = time.perf_counter()
        judged = app.judge_run(path, (), partial(print, file=sys.stderr)).comparison
        judging_s = max(judging_s, time.perf_counter() - began_s)
    for week in range(newest - 1):
        comparison = _earlier(judged, _header(week), week)
        path = _written(results, comparison.header, ())
        ledgers.append(results / ledgers.FOLDER, comparison.header.runner.fingerprint, _entries(comparison))
        judgements.store(path, comparison, ledgers.Ledgers(results))
    return judging_s


def _written(results: Path, header: RunHeader, starts: tuple[StartRecord, ...]) -> Path:
    path = results / journal.new_name(header.run)
    path.write_bytes(
        journal.encoded(RunDocument(header=header, starts=starts, failures=(), end=_end(header.seed)))
    )
    return path


def _end(week: int) -> EndRecord:
    finished = (FIRST + timedelta(weeks=week, hours=6)).isoformat()
    return EndRecord(finished=finished, elapsed_s=6 * 3600.0, interrupted=False)


def _header(week: int) -> RunHeader:
    documents = recorded()
    known = {record.label: record for each in documents for record in each.header.servers}
    some = next(iter(known.values()))
    servers = tuple(replace(known.get(label, some), label=label, reference=label) for label in SERVERS)
    newest = documents[-1].header
    started = FIRST + timedelta(weeks=week)
    blocks = tuple(
        Block(workload=workload, dataset="sbtest-4x25000-innodb", threads=threads, servers=SERVERS)
        for workload in WORKLOADS
        for threads in THREADS
    )
    profile = replace(
        newest.profile, description="Five servers, every week", workloads=WORKLOADS, threads=THREADS,
        servers=SERVERS,
    )  # fmt: skip
    run = f"{started:%Y%m%dT%H%M%SZ}-{week:06x}"
    return replace(
        newest, run=run, started=started.isoformat(), servers=servers, blocks=blocks, profile=profile,
        profile_name="weekly", seed=week, workloads=(), given={},
    )  # fmt: skip


def level(workload: str, threads: int, server: str, week: int) -> float:
    """The logarithm of a server's ratio to the base; some servers become slower at some point."""
    dice = random.Random(f"{workload} {threads} {server}")
    own = dice.gauss(-0.08, 0.06)
    changed = dice.random() < 0.15
    since, by = dice.randrange(20, WEEKS), dice.uniform(-0.08, -0.02)
    return own + (by if changed and week >= since else 0.0)


def _starts(header: RunHeader, week: int) -> Iterator[StartRecord]:
    """Recorded samples with throughput shifted to the server's level."""
    dice = random.Random(f"starts {week}")
    pool = [record for each in recorded() for record in each.starts if len(record.samples) > 1]
    for block in header.blocks:
        fitting = [record for record in pool if record.block.startswith(block.workload)] or pool
        for start in range(1, STARTS + 1):
            record = dice.choice(fitting)
            base = record.samples[0]
            samples = tuple(
                _moved(
                    base,
                    server,
                    level(block.workload, block.threads, server, week) + dice.gauss(0, NOISE)
                    if number
                    else 0.0,
                )
                for number, server in enumerate(SERVERS)
            )
            rounds = len(base.transactions)
            order = tuple(tuple(dice.sample(range(len(SERVERS)), len(SERVERS))) for _ in range(rounds))
            yield StartRecord(
                block=block.key, start=start, order=order, samples=samples,
                aa_control=_moved(base, SERVERS[0], dice.gauss(0, NOISE)),
            )  # fmt: skip


def _moved(samples: Samples, server: str, by: float) -> Samples:
    factor = math.exp(by)
    transactions = tuple(round(value * factor, 3) for value in samples.transactions)
    return replace(samples, server=server, steady=True, transactions=transactions)


def _earlier(judged: Comparison, header: RunHeader, week: int) -> Comparison:
    """An earlier week's judgement: noise around each server's level, with the verdicts of `judged`."""
    dice = random.Random(f"comparison {week}")

    def moved(c: CellComparison) -> CellComparison:
        if c.ratio is None:
            return c
        by = level(c.cell.workload, c.cell.threads, c.cell.server, week) + dice.gauss(0, NOISE)
        factor = math.exp(by) / c.ratio.estimate
        low, middle, high = (factor * each for each in (c.ratio.low, c.ratio.estimate, c.ratio.high))
        per_start = tuple(factor * each for each in c.per_start)
        return replace(c, ratio=Interval(estimate=middle, low=low, high=high), per_start=per_start)

    return replace(
        judged, header=header, end=_end(week), cells=tuple(map(moved, judged.cells)),
        aa_controls=tuple(map(moved, judged.aa_controls)),
    )  # fmt: skip


def _entries(comparison: Comparison) -> Sequence[LedgerEntry]:
    return ledger.entries_of_run(
        comparison.header, comparison.policy, comparison.cells, comparison.aa_controls
    )


if __name__ == "__main__":
    sys.exit(main())
