import math
import multiprocessing
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from shootout.analysis import ledger
from shootout.document import ledgers
from shootout.errors import InputError
from shootout.model.plan import Policy
from shootout.model.verdict import NO_ALARMS, Verdict
from tests.support.analysis.builders import a_document, an_entry
from tests.support.runs import PATIENCE_S


def test_entries_are_kept_once_for_each_run_and_apart_for_each_runner(tmp_path: Path) -> None:
    first, second = an_entry(run="r1"), an_entry(run="r2", verdict=Verdict.REGRESSED)
    ledgers.append(tmp_path / "ledger", "f1", [first])
    ledgers.append(tmp_path / "ledger", "f1", [first])
    ledgers.append(tmp_path / "ledger", "f1", [second, second])
    ledgers.append(tmp_path / "ledger", "f2", [])
    expected = tuple(structs.replace(each, runner="f1") for each in (first, second, second))
    assert ledgers.read(tmp_path / "ledger", "f1") == expected
    assert ledgers.read(tmp_path / "ledger", "f2") == ()
    assert [path.name for path in (tmp_path / "ledger").iterdir()] == ["f1.jsonl"]


def test_a_run_that_went_on_has_its_newest_entries(tmp_path: Path) -> None:
    first = [an_entry(run="r1", made=6), an_entry(run="r1", threads=8, made=6)]
    later = [an_entry(run="r1", made=9, verdict=Verdict.REGRESSED)]
    for entries in (first, [an_entry(run="r2", made=3)], later, first):
        ledgers.append(tmp_path, "f", entries)
    found = ledgers.read(tmp_path, "f")
    assert [(each.run, each.made, each.verdict) for each in found] == [
        ("r2", 3, first[0].verdict), ("r1", 9, Verdict.REGRESSED),
    ]  # fmt: skip


def test_a_torn_line_loses_only_itself(tmp_path: Path) -> None:
    ledgers.append(tmp_path, "f", [an_entry(run="r1"), an_entry(run="r1", threads=8)])
    file = ledgers.path_of(tmp_path, "f")
    file.write_bytes(file.read_bytes()[:-5])
    assert ledgers.read(tmp_path, "f") == (an_entry(run="r1", runner="f"),)
    ledgers.append(tmp_path, "f", [an_entry(run="r2")])
    assert ledgers.read(tmp_path, "f") == (an_entry(run="r1", runner="f"), an_entry(run="r2", runner="f"))


@pytest.mark.parametrize(
    ("bad", "more"),
    [
        (b'{"run": 1}\n', ""),
        (b"<<<<<<< HEAD\n=======\n", "; nor is 1 more of its lines"),
        (b"<<<<<<< HEAD\n=======\n>>>>>>> main\n", "; nor are 2 more of its lines"),
        (b"\xff\n", ""),
    ],
)
def test_bad_lines_are_left_out_and_said_once(tmp_path: Path, bad: bytes, more: str) -> None:
    ledgers.append(tmp_path, "f", [an_entry(run="r1")])
    file = ledgers.path_of(tmp_path, "f")
    file.write_bytes(file.read_bytes() + bad)
    ledgers.append(tmp_path, "f", [an_entry(run="r1"), an_entry(run="r2")])
    said: list[str] = []
    found = ledgers.read(tmp_path, "f", said.append)
    assert found == (an_entry(run="r1", runner="f"), an_entry(run="r2", runner="f"))
    (reason,) = said
    assert re.match(rf"{file}:2: not a ledger entry: ", reason)
    assert reason.endswith(more)
    assert ("nor" in reason) == bool(more)


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir])
def test_a_file_that_is_none_is_left_out_at_once(tmp_path: Path, put: Callable[[Path], None]) -> None:
    file = ledgers.path_of(tmp_path, "f")
    put(file)
    said: list[str] = []
    assert ledgers.read(tmp_path, "f", said.append) == ()
    assert said == [f"{file}: cannot be read: not a regular file"]
    with pytest.raises(InputError, match="cannot be written: "):
        ledgers.append(tmp_path, "f", [an_entry()])
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(InputError, match="cannot be written: "):
        ledgers.append(tmp_path, "f", [an_entry()])
    os.close(reader)


def test_a_ledger_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("")
    with pytest.raises(InputError, match="cannot be"):
        ledgers.append(tmp_path / "ledger", "f", [an_entry()])


def test_only_cells_of_earlier_runs_with_the_same_settings_count(tmp_path: Path) -> None:
    header = structs.replace(a_document([]).header, run="r2")
    ledgers.append(tmp_path / ledgers.FOLDER, header.runner.fingerprint, [an_entry(0.2, run="r1")])
    known = ledgers.Ledgers(tmp_path).entries(header)
    assert len(known) == 1
    assert ledger.earlier(header, known) == known
    for run in ("r0", "r1"):
        assert ledger.earlier(structs.replace(header, run=run), known) == []
    profile = structs.replace(header.profile, settings="production")
    assert ledger.earlier(structs.replace(header, profile=profile), known) == []


def test_the_spread_of_many_runs_is_that_of_all_their_starts() -> None:
    """Runs of 3 to 8 starts, each about a mean of its own."""
    rng = np.random.default_rng(1)
    entries = []
    for number in range(400):
        starts = rng.normal(rng.normal(0, 0.1), 0.02, rng.integers(3, 9))
        entries.append(an_entry(float(starts.std(ddof=1)), run=f"r{number}", starts=len(starts)))
    assert ledger.noise(entries)["throughput"].spread == pytest.approx(0.02, rel=0.05)


def test_spreads_are_those_of_the_same_cell_and_metric() -> None:
    entries = [
        an_entry(spread=0.01),
        an_entry(spread=0.5, threads=8),
        an_entry(spread=0.5, workload="writes"),
        an_entry(spread=0.5, dataset="large"),
        an_entry(spreads={"latency_p99": 0.3}),
    ]
    found = ledger.noise(ledger.by_kind(entries)["reads", "d", 4])
    assert {name: each.spread for name, each in found.items()} == pytest.approx(
        {"throughput": 0.01, "latency_p99": 0.3}
    )
    assert ledger.noise([]) == {}


def test_without_an_a_a_cell_all_are_wanting() -> None:
    assert ledger.cells_needed(NO_ALARMS, Policy(false_alarms_max=0.05)) == 73
    assert (
        ledger.cells_needed(structs.replace(NO_ALARMS, comparisons=7), Policy(false_alarms_max=0.05)) == 523
    )
    assert ledger.cells_needed(NO_ALARMS, Policy()) == 0


def test_false_alarms_are_counted_with_wilsons_interval() -> None:
    verdicts = [Verdict.EQUIVALENT] * 26 + [Verdict.INCONCLUSIVE, Verdict.REGRESSED, Verdict.IMPROVED]
    found = ledger.false_alarms([an_entry(verdict=verdict) for verdict in verdicts], Policy(), 1)
    assert (found.alarms, found.cells) == (2, 29)
    assert found.share.estimate == pytest.approx(2 / 29)
    assert 0 < found.share.low < 2 / 29 < found.share.high < 0.25
    one = ledger.false_alarms([an_entry(verdict=Verdict.REGRESSED)], Policy(), 1)
    assert math.isclose(one.share.high, 1.0)
    assert ledger.false_alarms([], Policy(), 1) == NO_ALARMS


def test_cells_that_were_judged_more_leniently_show_nothing() -> None:
    entries = [an_entry(margin=margin) for margin in (None, 0.01, 0.02, 0.02, 0.1)]
    for policy, cells in (
        (Policy(), 4),
        (Policy(margin=0.005), 1),
        (Policy(workloads={"reads": {"throughput": 0.2}}), 5),
    ):
        assert ledger.false_alarms(entries, policy, 1).cells == cells


@pytest.mark.parametrize(
    "otherwise", [{"rule": 0}, {"comparisons": 3}, {"confidence": 0.99}, {"confirm_starts": 0}], ids=str
)
def test_cells_that_were_judged_otherwise_do_not_count(otherwise: dict[str, Any]) -> None:
    entries = [an_entry(), an_entry(verdict=Verdict.REGRESSED, **otherwise)]
    found = ledger.false_alarms(entries, Policy(), 1)
    assert (found.alarms, found.cells) == (0, 1)


def test_a_gate_alarms_if_any_of_its_cells_does() -> None:
    entries = [an_entry(comparisons=7)] * 99 + [an_entry(comparisons=7, verdict=Verdict.IMPROVED)]
    found = ledger.false_alarms(entries, Policy(), 7)
    assert found.share.estimate == pytest.approx(1 - 0.99**7)


def test_what_lasts_through_a_run_is_part_of_its_noise() -> None:
    """Starts agree to 1 %, and runs differ by 3 %: no more of them makes an estimate better than that."""
    rng = np.random.default_rng(2)
    entries = [
        an_entry(run=f"r{n}", estimates={"throughput": float(rng.normal(0, math.hypot(0.03, 0.01 / 5**0.5)))})
        for n in range(400)
    ]
    found = ledger.noise(entries)["throughput"]
    assert found.lasting == pytest.approx(0.03, rel=0.1)
    assert found.deviation(4) == pytest.approx(math.hypot(found.lasting, 0.005))
    assert ledger.noise(entries[:2])["throughput"].lasting == 0  # too few to tell
    alike = [structs.replace(each, estimates={"throughput": 0.001}) for each in entries]
    assert ledger.noise(alike)["throughput"].lasting == 0


@pytest.mark.parametrize("fingerprint", ["../../x", "/etc/x", "a\0b", "..", "x" * 300])
def test_a_document_cannot_choose_the_file(tmp_path: Path, fingerprint: str) -> None:
    message = r"^runner\.fingerprint: expected letters and digits, found '"
    with pytest.raises(InputError, match=message):
        ledgers.read(tmp_path, fingerprint)
    with pytest.raises(InputError, match=message):
        ledgers.append(tmp_path, fingerprint, [an_entry()])


def test_runs_that_end_at_once_are_each_kept_once(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    together = fork.Barrier(4, timeout=PATIENCE_S)

    def add() -> None:
        for number in range(50):
            together.wait()
            ledgers.append(tmp_path, "f", [an_entry(run=f"r{number:02}")])

    processes = [fork.Process(target=add, daemon=True) for _ in range(together.parties)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE_S)
        assert process.exitcode == 0
    assert sorted(entry.run for entry in ledgers.read(tmp_path, "f")) == [f"r{n:02}" for n in range(50)]
