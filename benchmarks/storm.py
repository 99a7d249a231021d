"""A run that is killed twenty times and resumed each time, and an undisturbed one: `make bench-storm`.

Each kill hits a random moment: imports, preparation, server starts or measuring. The document must hold every
start of every block exactly once, and its verdicts must not contradict the undisturbed run's. Takes about
eight minutes, on an otherwise idle machine.
"""

# needs: mvn

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shootout.analysis import compare
from shootout.document import journal
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import figures, wording

KILLS = 20
STARTS = 8
CONCLUSIVE = {Verdict.REGRESSED, Verdict.IMPROVED, Verdict.EQUIVALENT}  # two different ones contradict
PROFILE = f"""
description = "Long enough to be killed twenty times"
servers = ["mysql-5.7.22", "mysql-8.0.12"]
workloads = ["oltp_point_select", "oltp_read_only"]
threads = [1, 8]
[dataset]
tables = 2
rows = 2000
[sampling]
starts_min = {STARTS}
starts_max = {STARTS}
slice_s = 0.05
measure_s = 0.6
warmup_max_s = 1.5
budget_s = 3000.0
[policy]
confirm_starts = 0
"""


def main() -> int:
    dice = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "storm.toml").write_text(PROFILE)
        undisturbed, took_s = run_to_end(folder, folder / "undisturbed")
        life_max_s = life_s(undisturbed, took_s)
        out = folder / "killed"
        recorded: list[int] = []
        while len(recorded) < KILLS and kill(folder, out, dice.uniform(0.1, life_max_s)):
            recorded.append(starts_in(out))
            print(f"kill {len(recorded)}: {recorded[-1]} starts of blocks recorded", file=sys.stderr)
        disturbed, _ = run_to_end(folder, out)
    console = Console(width=120)
    console.print(
        f"{len(recorded)} kills, each within {life_max_s:.0f} s; starts of blocks recorded after each:"
    )
    console.print(" ".join(map(str, recorded)))
    complete = is_complete(disturbed)
    state = "every start of every block is there once" if complete else "STARTS ARE MISSING"
    console.print(f"{state}: {len(disturbed.starts)} in all, by {1 + len(disturbed.resumes)} processes")
    pairs = list(zip(heads(undisturbed), heads(disturbed), strict=True))
    console.print(table(pairs))
    verdicts = ({one.verdict, other.verdict} for one, other in pairs)
    contradicting = any(len(both) > 1 and both <= CONCLUSIVE for both in verdicts)
    return int(len(recorded) < KILLS or not complete or contradicting)


def life_s(undisturbed: RunDocument, took_s: float) -> float:
    """The seconds that this machine needs to begin a run and measure about two blocks."""
    first, *_, last = (record.spent_s or 0.0 for record in undisturbed.starts)
    block_s = (last - first) / (len(undisturbed.starts) - 1)
    return took_s - last + first + 2 * block_s


def command(folder: Path, out: Path) -> list[str]:
    profile = str(folder / "storm.toml")
    return [sys.executable, "-m", "shootout.cli", "run", "--profile", profile, "--out", str(out), "--resume"]


def run_to_end(folder: Path, out: Path) -> tuple[RunDocument, float]:
    """Run to the end; returns the document and the seconds that it took."""
    began_s = time.monotonic()
    done = subprocess.run(command(folder, out), check=False, stdout=subprocess.DEVNULL)
    assert done.returncode in (0, 1), done.returncode
    return found(out), time.monotonic() - began_s


def kill(folder: Path, out: Path, life_s: float) -> bool:
    """Run for `life_s`, then kill -9; False if the run completed before."""
    with subprocess.Popen(
        command(folder, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    ) as process:
        try:
            process.wait(life_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return not any(is_complete(journal.read(path)) for path in journal.find(out / "results"))
    return False


def found(out: Path) -> RunDocument:
    """The only run document in a folder."""
    (path,) = journal.find(out / "results")
    return journal.read(path)


def starts_in(out: Path) -> int:
    return len(found(out).starts) if journal.find(out / "results") else 0


def is_complete(read: RunDocument) -> bool:
    """Whether the run ended with every start of every block exactly once, and all their rounds."""
    recorded = sorted((record.block, record.start) for record in read.starts)
    wanted = sorted((block.key, start) for block in read.header.blocks for start in range(1, STARTS + 1))
    rounds = all(
        len(samples.transactions) == len(record.order) for record in read.starts for samples in record.samples
    )
    finished = read.end is not None and not read.end.interrupted
    return recorded == wanted and rounds and not read.failures and finished


def heads(read: RunDocument) -> Sequence[CellComparison]:
    return [cell for cell in compare.compare(read).cells if cell.cell != cell.base]


def table(pairs: Sequence[tuple[CellComparison, CellComparison]]) -> Table:
    verdicts = Table("workload", "threads", "undisturbed", "", "killed", "", box=None)
    for one, other in pairs:
        verdicts.add_row(
            one.cell.workload,
            str(one.cell.threads),
            *(text for each in (one, other) for text in (wording.verdict(each), _range(each))),
        )
    return verdicts


def _range(cell: CellComparison) -> str:
    return figures.change_range(cell.ratio) if cell.ratio else figures.NONE


if __name__ == "__main__":
    began_s = time.monotonic()
    code = main()
    print(f"took {time.monotonic() - began_s:.0f} s")
    sys.exit(code)
