"""Where a gate's ten minutes go, with three workloads and three thread counts: `make bench-gate`.

It compares a server with itself; the dataset is loaded beforehand. Overhead is all time without load; warm-up
slices are listed separately. Takes as long as the budget, on an otherwise idle machine.
"""

# needs: mvn

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shootout import app
from shootout._engine import Histogram
from shootout.analysis import compare
from shootout.document import journal
from shootout.inputs.options import Selection
from shootout.measure.managed import ManagedServer
from shootout.measure.rounds import RAMP_CYCLES, WARMUP_SLICE_SHARE, WINDOW_CYCLES
from shootout.model.run import RunDocument
from shootout.report import judgement_cache, wording
from tests.runs import EVERY_STEP

SERVER = "mysql-8.0.12"
THREADS = "1,4,16"
OVERHEAD_MAX = 0.20  # of the wall time
LATE_MAX = 0.05  # of the budget: the tolerated excess of the wall time
BLOCK = re.compile(r"start \d+: \S+-t\d+ \(\d+/\d+\)")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=10.0, metavar="MIN")
    budget_min: float = parser.parse_args(arguments).budget
    warm()
    with tempfile.TemporaryDirectory() as name:
        spent_s, document = gate(Path(name), budget_min)
    wall_s = sum(spent_s.values())
    overhead_s = wall_s - spent_s["measuring"] - spent_s["warm-up"]
    console = Console(width=120)
    console.print(table(spent_s))
    cells = [each for each in compare.compare(document).cells if each.cell != each.base]
    verdicts = Counter(wording.verdict(each) for each in cells)
    starts = [len(each.per_start) for each in cells]
    console.print(
        f"{len(cells)} cells of {min(starts)} to {max(starts)} starts: "
        f"{', '.join(f'{count} {verdict}' for verdict, count in verdicts.items())}"
    )
    console.print(
        f"overhead: {share(overhead_s, wall_s)} of {wall_s:.0f} s (limit {100 * OVERHEAD_MAX:.0f} %); "
        f"budget {60 * budget_min:.0f} s"
    )
    late = wall_s > (1 + LATE_MAX) * 60 * budget_min
    return int(overhead_s > OVERHEAD_MAX * wall_s or late or min(starts) < 2)


def warm() -> None:
    """Fetch the server and load its dataset, as an earlier gate would have done."""
    plan = app.plan(Selection.read(profile="gate", servers=SERVER, threads=THREADS))
    ManagedServer.find(plan, SERVER).load()


def gate(out: Path, budget_min: float) -> tuple[dict[str, float], RunDocument]:
    """Run a gate; returns the seconds of each part, which add up to the wall time, and the run document."""
    command = [*EVERY_STEP, "gate", f"--base={SERVER}", f"--head={SERVER}"]
    command += [f"--threads={THREADS}", f"--budget={budget_min:g}", f"--out={out}"]
    spent_s = dict.fromkeys(("measuring", "warm-up", "preparing", "starts", "blocks"), 0.0)
    # File times mark the ends of the last parts, so use their clock.
    since, stage = time.time(), "preparing"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        block = ""
        for line in process.stderr:
            if line.startswith("start ") and line.partition(",")[0] != block:
                block = line.partition(",")[0]
                sys.stderr.write(f"{block}\n")
                spent_s[stage] += time.time() - since
                since, stage = time.time(), "blocks" if BLOCK.match(line) else "starts"
    assert process.returncode in (0, 1), process.returncode
    ended = time.time()
    (path,) = journal.find(out / "results")
    (judged,) = (out / "results" / judgement_cache.FOLDER).iterdir()
    for part, file in ((stage, path), ("judging", judged), ("report", out / "site" / "index.html")):
        spent_s[part] = spent_s.get(part, 0.0) + file.stat().st_mtime - since
        since = file.stat().st_mtime
    spent_s["the end"] = ended - since
    document = journal.read(path)
    spent_s["measuring"], spent_s["warm-up"] = loaded_s(document)
    spent_s["blocks"] -= spent_s["measuring"] + spent_s["warm-up"]
    return spent_s, document


def loaded_s(document: RunDocument) -> tuple[float, float]:
    """Seconds under load, ramps included: in measured slices, and in warm-up slices.

    Documents record only the windows of measured slices; warm-up slices and ramps are derived from the
    latency, as in rounds.py.
    """
    sampling = document.header.profile.sampling
    share = WARMUP_SLICE_SHARE
    measuring_s = warmup_s = 0.0
    for start in document.starts:
        every = (*start.samples, *([start.aa_control] if start.aa_control else []))
        latency_s = max(Histogram.decode(samples.latencies).mean_s for samples in every)
        ramp_s, window_s = RAMP_CYCLES * latency_s, WINDOW_CYCLES * latency_s
        once_s = max(share * sampling.ramp_s, ramp_s) + max(share * sampling.slice_s, window_s)
        for samples in every:
            measuring_s += sum(samples.window_s) + len(samples.window_s) * max(sampling.ramp_s, ramp_s)
            warmup_s += samples.warmup_rounds * once_s
    return measuring_s, warmup_s


def table(spent_s: dict[str, float]) -> Table:
    contents = {
        "measuring": "measured slices and their ramps",
        "warm-up": "warm-up slices",
        "preparing": "Python, plan, finding servers and datasets",
        "starts": "copying data, starting servers, reading pages",
        "blocks": "between slices and blocks: connections, counters, records, interim verdicts",
        "judging": "verdicts",
        "report": "the site's pages",
        "the end": "verdict table, exit",
    }
    parts = Table("part", "seconds", "share", "", box=None)
    wall_s = sum(spent_s.values())
    for part, seconds in spent_s.items():
        parts.add_row(part, f"{seconds:.1f}", share(seconds, wall_s), contents[part])
    return parts


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
