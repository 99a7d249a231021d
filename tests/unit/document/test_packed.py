from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shootout import files
from shootout._engine import Histogram
from shootout.analysis import compare
from shootout.analysis.metrics import METRICS
from shootout.document import journal, merge, packed, resume
from shootout.errors import InputError
from shootout.model.run import ResumeRecord, RunDocument
from shootout.model.verdict import Comparison, Latency
from shootout.paths import REPORTS
from shootout.report.site import charts
from tests.support import builders

RECORDED = "20261125T061217Z-e84e2b"
GOLDEN = Path(__file__).parent / "golden" / "percentiles.json"  # of the run's journal, before it was packed


def with_controls(document: RunDocument) -> RunDocument:
    """A run whose first block has A/A controls, and which was resumed."""
    block = document.header.blocks[0]
    controls = {block.key: builders.a_samples(block.servers[0])}
    starts = (structs.replace(each, aa_control=controls.get(each.block)) for each in document.starts)
    resumes = (ResumeRecord(resumed="2026-11-21T03:00:00Z", shootout="0.1.0"),)
    return structs.replace(document, starts=tuple(starts), resumes=resumes)


HEADER = builders.a_header(workloads=("oltp_point_select", "oltp_read_write"), threads=(1,))
RUN = with_controls(builders.a_run(HEADER))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from leaves(each, f"{path}/{key}")
    else:
        yield path, value


def assert_same(one: Comparison, other: Comparison) -> None:
    """Equal, but for the last digits of means and of what follows from them."""
    of_one, of_other = (dict(leaves(msgspec.to_builtins(each))) for each in (one, other))
    assert of_one.keys() == of_other.keys()
    for path, value in of_one.items():
        mean = path.endswith(("/mean_s", "/share"))
        assert of_other[path] == (pytest.approx(value, rel=1e-9) if mean else value), path


@given(seed=st.integers(0, 2**32))
@settings(max_examples=3, deadline=None)
def test_packing_changes_nothing_that_is_judged(seed: int) -> None:
    document = with_controls(builders.a_run(structs.replace(HEADER, seed=seed)))
    left = packed.rounded(document)
    assert_same(compare.compare(document), compare.compare(left))
    assert packed.rounded(left) == left
    for before, after in zip(document.starts, left.starts, strict=True):
        for one, other in zip(before.samples, after.samples, strict=True):
            changed = {"latencies": one.latencies, "statements": one.statements, "times": {}}
            assert structs.replace(other, **changed) == one
            was, is_ = (charts._distribution(Histogram.decode(each.latencies)) for each in (one, other))
            assert all(map(np.array_equal, was, is_))


def test_percentiles_that_are_compared_stay() -> None:
    assert {metric.percentile for metric in METRICS} - {None} <= {*packed.PERCENTS}


def test_a_recorded_run_keeps_its_percentiles() -> None:
    comparison = compare.compare(journal.read(REPORTS / "showcase" / f"{RECORDED}.jsonl.xz"))
    assert {cell.cell.name for cell in comparison.cells} == json.loads(GOLDEN.read_bytes()).keys()
    for cell in comparison.cells:
        golden = json.loads(GOLDEN.read_bytes())[cell.cell.name]
        assert cell.figures
        assert_kept(cell.figures.latency, golden["transactions"])
        assert cell.figures.statements.keys() == golden["statements"].keys()
        for kind, latency in cell.figures.statements.items():
            assert_kept(latency, golden["statements"][kind])
        ratios = {metric.name: metric.ratio for metric in cell.metrics if metric.name.startswith("latency")}
        assert golden["ratios"] == {name: [r.low, r.estimate, r.high] for name, r in ratios.items() if r}
        assert golden["times"] == {
            time.kind: [time.base_s, time.head_s, time.difference_s.low, time.difference_s.high]
            for time in cell.statements
        }


def assert_kept(latency: Latency, golden: list[float]) -> None:
    count, mean_s, *exact = golden
    assert latency.count == count
    assert latency.mean_s == pytest.approx(mean_s, rel=1e-9)
    now = latency.min_s, latency.p50_s, latency.p95_s, latency.p99_s, latency.p999_s, latency.max_s
    assert [*now] == exact


def written(folder: Path, document: RunDocument = RUN) -> Path:
    path = folder / journal.new_name(document.header.run)
    folder.mkdir(exist_ok=True)
    path.write_bytes(journal.encoded(document))
    return path


def test_a_packed_document_takes_the_journals_place(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.stat().st_size
    left = packed.pack(path)
    assert journal.find(tmp_path) == (left,)
    assert left.stat().st_size < before / 3
    assert journal.read(left) == packed.rounded(RUN)
    assert journal.read(path) == journal.read(left)  # what names the journal finds it
    assert packed.encoded(packed.rounded(journal.read(left))) == left.read_bytes()


def test_a_run_that_goes_on_has_a_journal_again(tmp_path: Path) -> None:
    left = packed.pack(written(tmp_path))
    document = resume.find(tmp_path, None, pytest.fail)
    assert document == packed.rounded(RUN)
    writer = journal.Writer(tmp_path, RUN.header.run, resumed=True)
    assert journal.find(tmp_path) == (writer.path,)
    more = structs.replace(RUN.starts[0], start=99)
    writer.append(ResumeRecord(resumed="2026-11-21T04:00:00Z", shootout="0.1.0"))
    writer.append(more)
    whole = journal.read(writer.path)
    assert whole.starts == (*document.starts, more)
    assert packed.pack(writer.path) == left
    assert len(journal.read(left).starts) == len(RUN.starts) + 1


def test_two_forms_of_a_run_count_once(tmp_path: Path) -> None:
    """A crash may leave both; the journal then has as much or more."""
    left = packed.pack(written(tmp_path / "results"))
    path = written(tmp_path / "results")
    assert journal.find(tmp_path / "results") == (path,)
    merged = merge.merge([left, path], tmp_path / "merged", pytest.fail)
    assert len(journal.read(merged).starts) == len(RUN.starts)
    journal.Writer(tmp_path / "results", RUN.header.run, resumed=True)
    assert path.read_bytes() == journal.encoded(RUN)


def test_a_full_disk_leaves_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    (tmp_path / (path.name + journal.PACKED)).mkdir()  # a file cannot replace it
    assert packed.pack(path) == path
    assert journal.read(path) == RUN


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-100], "cannot be unpacked: it was cut"),
        (lambda content: content[:500] + b"x" + content[501:], "cannot be unpacked"),
        (
            lambda content: lzma.compress(lzma.decompress(content).replace(b'"start":2', b'"start":3', 1)),
            "changed, or not a line of this document",
        ),
        (lambda content: lzma.compress(b"no run\n"), "not a run document"),
        (lambda content: lzma.compress(bytes(1 << 21)), "more than 1 MB in it"),
    ],
)
def test_damage_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Any, message: str
) -> None:
    monkeypatch.setattr(files, "_UNPACKED_MAX", 1 << 20)
    left = packed.pack(written(tmp_path))
    left.write_bytes(damage(left.read_bytes()))
    with pytest.raises(InputError, match=message):
        journal.read(left)
