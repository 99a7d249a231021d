"""Whether an explanation names what changed, and nothing else: `make bench-explain`.

Two parts, each with what has been measured in files: what is there is not measured again.
- plans: servers that restart with new statistics, and changes that plans must show;
- time: `explain` of a server with a function more, and of a server against itself.
"""

# needs: mvn

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from benchmarks import preload
from benchmarks.explain import provoked
from benchmarks.showcase import screenshot
from shootout import app
from shootout.analysis import plan_changes
from shootout.document import journal
from shootout.explain import judge, measure
from shootout.explain.judge import Explained
from shootout.inputs.options import Selection
from shootout.measure import campaign, plans
from shootout.model.run import Progress
from shootout.model.statement_plan import StatementPlan
from shootout.numbers import number
from shootout.paths import ROOT
from shootout.report.site.names import cell_stem, run_folder
from shootout.servers import installations, instances, reference
from shootout.servers.fetch.packages import no_progress
from shootout.servers.instances import Instance
from shootout.servers.native import Tree

SERVERS = ("mysql-8.0.33", "mysql-5.7.22")
RESTARTS = 20
PROFILED = "mysql-8.0.33"
WORKLOADS = {"oltp_point_select": 1, "oltp_read_write": 20}  # with commands in each transaction
THREADS = 2
SHARE = 0.03  # of a transaction's CPU time
BUDGET_S = 60.0  # for an explanation
PICTURE_HEIGHT = 590  # CSS pixels
PROFILE = """\
description = "Cells to explain"
workloads = ["{workloads}"]
threads = [{threads}]
[dataset]
tables = 1
rows = 10_000
[sampling]
starts_min = 1
starts_max = 1
measure_s = 0.3
warmup_max_s = 3.0
"""


def main() -> None:
    """Measure what is missing, for some minutes, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="plans,time")
    parser.add_argument("--runs", type=int, default=10, help="of each kind in time")
    parser.add_argument("--minutes", type=float, default=20.0, help="begin nothing after so many")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-explain"))
    parser.add_argument("--picture", type=int, metavar="RUN", help="of this run of time, for docs/explain.md")
    args = parser.parse_args()
    if args.picture:
        print(picture(args.out.absolute() / "time", args.picture))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    ends_s = time.monotonic() + 60 * args.minutes
    for part in args.parts.split(","):
        for step in PARTS[part](args.out.absolute() / part, args.runs):
            if time.monotonic() > ends_s:
                sys.exit(f"{part}: {step} and what follows is missing; the same command goes on")
    for part in args.parts.split(","):
        TABLES[part](args.out.absolute() / part, args.runs)


# --- plans ----------------------------------------------------------------------------------------


def measure_plans(out: Path, _: int) -> Iterator[str]:
    """Every server's plans after restarts and after changes, in a file for each server."""
    out.mkdir(exist_ok=True)
    for name in SERVERS:
        yield name
        if not (out / f"{name}.json").exists():
            with tempfile.TemporaryDirectory() as folder:
                tree = installations.find(reference.parse(name))
                assert isinstance(tree, Tree)
                found = _provoked(tree, Path(folder) / "instance")
            (out / f"{name}.json").write_text(json.dumps(found), "utf-8")


def _provoked(tree: Tree, home: Path) -> dict[str, object]:
    cases = provoked.of(tree.version)
    statements = {name: case.sql for name, case in cases.items()}
    restarts: list[list[StatementPlan]] = []
    instances.initialise(tree, home, provoked.OPTIONS)
    for restart in range(RESTARTS + 1):
        with instances.start(tree, home, provoked.OPTIONS) as server:
            if not restart:
                _each(server, provoked.TABLES)
            _each(server, provoked.WARM)
            restarts.append(_plans(server, statements, "base"))
    with instances.start(tree, home, provoked.OPTIONS) as server:
        _each(server, provoked.WARM)
        changes = {}
        for name, case in cases.items():
            before = _plans(server, {name: case.sql}, "base")
            _each(server, case.change)
            changes[name] = name in _changed(before, _plans(server, {name: case.sql}, "head"))
            _each(server, case.undo)
    return {
        "plans": sum(map(len, restarts)),
        "false": [kind for pair in pairwise(restarts) for kind in _changed(pair[0], pair[1])],
        "changes": changes,
    }


def _each(server: Instance, statements: tuple[str, ...]) -> None:
    for sql in statements:
        server.query(sql)


def _plans(server: Instance, statements: Mapping[str, str], label: str) -> list[StatementPlan]:
    return [*plans.planned(server, provoked.SCHEMA, statements, start=1, server=label)]


def _changed(before: list[StatementPlan], after: list[StatementPlan]) -> list[str]:
    """The kinds of statement with another plan; a label may be that of either."""
    both = [replace(each, server="base") for each in before] + [
        replace(each, server="head") for each in after
    ]
    return [each.kind for each in plan_changes.compared(both, "base", "head") if each.changed]


def show_plans(out: Path, _: int) -> None:
    """Print what the files have."""
    _head("server", "restarts", "plans", "false changes", "provoked", "flagged", "missed")
    for name in SERVERS:
        found = json.loads((out / f"{name}.json").read_text("utf-8"))
        missed = [name for name, flagged in found["changes"].items() if not flagged]
        count = len(found["changes"])
        _line(
            name, RESTARTS, found["plans"], len(found["false"]), count, count - len(missed), ", ".join(missed)
        )


# --- time -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Profiled:
    """One explanation, and what its function really took."""

    explained: Explained
    truth_s: float  # per transaction; 0: nothing was added


def measure_time(out: Path, runs: int) -> Iterator[str]:
    """Explanations of a server against itself, each followed by one with a function more."""
    size = preload.tree(out / "server", PROFILED)
    size.write(0)
    yield "a run"
    (out / "profile.toml").write_text(
        PROFILE.format(workloads='", "'.join(WORKLOADS), threads=THREADS), "utf-8"
    )
    if not (paths := journal.find(out)):
        servers = f"{PROFILED},injected=path:{out / 'server'},again={PROFILED}"
        chosen = Selection.read(profile=str(out / "profile.toml"), servers=servers)
        paths = (campaign.measure(app.plan(chosen), out, _say),)
    document = journal.read(paths[-1])
    for run in range(1, runs + 1):
        workload = _workload(run)
        for server in ("again", "injected"):
            yield f"{server}, run {run}"
            if (out / f"{server}-{run}.json").exists():
                continue
            results = out / f"{server}-{run}"
            if server == "injected":
                cpu = judge.read(_explanation(out / f"again-{run}")).cpu
                assert cpu is not None
                size.write(preload.pairs(SHARE * cpu.base / WORKLOADS[workload], out / "server"))
            cell = next(block.cell(server) for block in document.header.blocks if block.workload == workload)
            question = measure.Question(document, cell, results)
            measure.explain(question, measure.plan(question, BUDGET_S, os.environ, {}), _say)
            truth_s = WORKLOADS[workload] * size.taken_s if server == "injected" else 0.0
            (out / f"{server}-{run}.json").write_text(json.dumps(truth_s), "utf-8")


def show_time(out: Path, runs: int) -> None:
    """Print each run, and how often it was right."""
    _head("run", "workload", "CPU", "added", "named first", "found", "interval", "holds it", "named in A/A")
    for run in range(1, runs + 1):
        injected, again = (_profiled(out, f"{server}-{run}") for server in ("injected", "again"))
        cpu = injected.explained.cpu
        own = next((each for each in injected.explained.functions if each.name == preload.FUNCTION), None)
        first = next((each.name for each in injected.explained.named), "none")
        assert cpu is not None
        by = own.difference if own else None
        _line(
            run, _workload(run), _us(cpu.base),
            f"{_us(injected.truth_s)} ({injected.truth_s / cpu.base:.1%})",
            first, _us(by.estimate) if by else "", f"{_us(by.low)} to {_us(by.high)}" if by else "",
            "yes" if by and by.low <= injected.truth_s <= by.high else "no",
            ", ".join(each.name for each in (*again.explained.named, *again.explained.narrowed)) or "nothing",
        )  # fmt: skip


def picture(out: Path, run: int) -> Path:
    """The flame graph of a run with a function more, from the page of its cell."""
    results = out / f"injected-{run}"
    (document,) = journal.find(out)
    shutil.copy(document, results)
    app.publish(results, results / "site", (), no_progress)
    cell = judge.read(_explanation(results)).explanation.cell
    page = results / "site" / run_folder(journal.read(document).header.run) / f"{cell_stem(cell)}.html"
    return screenshot.shoot(page, ROOT / "docs" / "why-functions.png", PICTURE_HEIGHT, "flame")


def _workload(run: int) -> str:
    return [*WORKLOADS][run % len(WORKLOADS)]


def _profiled(out: Path, name: str) -> Profiled:
    return Profiled(
        judge.read(_explanation(out / name)), json.loads((out / f"{name}.json").read_text("utf-8"))
    )


def _explanation(results: Path) -> Path:
    (file,) = results.glob("explained/*/*.json")
    return file


def _us(seconds: float) -> str:
    return f"{number(1e6 * seconds)} µs"


PARTS = {"plans": measure_plans, "time": measure_time}
TABLES = {"plans": show_plans, "time": show_time}


def _say(progress: Progress) -> None:
    print(progress.detail, file=sys.stderr)


def _head(*names: str) -> None:
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def _line(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
