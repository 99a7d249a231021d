"""Whatever a document contains, every command judges it or refuses it with one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from shootout import app
from shootout.analysis import baseline, claims, gate, ledger
from shootout.document import baselines, journal, ledgers, merge
from shootout.inputs.options import ACKNOWLEDGED
from shootout.model.run import EndRecord, FailureRecord, RunDocument, StartRecord
from shootout.report import lines, terminal
from shootout.report.github import markdown
from tests.document import test_formats, test_merge
from tests.documents import (
    ANYTHING,
    COMPARED,
    ROUNDS,
    RUN,
    STARTS,
    TEXTS,
    accepted,
    left_out,
    nowhere,
    often,
    plain,
    publish,
    records,
    require_finite,
    sealed,
    seldom,
)  # fmt: skip
from tests.mutations import mutations

pytestmark = pytest.mark.slow

LINK = "https://example.org"

# --- documents that are nearly right --------------------------------------------------------------


def a_shard() -> RunDocument:
    block = test_merge.BLOCKS[4]
    found = test_merge.records_of(block)
    return RunDocument(
        header=test_merge.a_header(0, [block]),
        starts=tuple(each for each in found if isinstance(each, StartRecord)),
        failures=tuple(each for each in found if isinstance(each, FailureRecord)),
        end=EndRecord(finished="2026-11-20T03:00:00+00:00", elapsed_s=60.0, interrupted=False),
    )


def a_merged_run(folder: Path) -> RunDocument:
    halves = test_merge.BLOCKS[:1], test_merge.BLOCKS[1:2]
    shards = [test_merge.saved(folder / str(n), n, blocks) for n, blocks in enumerate(halves)]
    return journal.read(test_merge.merged(shards, folder / "merged"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


OLD_RUNS = [list(map(json.loads, path.read_text().splitlines())) for path in test_formats.RECORDED]
ENTRIES = [
    plain(replace(each, run="2025"))
    for each in ledger.of(RUN.header, COMPARED.policy, COMPARED.cells, COMPARED.aa_controls)
]

STORED = baseline.of(COMPARED)

# --- what the commands must do --------------------------------------------------------------------


def judge(path: Path) -> None:
    comparison = app.judge(path, ACKNOWLEDGED.default, left_out)
    require_finite(msgspec.to_builtins(comparison), "comparison")
    app.as_json(comparison, claims.evaluate_all(journal.read(path), comparison.policy))
    gate.exit_code(comparison)
    terminal.show(nowhere(), lines.verdicts(comparison))


def compare_with_itself(path: Path) -> None:
    comparison = app.judge(path, ACKNOWLEDGED.default, left_out)
    kept = {(each.runner, each.workload.name): each for each in baseline.of(comparison)}
    require_finite(msgspec.to_builtins(baseline.compare(comparison, kept)), "comparison")


def comment(path: Path) -> None:
    judged = [app.judge(path, ACKNOWLEDGED.default, left_out)]
    markdown.comment(map(markdown.summary, judged), "main", LINK)
    list(markdown.annotate(judged[0]))


def require_ends_well(path: Path) -> None:
    """Through every command that reads run documents."""
    if not accepted(lambda: judge(path)):
        return
    results = path.parent
    accepted(lambda: compare_with_itself(path))
    accepted(lambda: comment(path))
    accepted(lambda: publish(results))
    accepted(lambda: app.series(results, None, left_out))
    accepted(lambda: app.open_regressions(results, None, ACKNOWLEDGED.default, left_out))
    accepted(lambda: merge.merge([path], results / "merged", left_out))


def everywhere(name: str, value: Any) -> list[Any]:
    """The run with one field changed in all samples."""
    lines = records(RUN)
    for line in lines:
        for samples in (*line.get("samples", ()), *filter(None, [line.get("twin")])):
            samples[name] = value
    return lines


@often
@given(lines=mutations([records(RUN), records(a_shard()), *OLD_RUNS], TEXTS, ANYTHING))
@example(lines=everywhere("window_s", ROUNDS * [0.0]))
@example(lines=everywhere("window_s", ROUNDS * [1e-9]))
@example(lines=everywhere("transactions", ROUNDS * [1e308]))
@example(lines=everywhere("transactions", []))
@example(lines=everywhere("counters", {"Innodb_row_lock_waits": -1.0}))
@example(lines=everywhere("server", "\x1b[31m\n"))
@example(lines=[records(RUN)[0] | {"servers": []}, *records(RUN)[1:]])
@example(lines=[records(RUN)[0] | {"\x1b[31m\n": 1}, *records(RUN)[1:]])
def test_a_run(folder: Path, lines: list[Any]) -> None:
    path = folder / "run.jsonl"
    path.write_bytes(sealed(lines))
    require_ends_well(path)


@seldom
@given(data=st.data())
def test_a_merged_run(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("merged")
    lines = records(a_merged_run(folder))
    path = folder / "results" / "run.jsonl"
    path.parent.mkdir()
    path.write_bytes(sealed(data.draw(mutations([lines], TEXTS, ANYTHING))))
    require_ends_well(path)


def test_starts_that_differ_by_all_that_documents_can_hold(folder: Path) -> None:
    """Two starts, of which one is as fast as can be and one as slow: the interval would exceed any number."""
    most, least = {"transactions": 1e15, "window_s": 1e-9}, {"transactions": 0.0, "window_s": 1e9}
    lines = [line for line in records(RUN) if line.get("start") != STARTS]
    for line in lines:
        for number, samples in enumerate(line.get("samples", ())):
            chosen = most if (number + line["start"]) % 2 else least
            samples |= {name: ROUNDS * [value] for name, value in chosen.items()}
    path = folder / "run.jsonl"
    path.write_bytes(sealed(lines))
    assert accepted(lambda: judge(path))
    require_ends_well(path)


@often
@given(stored=mutations([plain(each) | {"format": n} for each in STORED for n in (1, 2, 3)], TEXTS, ANYTHING))
def test_a_baseline(folder: Path, stored: Any) -> None:
    path = folder / "baseline.json"
    path.write_bytes(json.dumps(stored).encode())

    def judge() -> None:
        comparison = baseline.compare(COMPARED, baselines.find(path, COMPARED.header))
        require_finite(msgspec.to_builtins(comparison), "comparison")
        terminal.show(nowhere(), lines.verdicts(comparison))
        markdown.summary(comparison)

    accepted(judge)


@often
@given(entries=mutations([2 * ENTRIES, [each | {"format": 1} for each in ENTRIES]], TEXTS, ANYTHING))
def test_a_ledger(folder: Path, entries: list[Any]) -> None:
    path = ledgers.path_of(folder / ledgers.FOLDER, RUN.header.runner.fingerprint)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in entries))
    (folder / "run.jsonl").write_bytes(journal.encoded(RUN))
    accepted(lambda: judge(folder / "run.jsonl"))
