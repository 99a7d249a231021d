"""How good verdicts are, by false alarms and power: `make bench-verdict`.

    aa        a server against itself, five instances per block; each head is judged as its own gate
    paused    the same for writing workloads, with idle servers stopped
    power     servers stopped for known shares of every 100 ms (injector.py)
    replay    recorded A/A cells with losses added, at their own and at lower noise
    gate      which of the regressions of aa, paused, power and replay fail the gate of a new runner
    simulated whole gates with known noise and losses (simulated.py); measures nothing

Results go to reports/verdict/ as they come and are not measured again: stop and continue as you like.
Everything takes seven and a half hours, on an otherwise idle machine. Prints Markdown. The published runs are
in reports/showcase/verdict/, without latencies and counters; --recorded judges them again.
"""

# needs: mvn

from __future__ import annotations

import argparse
import lzma
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from lab.showcase import record
from lab.verdict import judging, simulated
from shootout.analysis import stats
from shootout.document import journal
from shootout.model.plan import Policy
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict
from shootout.paths import REPORTS, ROOT, cache_folder

FOLDER = REPORTS / "verdict"
RECORDED = REPORTS / "showcase" / "verdict"
SERVERS = ("mysql-8.0.12", "mysql-5.7.22", "mariadb-10.11")
LOSSES = (0.01, 0.02, 0.03, 0.05, 0.10)
STOPPED = 0.005  # the share for which the base is stopped (injector.py)
WRITTEN = (0.03, 0.05, 0.10, 0.15, 0.25)
POLICY = Policy()
NEW_RUNNER = Policy(false_alarms_max=0.05)
CONFIRMING = 2

AA = """
description = "A server against itself: every cell is an A/A cell"
workloads = [{workloads}]
threads = [1, 4, 16]
settings = "in-memory"
[sampling]
isolation = "{isolation}"
starts_min = 7
starts_max = 7
measure_s = 1.2
budget_s = 7200.0
[policy]
confirm_starts = 0 # the last starts of every block serve as confirmation
"""
AA_COPIES = 5
READING, WRITING = '"oltp_point_select", "oltp_read_only"', '"oltp_update_index", "oltp_read_write"'
AGAINST_THEMSELVES = {"aa": (f"{READING}, {WRITING}", "share", 5), "paused": (WRITING, "pause", 3)}
POWER = """
description = "Heads that are slower by known shares"
workloads = ["oltp_point_select", "oltp_read_only", "oltp_update_index", "oltp_read_write"]
threads = [1, 8]
settings = "in-memory"
[sampling]
isolation = "share" # only the injector may stop and wake servers
starts_min = 14
starts_max = 14
measure_s = 4.3 # sixty seconds of each server in total
budget_s = 7200.0
[policy]
confirm_starts = 0
"""
POWER_RUNS, POWER_STARTS = 2, 14
MEASURED_S = (30.0, 120.0)  # per cell: base and head together, over all starts
DEDICATED = (0.004, 0.009)  # standard deviations of a dedicated machine's results


def main() -> None:
    parts: dict[str, Callable[[Records], Iterator[str]]] = {
        "aa": lambda records: false_alarms(against_themselves(records, "aa")),
        "paused": lambda records: false_alarms(against_themselves(records, "paused")),
        "power": power,
        "replay": replay,
        "gate": new_runner,
        "simulated": lambda records: simulated.tables(),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(parts), help="default: %(default)s")
    parser.add_argument("--recorded", action="store_true", help="judge the published runs again")
    parser.add_argument("--publish", action="store_true", help="copy what was measured to the published runs")
    given = parser.parse_args()
    records = Records(recorded=given.recorded, publish=given.publish)
    for name in given.parts.split(","):
        print(f"\n### {name}\n")
        for line in parts[name](records):
            print(line, flush=True)


@dataclass(frozen=True)
class Records:
    """The runs: published ones, or measured ones and those measured now."""

    recorded: bool = True
    publish: bool = False

    def run(self, name: str, profile: str, servers: Sequence[str], seed: int) -> RunDocument:
        """The document of a run."""
        published, folder = RECORDED / f"{name}.jsonl.xz", FOLDER / name
        if self.recorded:
            return journal.read(published)
        found = _whole(folder)
        if found is None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "profile.toml").write_text(profile)
            command = [sys.executable, "-m", "shootout.cli", "run", "--profile", str(folder / "profile.toml")]
            command += ["--servers", ",".join(servers), "--seed", str(seed), "--out", str(folder)]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            found = _whole(folder)
            if found is None:
                raise SystemExit(f"`{' '.join(command)}` ended with exit code {done.returncode}")
        if self.publish:
            published.parent.mkdir(parents=True, exist_ok=True)
            short = record.placeless(judging.bare(found))
            published.write_bytes(lzma.compress(journal.encoded(short)))
        return found

    def has(self, name: str) -> bool:
        """Whether the run is available: not every run was published."""
        return not self.recorded or (RECORDED / f"{name}.jsonl.xz").exists()

    def file(self, name: str) -> Path:
        """Find a small file beside the runs."""
        published, measured = RECORDED / name, FOLDER / name
        measured.parent.mkdir(parents=True, exist_ok=True)
        if self.publish and measured.exists():
            published.parent.mkdir(parents=True, exist_ok=True)
            published.write_bytes(measured.read_bytes())
        return published if self.recorded else measured


def _whole(folder: Path) -> RunDocument | None:
    """Find the folder's complete run."""
    every = map(journal.read, journal.find(folder / "results"))
    return next((run for run in every if run.end is not None and not run.end.interrupted), None)


# --- a server against itself ----------------------------------------------------------------------


def against_themselves(records: Records, name: str) -> Iterator[RunDocument]:
    """A/A runs, of another server each."""
    workloads, isolation, runs = AGAINST_THEMSELVES[name]
    profile = AA.format(workloads=workloads, isolation=isolation)
    for number in range(runs):
        server = SERVERS[number % len(SERVERS)]
        if records.has(f"{name}-{number + 1}"):
            yield records.run(f"{name}-{number + 1}", profile, [server] * AA_COPIES, seed=number + 1)


def false_alarms(documents: Iterable[RunDocument]) -> Iterator[str]:
    """Count how often a server was called slower or faster than itself."""
    gates = [_confirmed(gate) for document in documents for gate in judging.heads(document)]
    for title, confirming in (("before confirmation", False), ("after it", True)):
        found = [cell for gate in gates for cell in judging.cells(gate, POLICY, confirming=confirming)]
        alarms = [cell for cell in found if cell.verdict in judging.CHANGED]
        rate = stats.wilson(len(alarms), len(found), POLICY.confidence)
        counts = Counter(str(cell.verdict) for cell in found)
        alarm_rate = f"{len(alarms)} of {len(found)} cells, {percent(rate.low, rate.high)}"
        yield f"- {title}: {alarm_rate}; {dict(counts)}"
        covering = [cell.ratio.low <= 1 <= cell.ratio.high for cell in found if cell.ratio is not None]
        yield f"  - intervals that include no change: {share(covering)}"
        for cell in alarms:
            yield f"  - {cell.cell.server}, {cell.cell.workload}, {cell.cell.threads} threads: {cell.reason}"
    yield from variances(gates)


def variances(gates: Sequence[RunDocument]) -> Iterator[str]:
    """List what limits the width of intervals: standard deviations of the log-ratio."""
    yield ""
    yield from head("", "threads", "one round", "all rounds of a start", "the restart", "a start")
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for gate in gates:
        for block in gate.header.blocks:
            if each := judging.variances(gate, block):
                found.setdefault((block.workload, block.threads), []).append(each)
    for (workload, threads), every in sorted(found.items()):
        single, of_rounds, of_start = np.mean(every, axis=0).tolist()
        columns = (single, of_rounds, max(of_start, 0.0), max(of_rounds + of_start, 0.0))
        yield row(workload, threads, *(f"{100 * math.sqrt(variance):.1f} %" for variance in columns))


# --- losses of known size -------------------------------------------------------------------------


def power_documents(records: Records) -> Iterator[tuple[RunDocument, dict[str, float]]]:
    """Runs of slowed servers, another one each, with the shares for which each place was stopped."""
    for number in range(POWER_RUNS):
        server = SERVERS[number % len(SERVERS)]
        name = f"power-{number + 1}"
        if not records.has(name):
            continue
        log = records.file(f"{name}-injected.jsonl")
        with nullcontext() if records.recorded else slowed(log):
            document = records.run(name, POWER, [server] * (1 + len(LOSSES)), seed=number + 1)
        yield document, stopped(log)


def power(records: Records) -> Iterator[str]:
    """Count how often a real loss is found, and whether the interval covers it."""
    found: dict[tuple[float, float], list[bool]] = {}
    covered: dict[float, list[bool]] = {}
    estimates: dict[float, list[float]] = {}
    gates: list[RunDocument] = []
    for document, injected in power_documents(records):
        gates += judging.heads(document)
        for place, gate in enumerate(judging.heads(document), 1):
            loss = LOSSES[place - 1]
            truth = (1 - injected[str(place)]) / (1 - injected["0"])
            for seconds in MEASURED_S:
                judged = _of_length(gate, seconds)
                found.setdefault((loss, seconds), []).extend(
                    cell.verdict is Verdict.REGRESSED
                    for cell in judging.cells(judged, POLICY, confirming=True)
                )
            for cell in judging.cells(gate, POLICY, confirming=True):
                if cell.ratio is not None:
                    covered.setdefault(loss, []).append(cell.ratio.low <= truth <= cell.ratio.high)
                    estimates.setdefault(loss, []).append(cell.ratio.estimate / truth - 1)
    yield from head("injected", *(f"found in {seconds:g} s" for seconds in MEASURED_S), "covered", "bias")
    for loss in LOSSES:
        rates = [share(found[loss, seconds]) for seconds in MEASURED_S]
        off = stats.mean_interval(estimates[loss], POLICY.confidence)
        bias_ = f"{100 * off.estimate:+.2f} % ({100 * off.low:+.2f} to {100 * off.high:+.2f})"
        yield row(f"{100 * loss:g} %", *rates, share(covered[loss]), bias_)
    yield from variances(gates)


@contextmanager
def slowed(log: Path) -> Iterator[None]:
    """Run the injector: each head loses a share relative to the base and its A/A control."""
    heads = [f"{place}={1 - (1 - loss) * (1 - STOPPED)}" for place, loss in enumerate(LOSSES, 1)]
    targets = [f"0={STOPPED}", f"control={STOPPED}", *heads]
    command = [sys.executable, "-m", "benchmarks.verdict.injector", str(cache_folder()), str(log), *targets]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment)
    try:
        yield
        if process.poll() is not None:
            raise SystemExit("the injector has ended: it needs real-time scheduling (SCHED_FIFO)")
    finally:
        process.kill()
        process.wait()


def stopped(log: Path) -> dict[str, float]:
    """The share for which each server was actually stopped, over all its lives."""
    lines = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
    found = {}
    for place in {line["place"] for line in lines}:
        lives = [line for line in lines if line["place"] == place and line["seconds"] > 1]
        whole_s = sum(line["seconds"] for line in lives)
        found[place] = sum(line["stopped"] * line["seconds"] for line in lives) / whole_s
    return found


def replay(records: Records) -> Iterator[str]:
    """A/A cells with a loss added, at their own noise and at a dedicated machine's."""
    gates = [gate for document in against_themselves(records, "aa") for gate in judging.heads(document)]
    yield from head("loss", "as recorded", *(f"starts differ by {100 * noise:g} %" for noise in DEDICATED))
    for loss in LOSSES:
        rates = []
        for noise in (None, *DEDICATED):
            hits = [
                cell.verdict is Verdict.REGRESSED
                for gate in gates
                for cell in judging.cells(
                    _confirmed(judging.slower(gate, loss, noise)), POLICY, confirming=True
                )
            ]
            rates.append(share(hits))
        yield row(f"{100 * loss:g} %", *rates)


def new_runner(records: Records) -> Iterator[str]:
    """Count the regressions that fail the gate of a runner whose false-alarm rate is not known."""
    yield from head("", "cells", "regressed", "fail the gate")
    aa = [gate for document in against_themselves(records, "aa") for gate in judging.heads(document)]
    paused = [gate for document in against_themselves(records, "paused") for gate in judging.heads(document)]
    yield _failing("a server against itself", [*map(_confirmed, aa), *map(_confirmed, paused)])
    for loss in WRITTEN:
        slower = (_confirmed(judging.slower(gate, loss)) for gate in aa)
        yield _failing(f"{100 * loss:g} % written into these cells", slower)
    injected = [[*judging.heads(document)] for document, _ in power_documents(records)]
    for loss, gates in zip(LOSSES, zip(*injected, strict=True), strict=True):
        for seconds in MEASURED_S:
            shorter = (_of_length(gate, seconds) for gate in gates)
            yield _failing(f"{100 * loss:g} % injected, {seconds:g} s", shorter)


def _failing(name: str, gates: Iterable[RunDocument]) -> str:
    gates = list(gates)
    cells = sum(len(gate.header.blocks) for gate in gates)
    found = [fails for gate in gates for _, fails in judging.failing(gate, NEW_RUNNER)]
    return row(name, str(cells), str(len(found)), str(sum(found)))


def _confirmed(gate: RunDocument) -> RunDocument:
    return judging.with_starts(gate, 7 - CONFIRMING, CONFIRMING)


def _of_length(gate: RunDocument, seconds: float) -> RunDocument:
    """A gate of the power runs with so many seconds of measuring for each cell."""
    shorter = judging.shorter(gate, seconds / 2 / POWER_STARTS)
    return judging.with_starts(shorter, POWER_STARTS - CONFIRMING, CONFIRMING)


# --- wording --------------------------------------------------------------------------------------


def head(*columns: str) -> Iterator[str]:
    """The first two lines of a Markdown table."""
    yield row(*columns)
    yield "|" + "---|" * len(columns)


def row(*cells: object) -> str:
    return "|" + "|".join(f" {cell} " if cell != "" else " " for cell in cells) + "|"


def percent(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def share(hits: Sequence[bool] | Iterable[bool]) -> str:
    """A share with Wilson's interval."""
    values = list(hits)
    found = stats.wilson(sum(values), len(values), POLICY.confidence)
    return f"{100 * found.estimate:.0f} % ({percent(found.low, found.high)}, {len(values)} cells)"


if __name__ == "__main__":
    main()
