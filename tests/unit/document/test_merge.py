"""Shards merged to one run: whatever their order and number, the same bytes; what is missing is seen."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shootout import cli
from shootout.analysis import baseline, compare, history, ledger
from shootout.document import baselines, journal, ledgers, merge, packed
from shootout.errors import InputError
from shootout.inputs import matrix
from shootout.model.plan import Block, Planned
from shootout.model.run import EndRecord, FailureRecord, RunDocument, RunHeader, Samples, StartRecord
from shootout.model.verdict import Interval, Verdict
from tests.mutations import sealed
from tests.support import builders
from tests.unit.measure.test_campaign import a_sample

BASE, HEAD = builders.BASE, builders.HEAD
WORKLOADS, THREADS = ("oltp_point_select", "oltp_read_write"), (1, 2, 4)
PLANNED = Planned(
    workloads=dict.fromkeys(WORKLOADS, "sbtest-4x25000-innodb"), threads=THREADS, servers=(BASE, HEAD)
)
BLOCKS = PLANNED.blocks


def a_header(number: int, blocks: Sequence[Block], **changes: Any) -> RunHeader:
    """Make the header of the shard that runner `number` has measured."""
    values: dict[str, Any] = {
        "run": f"20261120T02410{number}Z-00000{number}",
        "started": f"2026-11-20T02:41:0{number}+00:00",
        "seed": number,
        "runner": builders.a_runner(fingerprint=f"runner{number % 2}"),
        "blocks": tuple(blocks),
        "planned": PLANNED,
        "given": {"--shard": f"{number + 1}/9", "--data": f"/disk{number}"},
    }
    header = builders.a_header(workloads=WORKLOADS, threads=THREADS)
    return structs.replace(header, **(values | changes))


def records_of(block: Block) -> list[StartRecord | FailureRecord]:
    """Always the same of a block; in one of them the head fails."""
    found: list[StartRecord | FailureRecord] = []
    for start in (1, 2, 3):
        samples: tuple[Samples, ...] = tuple(a_sample(block, start, label) for label in (BASE, HEAD))
        if block == BLOCKS[4] and start == 3:
            found.append(FailureRecord(cell=block.cell(HEAD), start=3, reason="it died"))
            samples = samples[:1]
        aa_control = a_sample(block, start, "control") if block == BLOCKS[0] else None
        aa_control = structs.replace(aa_control, server=BASE) if aa_control else None
        order = ((0, 1),) * 8
        record = StartRecord(
            block=block.key, start=start, order=order, samples=samples, aa_control=aa_control, spent_s=1.0
        )
        found.append(record)
    return found


def an_end(number: int) -> EndRecord:
    return EndRecord(finished=f"2026-11-20T03:0{number}:00+00:00", elapsed_s=60.0, interrupted=False)


def saved(folder: Path, number: int, blocks: Sequence[Block], *, end: bool = True, **changes: Any) -> Path:
    """The document of runner `number`, with those blocks."""
    folder.mkdir()
    header = a_header(number, blocks, **changes)
    writer = journal.Writer(folder, header.run)
    writer.append(header)
    # As they are measured: start by start.
    for record in sorted((r for block in blocks for r in records_of(block)), key=lambda r: r.start):
        writer.append(record)
    if end:
        writer.append(an_end(number))
    return writer.path


def merged(paths: Iterable[Path], folder: Path) -> Path:
    return merge.merge(list(paths), folder, pytest.fail)


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return [saved(tmp_path / str(n), n, matrix.shard(BLOCKS, n + 1, 3)) for n in range(3)]


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_order_any_sharding_and_any_grouping_give_the_same_bytes(data: st.DataObject) -> None:
    """Runners have their blocks; how these were sharded on each, and what is merged first, does not show."""
    runner_of = data.draw(st.lists(st.integers(0, 3), min_size=len(BLOCKS), max_size=len(BLOCKS)))
    outcomes = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for attempt in range(2):
            waiting: list[Path] = []
            for number in sorted(set(runner_of)):
                mine = [block for block, runner in zip(BLOCKS, runner_of, strict=True) if runner == number]
                cuts = data.draw(st.lists(st.booleans(), min_size=len(mine), max_size=len(mine)))
                pieces: list[list[Block]] = [[]]
                for block, cut in zip(mine, cuts, strict=True):
                    if cut and pieces[-1]:
                        pieces.append([])
                    pieces[-1].append(block)
                for piece, blocks in enumerate(pieces):
                    waiting.append(saved(folder / f"{attempt}-{number}-{piece}", number, blocks))
            while len(waiting) > 1 or waiting[0].parent.name.count("-") == 2:
                waiting = data.draw(st.permutations(waiting))
                count = data.draw(st.integers(min(2, len(waiting)), len(waiting)))
                waiting = [merged(waiting[:count], folder / f"{attempt}-{len(waiting)}"), *waiting[count:]]
            outcomes.add((waiting[0].name, waiting[0].read_bytes()))
    assert len(outcomes) == 1


def test_shards_of_old_and_new_are_one_run(shards: list[Path], tmp_path: Path) -> None:
    """The runner that measured the first one has a shootout of 23 November 2026."""
    new = merged(shards, tmp_path / "new").read_bytes()
    written = shards[0].read_text().replace('-innodb"', '-innodb-seed1"')
    records = list(map(json.loads, written.splitlines()))
    records[0]["format"] = 4
    records[0]["profile"]["sampling"]["calibrated"] = True
    shards[0].write_bytes(sealed(records))
    assert merged(shards, tmp_path / "mixed").read_bytes() == new


def test_a_merged_run_holds_every_record_once_block_by_block(shards: list[Path], tmp_path: Path) -> None:
    path = merged([*shards, shards[0]], tmp_path / "out")
    found = journal.read(path)
    assert found.header.blocks == BLOCKS
    assert journal.is_original(path, found.header.run)
    expected = [record for block in BLOCKS for record in records_of(block)]
    starts = tuple(record for record in expected if isinstance(record, StartRecord))
    assert found == packed.rounded(structs.replace(found, starts=starts))
    assert list(found.failures) == [record for record in expected if isinstance(record, FailureRecord)]
    assert found.header.given == {}
    assert (found.header.started, found.header.planned) == ("2026-11-20T02:41:00+00:00", None)
    assert [part.run for part in found.header.parts] == [
        f"20261120T02410{number}Z-00000{number}" for number in range(3)
    ]
    assert [key for part in found.header.parts for key in part.blocks] == [block.key for block in BLOCKS]
    assert found.end == EndRecord(finished="2026-11-20T03:02:00+00:00", elapsed_s=1260.0, interrupted=False)
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == [path.name]


def test_merging_again_replaces_what_was_incomplete(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = merged(shards[:2], out)
    assert [block.key for block in merge.missing(journal.read(first).header)] == [
        "oltp_read_write-t2", "oltp_read_write-t4"
    ]  # fmt: skip
    again = merged([first, shards[2]], out)
    assert again == first
    assert merge.missing(journal.read(again).header) == ()
    assert again.read_bytes() == merged(shards, tmp_path / "other").read_bytes()


def test_latencies_that_cannot_be_read_are_left_out(shards: list[Path], tmp_path: Path) -> None:
    document = journal.read(shards[0])
    start = document.starts[0]
    samples = tuple(structs.replace(each, latencies="HISTF") for each in start.samples)
    odd = structs.replace(document, starts=(structs.replace(start, samples=samples),))
    shards[0].write_bytes(journal.encoded(odd))
    skipped: list[str] = []
    merge.merge(shards, tmp_path / "out", skipped.append)
    assert skipped == [f"run {document.header.run}: not a histogram: Invalid input length: 5"]


def refused(paths: Sequence[Path], folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        merged(paths, folder)
    assert not folder.exists() or list(folder.iterdir()) == []
    return str(caught.value)


def test_a_document_of_another_run_is_refused_with_the_difference(shards: list[Path], tmp_path: Path) -> None:
    profile = a_header(3, BLOCKS[:1]).profile
    sampling = structs.replace(profile.sampling, slice_s=0.2)
    other = saved(tmp_path / "x", 3, BLOCKS[:1], profile=structs.replace(profile, sampling=sampling))
    expected = f"{other}: not of the same run as {shards[1]}: profile sampling slice_s 0.1, now 0.2"
    assert refused([shards[1], other], tmp_path / "out") == expected
    server = structs.replace(builders.a_server(HEAD), build="1" * 64)
    other = saved(tmp_path / "y", 3, BLOCKS[:1], servers=(builders.a_server(BASE), server))
    assert f"not of the same run as {shards[1]}: server {HEAD} build " in refused(
        [shards[1], other], tmp_path / "out"
    )
    other = saved(tmp_path / "z", 3, BLOCKS[:1], planned=structs.replace(PLANNED, threads=(1, 2)))
    assert refused([shards[1], other], tmp_path / "out").endswith(": different blocks")


def test_a_block_that_two_have_measured_is_refused(shards: list[Path], tmp_path: Path) -> None:
    other = saved(tmp_path / "x", 3, BLOCKS[1:3])
    assert refused([*shards, other], tmp_path / "out") == (
        f"{other}: block 'oltp_point_select-t2' was also measured in {shards[0]}; leave one of them out"
    )


def test_a_copy_is_no_second_shard(shards: list[Path], tmp_path: Path) -> None:
    same, cut = tmp_path / "copy.jsonl", tmp_path / "cut.jsonl"
    same.write_bytes(shards[0].read_bytes())
    cut.write_bytes(b"".join(shards[1].read_bytes().splitlines(keepends=True)[:-1]))
    skipped: list[str] = []
    path = merge.merge([same, cut, *shards], tmp_path / "out", skipped.append)
    assert skipped == [f"{cut}: not the same as {shards[1]}, which is of the same run"]
    assert path.read_bytes() == merged(shards, tmp_path / "other").read_bytes()


def test_what_is_torn_or_foreign_is_named_and_left_out(shards: list[Path], tmp_path: Path) -> None:
    torn, foreign = tmp_path / "torn.jsonl", tmp_path / "foreign.jsonl"
    lines = shards[2].read_bytes().splitlines(keepends=True)
    torn.write_bytes(b"".join((*lines[:2], *lines[3:])))
    foreign.write_text("{}\n")
    skipped: list[str] = []
    path = merge.merge([foreign, *shards[:2], torn], tmp_path / "out", skipped.append)
    assert skipped == [
        f"{foreign}: not a run document: written in format 1, which only an older shootout reads",
        f"{torn}:3: changed, or not a line of this document",
    ]
    assert path.read_bytes() == merged(shards[:2], tmp_path / "other").read_bytes()
    with pytest.raises(InputError, match=r"^nothing to merge: none of the files is a run document$"):
        merge.merge([foreign], tmp_path / "none", skipped.append)


ENDLESS = Planned(
    workloads={f"w{number}": "d" for number in range(300)}, threads=tuple(range(1, 301)), servers=(BASE,)
)
NO_TIME = ": not a time at which a run can start or finish: "


@pytest.mark.parametrize(
    ("blocks", "changes", "expected"),
    [
        ((), {}, ":1: the run has no blocks"),
        (BLOCKS[:1], {"planned": ENDLESS}, f":1: planned: more than {merge.BLOCKS_MAX} blocks"),
        *(
            (BLOCKS[:1], {"started": text}, NO_TIME)
            for text in ("", "yesterday", "0001-01-01T00:00:00+14:00")
        ),
    ],
)
def test_a_document_that_cannot_be_merged_is_named(
    blocks: Sequence[Block], changes: dict[str, Any], expected: str, shards: list[Path], tmp_path: Path
) -> None:
    odd = saved(tmp_path / "odd", 3, blocks, **changes)
    skipped: list[str] = []
    merge.merge([odd, *shards], tmp_path / "out", skipped.append)
    (said,) = skipped
    assert said.startswith(f"{odd}{expected}")


def test_a_folder_that_takes_no_files_is_named(shards: list[Path]) -> None:
    with pytest.raises(InputError, match=r"^/proc/.*\.jsonl\.xz: cannot be written: "):
        merged(shards, Path("/proc"))


@pytest.fixture
def whole(shards: list[Path], tmp_path: Path) -> RunDocument:
    return journal.read(merged(shards, tmp_path / "out"))


def verdicts(read: RunDocument) -> Mapping[tuple[str, int], Verdict]:
    cells = (each for each in compare.compare(read).cells if each.cell.server == HEAD)
    return {(each.cell.workload, each.cell.threads): each.verdict for each in cells}


def test_cells_of_missing_shards_are_unjudged(shards: list[Path], tmp_path: Path) -> None:
    found = journal.read(merged([shards[0], shards[2]], tmp_path / "out"))
    assert verdicts(found) == {
        ("oltp_point_select", 1): Verdict.EQUIVALENT,
        ("oltp_point_select", 2): Verdict.REGRESSED,
        ("oltp_point_select", 4): Verdict.UNJUDGED,
        ("oltp_read_write", 1): Verdict.UNJUDGED,
        ("oltp_read_write", 2): Verdict.FAILED,
        ("oltp_read_write", 4): Verdict.EQUIVALENT,
    }
    assert found.end is not None
    assert found.end.interrupted


def test_a_shard_that_was_cut_short_is_a_doubt_about_its_cells_only(
    shards: list[Path], tmp_path: Path
) -> None:
    short = saved(tmp_path / "short", 2, matrix.shard(BLOCKS, 3, 3), end=False)
    comparison = compare.compare(journal.read(merged([*shards[:2], short], tmp_path / "out")))
    doubted = [each.cell for each in comparison.cells if "interrupted" in {one.code for one in each.warnings}]
    assert {(cell.workload, cell.threads) for cell in doubted} == {
        ("oltp_read_write", 2),
        ("oltp_read_write", 4),
    }


def test_each_runner_learns_from_its_own_blocks(whole: RunDocument, tmp_path: Path) -> None:
    assert [runner.fingerprint for runner in whole.header.runners] == ["runner0", "runner1"]
    assert [warning.code for warning in whole.header.runner.warnings][-1] == "several-runners"
    comparison = compare.compare(whole)
    assert {series.runner for series in history.series([comparison])} == {"runner0", "runner1"}
    entries = ledger.entries_of_run(whole.header, comparison.policy, (), comparison.aa_controls)
    ledgers.record(tmp_path, entries)
    (entry,) = ledgers.read(tmp_path, "runner0")
    assert (entry.run, entry.threads) == ("20261120T024100Z-000000", 1)
    assert ledgers.read(tmp_path, "runner1") == ()
    later = structs.replace(whole.header, run="later")
    assert ledger.earlier(later, [entry]) == []  # a run is no witness for itself
    assert ledger.earlier(structs.replace(later, parts=()), [entry]) == [entry]


def test_a_noise_floor_is_that_of_the_runner(whole: RunDocument) -> None:
    """The noise of another machine does not count."""
    block = BLOCKS[1]  # of runner0
    policy, controls = whole.header.profile.policy, compare.compare(whole).aa_controls
    entry = ledger.entries_of_run(whole.header, policy, (), controls)[0]
    wide = structs.replace(entry, run="0", threads=block.threads, spreads={"throughput": 0.5})
    noisy = [structs.replace(wide, runner=runner) for runner in ("runner1", "runner0")]
    for earlier, verdict in ((noisy[:1], Verdict.REGRESSED), (noisy, Verdict.INCONCLUSIVE)):
        cells = compare.compare(whole, ledger_entries=earlier).cells
        assert [each.verdict for each in cells if each.cell == block.cell(HEAD)] == [verdict]


def test_baselines_are_kept_for_each_runner(whole: RunDocument, tmp_path: Path) -> None:
    records = tuple(builders.a_record(name) for name in WORKLOADS)
    whole = structs.replace(whole, header=structs.replace(whole.header, workloads=records))
    comparison = compare.compare(whole)
    paths = baselines.accept(tmp_path, baseline.baselines_of_run(comparison))
    names = {f"runner{number}/{name}.json" for number in (0, 1) for name in WORKLOADS}
    assert {str(path.relative_to(tmp_path)) for path in paths} == names
    held = baseline.compare(comparison, baselines.find(tmp_path, whole.header))
    told = [cell for cell in held.cells if cell.cell.server == HEAD and cell.verdict is not Verdict.FAILED]
    assert len(told) == 5
    assert all(isinstance(cell.ratio, Interval) for cell in told), [cell.reason for cell in told]


def test_shards_beside_the_run_that_they_became_do_not_count_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    paths = [saved(tmp_path / str(n), n, matrix.shard(BLOCKS, n + 1, 3)) for n in range(3)]
    results.mkdir()
    here = [path.rename(results / path.name) for path in paths]
    merged(here[1:], results)  # the first was late, and began before the others
    found = journal.read(merged(here, results))
    assert len(journal.find(results)) == 5
    assert cli.main(["history", "--results", str(results), "--json"]) == 0
    series = json.loads(capsys.readouterr().out)
    assert {point["run"] for each in series for point in each["points"]} == {found.header.run}
    assert [len(each["points"]) for each in series] == [1] * 5


def test_merge_says_what_is_missing(
    shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(shards[1].read_bytes()[:100])
    command = ["merge", str(shards[0]), str(torn), "--out", "out"]
    assert cli.main(command) == 1  # a regression is the worse news
    printed = capsys.readouterr()
    assert "○ unjudged" in printed.out
    missing = [block.cell(HEAD).name for block in BLOCKS[2:]]
    assert f"Not measured, its shard is missing: {', '.join(missing)}\n" in printed.out
    assert f"report        {(tmp_path / 'out' / 'site' / 'index.html').as_uri()}\n" in printed.out
    assert printed.err.splitlines() == [f"shootout: left out: {torn}: not a run document: no complete line"]
    alike = saved(tmp_path / "alike", 3, BLOCKS[:1])
    assert cli.main(["merge", str(alike), "--out", "alike"]) == 3
