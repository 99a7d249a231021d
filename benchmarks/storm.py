"""A run that is killed twenty times, and goes on each time, beside one that is left alone.

Each kill comes at a random moment of the process: while it imports, prepares, starts servers, or measures.
The document must hold every start of every block once, and say what the undisturbed run says. About eight
minutes; run nothing beside it.
"""

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
from shootout.report import wording

KILLS = 20
STARTS = 8
TOLD = {Verdict.REGRESSED, Verdict.IMPROVED, Verdict.EQUIVALENT}  # two of them are at odds
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
        undisturbed, took_s = left_alone(folder, folder / "undisturbed")
        life_max_s = life_s(undisturbed, took_s)
        out = folder / "killed"
        kept: list[int] = []
        while len(kept) < KILLS and kill(folder, out, dice.uniform(0.1, life_max_s)):
            kept.append(on_record(out))
            print(f"kill {len(kept)}: {kept[-1]} starts of blocks on record", file=sys.stderr)
        disturbed, _ = left_alone(folder, out)
    console = Console(width=120)
    console.print(
        f"{len(kept)} kills, each within {life_max_s:.0f} s; starts of blocks on record after each:"
    )
    console.print(" ".join(map(str, kept)))
    complete = is_complete(disturbed)
    said = "every start of every block is there once" if complete else "STARTS ARE MISSING"
    console.print(
        f"{said}: {len(disturbed.starts)} in all, written by {1 + len(disturbed.resumes)} processes"
    )
    pairs = list(zip(heads(undisturbed), heads(disturbed), strict=True))
    console.print(table(pairs))
    at_odds = [both for one, other in pairs if len(both := {one.verdict, other.verdict}) > 1 and both <= TOLD]
    return int(len(kept) < KILLS or not complete or bool(at_odds))


def life_s(undisturbed: RunDocument, took_s: float) -> float:
    """As long as it takes, on this machine, to begin and to measure two blocks or so."""
    first, *_, last = (record.spent_s or 0.0 for record in undisturbed.starts)
    block_s = (last - first) / (len(undisturbed.starts) - 1)
    return took_s - last + first + 2 * block_s


def command(folder: Path, out: Path) -> list[str]:
    profile = str(folder / "storm.toml")
    return [sys.executable, "-m", "shootout.cli", "run", "--profile", profile, "--out", str(out), "--resume"]


def left_alone(folder: Path, out: Path) -> tuple[RunDocument, float]:
    """Run to the end; and how long it took."""
    began_s = time.monotonic()
    done = subprocess.run(command(folder, out), check=False, stdout=subprocess.DEVNULL)
    assert done.returncode in (0, 1), done.returncode
    return found(out), time.monotonic() - began_s


def kill(folder: Path, out: Path, life_s: float) -> bool:
    """Run for so long, then kill -9; False where all was measured before."""
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
    """The only run document there."""
    (path,) = journal.find(out / "results")
    return journal.read(path)


def on_record(out: Path) -> int:
    """How many starts of blocks there are."""
    return len(found(out).starts) if journal.find(out / "results") else 0


def is_complete(read: RunDocument) -> bool:
    """Whether every start of every block is there, each once, with all its rounds."""
    taken = sorted((record.block, record.start) for record in read.starts)
    wanted = sorted((block.key, start) for block in read.header.blocks for start in range(1, STARTS + 1))
    rounds = all(
        len(samples.transactions) == len(record.order) for record in read.starts for samples in record.samples
    )
    over = read.end is not None and not read.end.interrupted
    return taken == wanted and rounds and not read.failures and over


def heads(read: RunDocument) -> Sequence[CellComparison]:
    return [cell for cell in compare.compare(read).cells if cell.cell != cell.base]


def table(pairs: Sequence[tuple[CellComparison, CellComparison]]) -> Table:
    made = Table("workload", "threads", "left alone", "", "killed", "", box=None)
    for one, other in pairs:
        made.add_row(
            one.cell.workload,
            str(one.cell.threads),
            *(text for each in (one, other) for text in (wording.verdict(each), _range(each))),
        )
    return made


def _range(cell: CellComparison) -> str:
    return wording.change_range(cell.ratio) if cell.ratio else wording.NONE


if __name__ == "__main__":
    began_s = time.monotonic()
    code = main()
    print(f"took {time.monotonic() - began_s:.0f} s")
    sys.exit(code)
