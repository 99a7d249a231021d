"""Documents last: no schema changes without a new number, and what older ones say stays the same.

`recorded/` has runs as they lay on disk, with fewer starts, rounds and counters: the kinds of format 4 until
24 and 25 November 2026 and after, then formats 5 and 6. The second is the first under another date, as
56023fa rewrote it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec import structs

from shootout import capability, cli
from shootout.analysis import baseline, compare, history
from shootout.document import baselines, compatibility, formats, journal, ledgers, merge, packed
from shootout.document.formats import Format
from shootout.errors import InputError
from shootout.model.history import Baseline, LedgerEntry
from shootout.model.run import RunHeader
from shootout.report import wording
from tests.support import schemas

HERE = Path(__file__).parent
RECORDED = sorted((HERE / "recorded").glob("*.jsonl"))
OLDEST, SECOND, _, FORMER, NEWEST = RECORDED
FIGURES = HERE / "recorded" / "figures.txt"

STORES = {each.name: each.store for each in capability.every() if each.store is not None}
KINDS: dict[str, tuple[Format, Any]] = {
    "run": (formats.RUN, journal.Record),
    "baseline": (formats.BASELINE, Baseline),
    "ledger": (formats.LEDGER, LedgerEntry),
    **{name: (store.format, store.type) for name, store in STORES.items()},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_changes_with_its_number_only(kind: str, tmp_path: Path) -> None:
    format_, type_ = KINDS[kind]
    folder = HERE.parent / kind if kind in STORES else HERE
    schemas.require_unchanged(kind, format_.number, type_, folder / "golden", tmp_path)
    assert any(f'.format {{"enum": [{format_.number}]}}' in line for line in schemas.fields(type_))


def test_there_are_recorded_documents_of_every_number() -> None:
    ways_up = formats.RUN.ways_up
    oldest = formats.RUN.number - len(ways_up)
    numbers = {next(journal.lines(path)).format for path in RECORDED}
    assert numbers == {*range(oldest, journal.FORMAT + 1)}
    assert get_args(get_type_hints(RunHeader)["format"]) == (journal.FORMAT,) == (formats.RUN.number,)


@pytest.mark.parametrize("format_", [format_ for format_, _ in KINDS.values()], ids=KINDS)
def test_a_newer_document_says_what_to_do(format_: Format) -> None:
    newer = format_.number + 1
    with pytest.raises(ValueError, match=rf"^written by a newer shootout \(format {newer}\): update"):
        format_.document(json.dumps({"format": newer}).encode(), RunHeader)


def test_ways_up_take_a_record_to_the_number_of_today() -> None:
    def more(record: formats.Record) -> formats.Record:
        return {"x": record["x"] + 1}

    counting = Format(4, (more, more))
    assert [counting.record(b'{"x": 0}', dict, number) for number in (2, 3, 4)] == [
        {"x": 2}, {"x": 1}, {"x": 0},
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"^no record of format 3$"):
        counting.record(b'{"y": 0}', dict, 3)
    with pytest.raises(ValueError, match=r"^written in format 1, which only an older shootout reads$"):
        counting.document(b"{}", RunHeader)


def test_a_run_keeps_plans_which_a_changed_cell_says_first() -> None:
    assert [cell.plans for cell in compare.compare(journal.read(FORMER)).cells if cell.plans] == []
    (_, cell) = compare.compare(journal.read(NEWEST)).cells
    ((changed,),) = (cell.plans,)
    assert (changed.kind, changed.changed) == ("missing", True)
    assert "; rows read 201 → 40\u202f100; " in wording.change_sentence(cell)


def figures(path: Path) -> Iterator[str]:
    """Yield a document's figures: identities, the series that it belongs to, verdicts and measures."""
    header = journal.read(path).header
    yield f"{header.run}: {json.dumps(header.digests)} {header.runner.fingerprint}"
    comparison = compare.compare(journal.read(path))
    for cell in comparison.cells:
        yield f"  {msgspec.json.encode(history.key_of(header, cell)).decode()}"
        if cell.figures is not None:
            latency = cell.figures.latency
            times = " ".join(
                f"{s:.4g}" for s in (latency.mean_s, latency.p50_s, latency.p95_s, latency.p99_s)
            )
            yield f"  {cell.figures.tps.estimate:.6g} transactions/s, {times} s, {cell.figures.starts} starts"
        if cell.ratio is not None:
            ends = " ".join(f"{end:.5f}" for end in (cell.ratio.estimate, cell.ratio.low, cell.ratio.high))
            yield f"  {cell.verdict} {ends}"


def test_recorded_documents_say_what_they_always_said(tmp_path: Path) -> None:
    found = "".join(f"{line}\n" for path in RECORDED for line in figures(path))
    (tmp_path / FIGURES.name).write_text(found)
    assert found == FIGURES.read_text(), f"cp {tmp_path / FIGURES.name} {FIGURES}"


def test_fingerprints_are_those_of_the_recorded_facts() -> None:
    for runner in (journal.read(path).header.runner for path in RECORDED):
        assert compatibility.fingerprint(runner.facts) == runner.fingerprint


def test_the_way_up_gives_what_was_once_rewritten_by_hand() -> None:
    first, second = map(journal.read, (OLDEST, SECOND))
    dated = {"run": first.header.run, "started": first.header.started}
    assert structs.replace(second, header=structs.replace(second.header, **dated), end=first.end) == first


def test_a_calibrated_run_had_slices_of_its_calibration() -> None:
    record = json.loads(OLDEST.read_bytes().partition(b"\n")[0])
    del record["digest"]
    record["runner"]["calibration"] = {"best": {"placement": "halves", "slice_s": 0.25}}
    record["profile"]["sampling"]["placement"] = "halves"
    record["planned"] = {"workloads": {"a": "tpcc-1w-innodb-seed7"}, "threads": [1], "servers": ["b"]}
    header = formats.RUN.record(json.dumps(record).encode(), RunHeader, 4)
    assert (header.profile.sampling.slice_s, header.profile.sampling.placement) == (0.25, "apart")
    assert header.planned is not None
    assert header.planned.workloads == {"a": "tpcc-1w-innodb"}


def test_baselines_and_ledgers_of_old_are_read(tmp_path: Path) -> None:
    """A cell had one run, keys of datasets had a seed, and a server's build was that of one binary."""
    (new,) = baseline.baselines_of_run(compare.compare(journal.read(FORMER)))
    current = json.loads(msgspec.json.encode(new))
    (cell,) = current["cells"]
    (run,) = cell.pop("runs")
    second = current | {"format": 2, "cells": [cell | {"dataset": f"{cell['dataset']}-seed1", "runs": [run]}]}
    first = current | {"format": 1, "cells": [cell | {"dataset": f"{cell['dataset']}-seed1"} | run]}
    path = tmp_path / "baseline.json"
    for old, builds in ((first, {""}), (second, {server.build for server in new.servers.values()})):
        path.write_text(json.dumps(old))
        read = baselines.read(path)
        assert read is not None
        assert {server.build for server in read.servers.values()} == builds
        assert structs.replace(read, servers=new.servers) == new
    entry = {"run": "r", "workload": "w", "dataset": "sbtest-4x25000-innodb-seed1", "threads": 1}
    entry |= {"verdict": "equivalent", "starts": 5, "spreads": {"throughput": 0.01}}
    ledgers.path_of(tmp_path, "f").write_text(json.dumps(entry) + "\n")
    assert [(each.dataset, each.runner) for each in ledgers.read(tmp_path, "f")] == [
        ("sbtest-4x25000-innodb", "f")
    ]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with documents of every number, and with what is none: nobody waits for a pipe."""
    folder = tmp_path / "out" / "results"
    shutil.copytree(HERE / "recorded", folder)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "foreign.jsonl").write_text('{"format": 7}\n')
    return folder


LEFT_OUT = (
    *(f"{name}.jsonl: cannot be read: not a regular file" for name in ("folder", "pipe")),
    "foreign.jsonl: not a run document: written by a newer shootout",
)


@pytest.mark.parametrize("command", ["site", "history"])
def test_a_folder_has_old_and_new(command: str, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = results.parent / "site"
    options = {"site": ("--results", results, "--out", site), "history": ("--results", results, "--json")}
    assert cli.main([command, *map(str, options[command])]) == 0
    out, err = capsys.readouterr()
    assert all(reason in err for reason in LEFT_OUT)
    if command == "site":
        pages = {page.parent.name for page in site.glob("**/runs/*/index.html")}
        assert pages == {path.stem for path in RECORDED}
        return
    series = {each["dataset"]: len(each["points"]) for each in json.loads(out)}
    assert series == {"sbtest-1x1000000-innodb": 3, "sbtest-4x25000-innodb": 1, "own-innodb": 1}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_document_of_any_number_is_compared_accepted_and_merged(path: Path, tmp_path: Path) -> None:
    run = tmp_path / "results" / path.name
    run.parent.mkdir()
    shutil.copy(path, run)
    assert cli.main(["baseline", "accept", str(run), "--to", str(tmp_path / "kept")]) == 0
    assert cli.main(["compare", str(run), "--baseline", str(tmp_path / "kept")]) in (0, 1)
    merged = merge.merge([run], tmp_path / "merged", pytest.fail)
    assert next(journal.lines(merged)).format == journal.FORMAT
    assert journal.read(merged).starts == packed.rounded(journal.read(path)).starts


@pytest.mark.parametrize("path", [OLDEST, FORMER], ids=lambda path: path.stem)
def test_only_the_shootout_that_wrote_a_document_goes_on(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="only the shootout that wrote it can resume it"):
        journal.Writer(tmp_path, path.stem, resumed=True)
    assert (tmp_path / path.name).read_bytes() == before
