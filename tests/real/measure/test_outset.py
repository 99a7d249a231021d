"""The first lines of a command, on real servers that are not started."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from shootout import paths, steps
from shootout.document import ledgers
from shootout.inputs.options import Selection
from shootout.measure import outset
from shootout.measure.plan import Plan
from shootout.model.history import LedgerEntry
from shootout.model.verdict import Verdict
from shootout.runner import machine
from tests.support.runs import BASE, HEAD


def a_plan(**chosen: str) -> Plan:
    servers = f"{BASE},{HEAD}@sort_buffer_size=4M"
    return steps.plan(
        Selection.read(profile="quick", servers=servers, workloads="oltp_point_select", threads="1", **chosen)
    )


def test_what_is_compared_is_said_before_a_server_starts(tmp_path: Path) -> None:
    servers, settings, alone, time, loss = outset.lines(a_plan(), results=tmp_path)
    assert servers.startswith(f"Comparing {BASE} (build ")
    assert "innodb_buffer_pool_size = 512M, innodb_log_file_size and innodb_log_files_in_group" in settings
    assert alone == f"Settings that differ: sort_buffer_size = 4M on {HEAD}@sort_buffer_size=4M"
    assert time == "Time: at most 7 min for 1 cell"
    assert "unknown until" in loss


def test_a_short_budget_is_said() -> None:
    plan = steps.plan(Selection.read(profile="quick", budget="1"))
    (time,) = (line for line in outset.lines(plan, results=Path("none")) if line.startswith("Time"))
    assert time.startswith("Time: 1 min; 9 cells need about 5 min 28 s: first oltp_point_select-t1, the")


def test_the_loss_follows_from_the_noise_of_this_runner(tmp_path: Path) -> None:
    plan = a_plan()
    runner = machine.inspect(paths.cache_folder(), name="auto").fingerprint
    (cell,) = plan.blocks[0].cells[1:]
    entry = LedgerEntry(
        format=2, run="r1", runner=runner, workload=cell.workload, dataset=cell.dataset, threads=1,
        settings="in-memory", verdict=Verdict.EQUIVALENT, starts=12, spreads={"throughput": 0.02},
        estimates={"throughput": 0.0}, margin=0.02,
    )  # fmt: skip
    other = structs.replace(entry, run="r2", settings="production")
    ledgers.append(tmp_path / ledgers.FOLDER, runner, [entry, other])
    *_, loss = outset.lines(plan, results=tmp_path)
    assert loss == "Detectable loss: 2.5 % in 12 starts, by 1 A/A cell of this runner"
