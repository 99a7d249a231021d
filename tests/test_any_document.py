"""Whatever a document contains, every command judges it or refuses it with one line."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console

from shootout import app
from shootout.analysis import baseline, claims, compare, gate, ledger, soak
from shootout.analysis import explained as evaluated
from shootout.analysis import work as work_verdicts
from shootout.document import explanations, journal, merge, soaks
from shootout.errors import InputError
from shootout.inputs.options import ACKNOWLEDGED
from shootout.model.run import EndRecord, FailureRecord, RunDocument, Samples, StartRecord
from shootout.report import explanation as explanation_report
from shootout.report import terminal
from shootout.report import work as work_report
from shootout.report.github import markdown, webhook
from tests import builders, explained
from tests import soaks as soaked
from tests import work as counted
from tests.document import test_merge
from tests.mutations import mutations

pytestmark = pytest.mark.slow

ROUNDS, STARTS = 3, 3
LINK = "https://example.org"
LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,2000}")

# The least and the most that documents may hold, and what lies beyond.
NUMBERS = st.sampled_from([
    0, 1, -1, 2, 3, 0.5, -0.5, 1e-300, 5e-324, 1e-9, 1e-15, 1e9, 1e15, -1e15, 1e18, 1e20, 1e300, 1e308,
    -1e308, 1 - 1e-16, 10**6, 10**15, 65_535, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400,
])  # fmt: skip
TEXTS = st.sampled_from([
    "", "\x1b[31m", "a\nb", "\x00", "\u2028", 300 * "a", "/", "../../x", "*", "1e999", "2026", "0001-01-01",
    "9999-12-31T23:59:59+00:00", builders.BASE, builders.HEAD,
])  # fmt: skip
SCALARS = NUMBERS | TEXTS | st.booleans() | st.none()
NESTED = st.sampled_from([
    [], {}, [[]], [{}], {"": {}}, [0], [0, 0], ROUNDS * [0.0], ROUNDS * [1e15], ROUNDS * [1e-9], [1e15, 0, 0],
])  # fmt: skip
DEEPER = st.recursive(SCALARS, lambda each: st.lists(each, max_size=3), max_leaves=4)
ANYTHING = NUMBERS | SCALARS | NESTED | DEEPER


# --- documents that are nearly right --------------------------------------------------------------


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def records(document: RunDocument) -> list[Any]:
    return [json.loads(line) for line in journal.encoded(document).splitlines()]


def sealed(lines: Sequence[Any]) -> bytes:
    """A document of these records, with the digests that belong to them."""
    digest, written = b"", []
    for record in lines:
        unsealed = {k: v for k, v in record.items() if k != "digest"} if isinstance(record, dict) else record
        line, digest = journal.sealed(json.dumps(unsealed).encode(), digest)
        written.append(line)
    return b"".join(written)


def fewer(samples: Samples) -> Samples:
    arrays = ("transactions", "window_s", "server_cpu_s", "client_cpu_s", "completed")
    return replace(samples, **{name: getattr(samples, name)[:ROUNDS] for name in arrays})


def a_run() -> RunDocument:
    """Two blocks, one of which fails, with an A/A cell and a confirming start."""
    header = builders.a_header(workloads=["oltp_point_select"], threads=[1, 8])
    document = builders.a_run(replace(header, workloads=(builders.a_record("oltp_point_select"),)))
    starts = tuple(
        replace(
            start,
            order=start.order[:ROUNDS],
            samples=tuple(map(fewer, start.samples)),
            aa_control=fewer(start.samples[0]),
            confirming=start.start == STARTS,
        )
        for start in document.starts
        if start.start <= STARTS
    )
    return replace(document, starts=starts)


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


RUN = a_run()
COMPARED = compare.compare(RUN)
EXPLAINED = explained.an_explanation(RUN.header.run, RUN.header.blocks[0].cells[1])
COUNTED = counted.document({"a": counted.BASE, "b": counted.times(1.1)})
SOAKED = [
    plain(each)
    for taken in [[each for label in "ab" for each in soaked.slices(label, 90 * [9.0, 11.0])]]
    for whole in [soaked.document(["a", "b"], taken, ends={"a": {"memory": 1e6}, "b": {"memory": 0.0}})]
    for each in (whole.header, *whole.servers, *whole.slices, *whole.ends)
]
ENTRIES = [
    plain(replace(each, run="2025"))
    for each in ledger.of(RUN.header, COMPARED.policy, COMPARED.cells, COMPARED.aa_controls)
]

often = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
seldom = settings(often, max_examples=20)  # where most examples are accepted, and published


def changed(*documents: Any) -> st.SearchStrategy[Any]:
    return mutations([plain(each) for each in documents], TEXTS, ANYTHING)


# --- what the commands must do --------------------------------------------------------------------


def accepted(work: Callable[[], object]) -> bool:
    """Whether the work was done; otherwise one line says why not."""
    try:
        work()
    except InputError as refusal:
        left_out(str(refusal))
        return False
    return True


def left_out(reason: str) -> None:
    assert LINE.fullmatch(reason), reason


def require_finite(value: Any, where: str) -> None:
    """JSON has no infinity: it would read as null."""
    if isinstance(value, dict | list | tuple):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            require_finite(inner, f"{where}.{key}")
    assert not isinstance(value, float) or math.isfinite(value), where


def nowhere() -> Console:
    return Console(file=io.StringIO(), width=200)


def judge(path: Path) -> None:
    comparison = app.judge(path, ACKNOWLEDGED.default)
    require_finite(msgspec.to_builtins(comparison), "comparison")
    app.as_json(comparison, claims.evaluate_all(journal.read(path), comparison.policy))
    gate.exit_code(comparison)
    terminal.print_verdicts(nowhere(), comparison)


def compare_with_itself(path: Path) -> None:
    comparison = app.judge(path, ACKNOWLEDGED.default)
    kept = {(each.runner, each.workload.name): each for each in baseline.of(comparison)}
    require_finite(msgspec.to_builtins(baseline.compare(comparison, kept)), "comparison")


def comment(path: Path) -> None:
    judged = [app.judge(path, ACKNOWLEDGED.default)]
    markdown.comment(judged, LINK, app.explanations([path]))
    list(markdown.annotate(judged[0]))
    webhook.message(judged, LINK)


def publish(results: Path) -> None:
    app.publish(results, results / "site", ACKNOWLEDGED.default, left_out)


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
@given(lines=mutations([records(RUN), records(a_shard())], TEXTS, ANYTHING))
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


PROFILED = records(explained.profiled())


@seldom
@given(
    explanation=changed(EXPLAINED) | st.just(plain(EXPLAINED)),
    profiled=st.just(PROFILED) | mutations([PROFILED], TEXTS, ANYTHING),
)
@example(explanation=plain(EXPLAINED), profiled=[PROFILED[0] | {"servers": [], "blocks": []}])
def test_an_explanation(folder: Path, explanation: Any, profiled: list[Any]) -> None:
    (folder / "run.jsonl").write_bytes(journal.encoded(RUN))
    path = explanations.folder_of(folder, RUN.header.run) / "cell.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(explanation).encode())
    (path.parent / EXPLAINED.document).write_bytes(sealed(profiled))

    def evaluate() -> None:
        found = evaluated.read(path)
        msgspec.json.encode(explanation_report.value(found))
        terminal.print_explanations(nowhere(), [found], folder)
        markdown.comment([COMPARED], LINK, [found])

    if accepted(evaluate):
        accepted(lambda: publish(folder))
    shutil.rmtree(path.parent)


@seldom
@given(document=changed(COUNTED))
def test_a_document_of_work(folder: Path, document: Any) -> None:
    path = folder / "work" / "work.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(json.dumps(document).encode())

    def judge() -> None:
        comparison = app.judge_work(path)
        require_finite(msgspec.to_builtins(comparison.changes), "changes")
        app.work_as_json(comparison, document=path)
        work_report.markdown(comparison)
        work_verdicts.exit_code(comparison)
        terminal.print_work(nowhere(), comparison)

    if accepted(judge):
        accepted(lambda: publish(folder))


@often
@given(document=mutations([SOAKED], TEXTS, ANYTHING))
def test_a_soak(folder: Path, document: Any) -> None:
    path = folder / "soaks" / "soak.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = document if isinstance(document, list) else [document]
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in lines))

    def judge() -> None:
        result = soak.judge(soaks.read(path))
        require_finite(msgspec.to_builtins(result.comparisons), "comparisons")
        app.soak_as_json(result, document=path)
        soak.exit_code(result)
        terminal.print_soak(nowhere(), result)

    if accepted(judge):
        accepted(lambda: publish(folder))


@often
@given(stored=changed(*baseline.of(COMPARED)))
def test_a_baseline(folder: Path, stored: Any) -> None:
    path = folder / "baseline.json"
    path.write_bytes(json.dumps(stored).encode())

    def judge() -> None:
        comparison = baseline.compare(COMPARED, baseline.find(path, COMPARED.header))
        require_finite(msgspec.to_builtins(comparison), "comparison")
        terminal.print_verdicts(nowhere(), comparison)
        markdown.summary(comparison)

    accepted(judge)


@often
@given(entries=mutations([2 * ENTRIES], TEXTS, ANYTHING))
def test_a_ledger(folder: Path, entries: list[Any]) -> None:
    path = ledger.path_of(folder / ledger.FOLDER, RUN.header.runner.fingerprint)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in entries))
    (folder / "run.jsonl").write_bytes(journal.encoded(RUN))
    accepted(lambda: judge(folder / "run.jsonl"))
