import math
import re
import shutil
from datetime import date
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from shootout import app, cli
from shootout.analysis import acknowledgements, baseline, compare, gate
from shootout.document import baselines, journal
from shootout.errors import InputError
from shootout.model.plan import Block, Load
from shootout.model.run import RunDocument, SettingRecord, StartRecord
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict
from tests.support.analysis.builders import (
    CLOSE,
    READS,
    WRITES,
    a_document,
    a_server,
    an_entry,
    starts_of,
    with_header,
    with_profile,
    with_samples,
)
from tests.support.builders import a_record


def a_run(
    change_percent: float, run: str = "r1", starts: list[StartRecord] | None = None, **setting: str
) -> RunDocument:
    """`b` is so much faster than the anchor `a`."""
    setting = {"flush": "2"} | setting
    records = tuple(
        SettingRecord(name=k, requested=v, effective=v, differs=False) for k, v in setting.items()
    )
    servers = [a_server(label, settings=records) for label in ("a", "b")]
    document = a_document(starts or starts_of(change_percent), servers=servers)
    return with_header(document, run=run, workloads=(a_record("reads"),))


def accepted(folder: Path, document: RunDocument, runs: int = 3) -> Path:
    """So many runs with the same result; the last has the document's name."""
    for number in range(runs - 1, -1, -1):
        name = document.header.run if number == 0 else f"{document.header.run} less {number}"
        (path,) = baselines.accept(
            folder, baseline.baselines_of_run(compare.compare(with_header(document, run=name)))
        )
    return path


def against_baseline(folder: Path, document: RunDocument) -> Comparison:
    return baseline.compare(compare.compare(document), baselines.find(folder, document.header))


def head(folder: Path, document: RunDocument) -> CellComparison:
    return against_baseline(folder, document).cells[1]


def test_a_run_is_held_against_the_one_that_was_accepted(tmp_path: Path) -> None:
    """`b` is faster than the anchor, as before; and then by a tenth less."""
    accepted(tmp_path, a_run(20))
    same = head(tmp_path, a_run(20, "r2"))
    assert same.verdict is Verdict.EQUIVALENT
    worse = against_baseline(tmp_path, a_run(10, "r2"))
    cell = worse.cells[1]
    assert cell.verdict is Verdict.REGRESSED
    assert cell.base.server == "its baseline (3 runs)"
    assert cell.ratio is not None
    assert cell.ratio.estimate == pytest.approx(math.exp(-0.1), abs=0.002)
    assert cell.reason.startswith("9.5 % slower")
    assert ": it was 1.221 times a, the mean of 3 runs; the newest (" in cell.reason
    assert " in run r1, and is 1.105 times a (" in cell.reason
    assert gate.exit_code(worse) == 1
    assert gate.exit_code(against_baseline(tmp_path, a_run(20, "r2"))) == 0


@pytest.mark.parametrize("runs", [1, 2])
def test_fewer_than_three_runs_advise_and_fail_nothing(tmp_path: Path, runs: int) -> None:
    accepted(tmp_path, a_run(20), runs)
    for now, leaning in ((10, "slower"), (30, "faster")):
        found = against_baseline(tmp_path, a_run(now, "r2"))
        cell = found.cells[1]
        assert (cell.verdict, cell.leaning, gate.exit_code(found)) == (Verdict.INCONCLUSIVE, leaning, 0)
        assert f"a baseline of {runs} run" in cell.reason
    assert head(tmp_path, a_run(20, "r2")).verdict is Verdict.EQUIVALENT


def test_days_that_differ_make_the_interval_wider(tmp_path: Path) -> None:
    """By hand: ratios of 14, 20 and 26 %, so a spread of 6; a further run differs by t(2) * 6 * sqrt(4/3)."""
    for number, change in enumerate((14, 20, 26)):
        accepted(tmp_path, a_run(change, f"r{number}"), 1)
    cell = head(tmp_path, a_run(5, "r9"))
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert cell.ratio is not None
    half = math.log(cell.ratio.high / cell.ratio.low) / 2
    assert math.log(cell.ratio.estimate) == pytest.approx(-0.15, abs=1e-4)
    assert half == pytest.approx(4.3027 * 0.06 * math.sqrt(4 / 3), rel=1e-3)


def test_the_newest_eight_runs_are_kept(tmp_path: Path) -> None:
    path = accepted(tmp_path, a_run(20), 10)
    accepted(tmp_path, a_run(20), 1)  # again: it counts once
    stored = baselines.read(path)
    assert stored is not None
    assert [each.run for each in stored.cells[0].runs] == [*(f"r1 less {n}" for n in range(7, 0, -1)), "r1"]


def test_a_machine_that_got_slower_for_everyone_is_no_regression(tmp_path: Path) -> None:
    accepted(tmp_path, a_run(20))
    slow = with_samples(starts_of(20), lambda s: {"transactions": tuple(x / 2 for x in s.transactions)})
    assert head(tmp_path, a_run(0, "r2", slow)).verdict is Verdict.EQUIVALENT


def test_what_nothing_confirms_needs_no_confirmation_to_be_detectable(tmp_path: Path) -> None:
    path = accepted(tmp_path, a_run(0))
    assert path.exists()
    document = a_run(-1, "r2")

    def detectable(confirm_starts: int) -> float | None:
        policy = structs.replace(document.header.profile.policy, confirm_starts=confirm_starts)
        compared = compare.compare(document, policy)
        stored = baselines.find(tmp_path, document.header)
        return baseline.compare(compared, stored).cells[1].judged[0].detectable

    assert detectable(0) == detectable(2) is not None


def test_labels_do_nothing_to_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = msgspec.json.encode(a_run(20)).replace(b'"b"', b'"b\\u001b[2J[bold]"')
    path = tmp_path / "r1.jsonl"
    path.write_bytes(journal.encoded(msgspec.json.decode(text, type=RunDocument)))
    assert cli.main(["baseline", "accept", str(path), "--to", str(tmp_path / "baselines")]) == 0
    assert "reads, 4 threads: b␛[2J[bold] is " in capsys.readouterr().out


def test_a_baseline_that_only_advises_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for run in ("r1", "r2", "r3"):
        path = tmp_path / f"{run}.jsonl"
        path.write_bytes(journal.encoded(a_run(20, run)))
        assert cli.main(["baseline", "accept", str(path), "--to", str(tmp_path / "baselines")]) == 0
        said.append("only advises: days differ, and 3 accepted runs" in capsys.readouterr().out)
    assert said == [True, True, False]


def test_a_run_far_from_the_accepted_ones_is_accepted_only_by_force(tmp_path: Path) -> None:
    """It would make their spread so large that no loss shows any more. One run cannot tell what is far."""
    said: list[str] = []

    def accept(change_percent: float, run: str, *, force: bool = False) -> None:
        path = tmp_path / f"{run}.jsonl"
        path.write_bytes(journal.encoded(a_run(change_percent, run)))
        app.accept(path, tmp_path / "baselines", None, said.append, force=force)

    far = r"^reads, 4 threads: b is −30.9.% from its accepted runs; "
    accept(20, "r1")
    accept(-17, "r2")
    assert re.search(far, said.pop())
    shutil.rmtree(tmp_path / "baselines")
    for run in ("r1", "r2", "r3"):
        accept(20, run)
    with pytest.raises(InputError, match=far + r"nothing is stored\n.*--force"):
        accept(-17, "r4")
    assert head(tmp_path / "baselines", a_run(-17, "r9")).verdict is Verdict.REGRESSED
    accept(20.5, "r5")
    assert said == []
    accept(-17, "r4", force=True)
    assert head(tmp_path / "baselines", a_run(-17, "r9")).verdict is Verdict.INCONCLUSIVE


def test_without_a_baseline_nothing_is_judged_and_nothing_fails(tmp_path: Path) -> None:
    found = against_baseline(tmp_path, a_run(-50))
    assert found.cells[1].verdict is Verdict.UNJUDGED
    likely = tuple(structs.replace(cell, leaning="slower") for cell in compare.compare(a_run(-50)).cells)
    beside = structs.replace(compare.compare(a_run(-50)), cells=likely)
    assert baseline.compare(beside, {}).cells[1].leaning is None
    assert found.cells[1].reason.startswith(
        "no baseline for reads on this runner yet; accept one with `shootout"
    )
    assert gate.exit_code(found) == 0


def test_an_incompatible_baseline_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    def run(run: str = "r2", fingerprint: str = "f", *, setting: str = "2", **facts: str) -> RunDocument:
        document = a_run(20, run, flush=setting)
        facts = {"CPUs": "4", "memory": "16 GiB"} | facts
        runner = structs.replace(document.header.runner, fingerprint=fingerprint, facts=facts)
        return with_header(document, runner=runner, digests={"reads": "one"})

    path = accepted(tmp_path, run("r1"))
    assert head(path, run()).verdict is Verdict.EQUIVALENT
    anchor, server = (structs.replace(record, build="1" * 64) for record in run().header.servers)
    runner = run().header.runner
    elsewhere = structs.replace(runner, placement=structs.replace(runner.placement, servers=(2, 3)))
    large = Block(workload="reads", dataset="large", threads=4, servers=("a", "b"))
    unfit = "its baseline does not fit: "
    other = f"{unfit}runner f, now g (memory 16 GiB, now 32 GiB; disk none, now ssd)"
    cases = {
        f'{unfit}server a, flush "2", now "1"': run(setting="1"),
        f"{unfit}load ": with_profile(run(), load=Load(think_s=1.0)),
        f"{unfit}protocol ": with_header(run(), workloads=(a_record("reads", protocol="prepared"),)),
        f"{unfit}the anchor a is a different build": with_header(run(), servers=(anchor, server)),
        f"{unfit}placement load on CPU 0, servers on 1, now load on CPU 0, servers on 2,3": with_header(
            run(), runner=elsewhere
        ),
        f"{unfit}reads sends different statements": with_header(run(), digests={"reads": "two"}),
        "no baseline for this server, dataset": with_header(run(), blocks=(large,)),
        other: run("r2", "g", memory="32 GiB", disk="ssd"),
    }
    for expected, document in cases.items():
        cell = head(path, document)
        assert cell.verdict is Verdict.UNJUDGED
        assert cell.reason.startswith(expected), cell.reason
    # Also where baselines of all runners lie in one folder, and this one has none.
    assert head(tmp_path, cases[other]).reason == other


def test_another_build_of_the_server_itself_is_what_it_is_for(tmp_path: Path) -> None:
    accepted(tmp_path, a_run(20))
    document = a_run(10, "r2")
    anchor, server = document.header.servers
    patched = with_header(document, servers=(anchor, structs.replace(server, build="1" * 64)))
    assert head(tmp_path, patched).verdict is Verdict.REGRESSED


def test_noise_of_both_runs_is_the_floor(tmp_path: Path) -> None:
    """Each has one of 1.96 · 0.03 / √5; a loss of 4 % is within what both together show of nothing."""
    for spread, verdict in ((0.001, Verdict.REGRESSED), (0.03, Verdict.INCONCLUSIVE)):
        known = [an_entry(spread, run="r0")]
        folder = tmp_path / str(spread)
        for run in ("r1", "r1 b", "r1 c"):
            baselines.accept(
                folder, baseline.baselines_of_run(compare.compare(a_run(20, run), ledger_entries=known))
            )
        now = a_run(16, "r2")
        found = baseline.compare(
            compare.compare(now, ledger_entries=known), baselines.find(folder, now.header)
        )
        judged = found.cells[1].judged[0]
        assert judged.floor == pytest.approx(math.sqrt(2) * 1.96 * spread / math.sqrt(5), rel=1e-3)
        assert judged.verdict is verdict


def test_what_is_said_beside_the_anchor_is_not_said_of_a_baseline(tmp_path: Path) -> None:
    """`b` is 10 % slower than the anchor; that it was no slower before is another matter."""
    known = Acknowledgement(
        workload="*", server="b", at_most=0.15, expires=date(2030, 1, 1), owner="ann", reason="bug 1"
    )

    def judged(now: RunDocument, *acknowledged: Acknowledgement) -> Comparison:
        now = with_header(now, started="2026-11-21T00:00:00+00:00")
        against = baseline.compare(compare.compare(now), baselines.find(tmp_path, now.header))
        return acknowledgements.applied(against, acknowledged)

    accepted(tmp_path, a_run(0))
    now = a_run(-10, "r2")
    found = judged(now)
    cell = found.cells[1]
    assert (cell.verdict, cell.acknowledged, gate.exit_code(found)) == (Verdict.REGRESSED, None, 1)
    assert (cell.causes, cell.metrics, cell.statements) == ((), (), ())
    assert [warning.code for warning in cell.warnings] == ["noise-floor-unknown", "not-confirmed"]
    assert gate.exit_code(judged(now, known)) == 0
    assert judged(now, structs.replace(known, at_most=0.05)).cells[1].acknowledged is None
    (tmp_path / "f" / "reads.json").unlink()
    accepted(tmp_path, a_run(-10))
    same = judged(now).cells[1]
    assert (same.verdict, same.acknowledged, same.warnings) == (Verdict.EQUIVALENT, None, ())


def test_what_is_not_measured_anew_stays(tmp_path: Path) -> None:
    eight = Block(workload="reads", dataset="d", threads=8, servers=("a", "b"))
    first = a_run(20, "r1", starts_of(20) + starts_of(5, block=eight))
    path = accepted(tmp_path, with_header(first, blocks=(READS, eight)))
    accepted(tmp_path, a_run(10, "r2"))
    stored = baselines.read(path)
    assert stored is not None
    assert [(cell.threads, cell.runs[-1].run) for cell in stored.cells] == [(4, "r2"), (8, "r1")]
    lines = path.read_text().splitlines()
    assert sum('"threads":' in line for line in lines) == 2  # a line for each cell
    with pytest.raises(InputError, match=r'server a, flush "2", now "1"; delete the file to start again'):
        accepted(tmp_path, a_run(10, "r3", flush="1"))
    assert baselines.read(path) == stored


def test_the_anchor_is_the_same_though_it_failed_in_the_first_block(tmp_path: Path) -> None:
    """There `b` stands in for it, as the base of `c`."""
    servers = ("a", "b", "c")
    four, eight = (
        Block(workload="reads", dataset="d", threads=threads, servers=servers) for threads in (4, 8)
    )
    renamed = {"a": "b", "b": "c"}
    without = with_samples(starts_of(5, block=four), lambda s: {"server": renamed[s.server]})
    run = a_run(20, starts=[*without, *starts_of(20, block=eight)])
    run = with_header(run, blocks=(four, eight), servers=(*run.header.servers, a_server("c")))
    (found,) = baseline.baselines_of_run(compare.compare(run))
    assert (found.anchor, [(cell.server, cell.threads) for cell in found.cells]) == ("a", [("b", 8)])
    (other,) = baseline.baselines_of_run(compare.compare(run, base="b"), "b")
    assert other.anchor == "b"
    (path,) = baselines.accept(tmp_path, [found])
    with pytest.raises(InputError, match='anchor "a", now "b"; delete'):
        baselines.accept(tmp_path, [other])
    assert baselines.read(path) is not None


def test_what_was_not_steady_cannot_become_a_baseline() -> None:
    unsteady = with_samples(starts_of(20), lambda _: {"steady": False})
    for starts in (unsteady, starts_of(20, CLOSE[:1])):
        with pytest.raises(InputError, match="no cell can be a baseline"):
            baseline.baselines_of_run(compare.compare(a_run(20, "r1", starts)))


def test_other_workloads_of_the_run_have_their_own_files(tmp_path: Path) -> None:
    run = a_run(20, starts=[*starts_of(20), *starts_of(-5, block=WRITES)])
    both = with_header(run, blocks=(READS, WRITES), workloads=(a_record("reads"), a_record("writes")))
    paths = baselines.accept(tmp_path, baseline.baselines_of_run(compare.compare(both)))
    assert [path.relative_to(tmp_path) for path in paths] == [Path("f/reads.json"), Path("f/writes.json")]


@pytest.mark.parametrize("name", ["b.json", "baselinse", "fixturse/baselines"])
def test_a_misspelt_place_is_no_first_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: no such file or folder"):
        baselines.find(tmp_path / name, a_run(0).header)


def test_what_is_no_baseline_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"b\.json: not a baseline: "):
        baselines.find(path, a_run(0).header)
