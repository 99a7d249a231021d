"""The answer of a run as it was approved, in terminal, Markdown and a test report."""

from __future__ import annotations

import functools
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec import structs

from shootout import paths
from shootout.analysis import claims, compare
from shootout.document import journal
from shootout.model.plan import Policy
from shootout.model.run import REMARK, FailureRecord, RunDocument, Warning
from shootout.model.verdict import Comparison
from shootout.report import run_answer
from shootout.writers import junit, markdown
from tests.support import builders, goldens
from tests.support.repeated import a_repetition
from tests.support.report.compared import E, Q, R, a_comparison_of
from tests.support.screen import answered
from tests.unit.analysis.test_acknowledgements import known

BASE, HEAD = builders.BASE, builders.HEAD
HERE = Path(__file__).parent
RECORDED = sorted((HERE.parent / "document" / "recorded").glob("*.jsonl"))[-1]
UNPROVEN = Policy(false_alarms_max=0.05)


def a_document(*servers: str, failing: bool = False) -> RunDocument:
    header = builders.a_header(servers or (BASE, HEAD), workloads=("oltp_point_select",), threads=(1, 8))
    return builders.a_run(header, failing=failing)


def cut_short() -> RunDocument:
    """The second block was not begun."""
    document = a_document()
    starts = tuple(each for each in document.starts if each.block == document.header.blocks[0].key)
    return structs.replace(document, starts=starts, end=None)


def both_fail() -> RunDocument:
    document = a_document()
    block, _ = document.header.blocks
    reason = "statement `by_name`: Unknown column 'nam' (1054)"
    failures = tuple(FailureRecord(cell=cell, start=1, reason=reason) for cell in block.cells)
    return structs.replace(document, failures=failures)


def undecided() -> Comparison:
    """An acknowledged regression, undecided cells beyond zero, and a cell that other metrics decided."""
    made = a_comparison_of((R, 0.9), (Q, 0.95), (R, 1.0), (E, 1.0), (R, 35.0), (Q, 0.8), (Q, 0.7))
    why = "5 % slower, 95 % interval 2 to 8 %, in 4 starts: a change, but possibly below the margin of 10 %"
    chance = "slower: not significant among 7 comparisons (p = 0.{} after Hommel)"
    cells = [*made.cells]
    cells[1] = structs.replace(cells[1], acknowledged=known())
    cells[3] = structs.replace(cells[3], reason=why)
    cells[11], cells[13] = (
        structs.replace(cells[at], reason=chance.format(p)) for at, p in ((11, "09"), (13, "2"))
    )
    cells[5] = builders.decided_by(cells[5], "latency_p99", 1.3)
    said = Warning(code=REMARK, text="head: no workload executes what changed")
    cells = [structs.replace(each, warnings=(said,)) for each in cells]
    return structs.replace(made, cells=tuple(cells))


@functools.cache
def every() -> dict[str, Comparison]:
    documents = {
        "a recorded run": journal.read(RECORDED),
        "a run with failures": builders.a_run(),
        "a server alone": a_document(BASE),
        "a run that was cut short": cut_short(),
        "both servers fail alike": both_fail(),
        "several heads, of which one is not here": a_repetition("shootout", threads="1,64"),
    }
    compared = {name: compare.compare(document) for name, document in documents.items()}
    unproven = compare.compare(a_document(), UNPROVEN)
    return compared | {"an unproven runner": unproven, "undecided and acknowledged": undecided()}


def test_each_kind_is_as_it_was_approved(tmp_path: Path) -> None:
    text = "".join(
        f"== {name}\n{answered(run_answer.answer(each), 1000)}\n" for name, each in every().items()
    )
    goldens.check(text.replace(str(paths.ROOT), "ROOT"), HERE / "golden" / "run.txt", tmp_path)


def test_markdown_is_as_it_was_approved(tmp_path: Path) -> None:
    text = markdown.write(run_answer.answer(every()["a run with failures"]))
    goldens.check(text, HERE / "golden" / "run.md", tmp_path)


def test_a_test_report_is_as_it_was_approved(tmp_path: Path) -> None:
    """No base is a case, what was not measured is skipped, and each message is a verdict's sentence."""
    text = junit.write(run_answer.suite(builders.a_run(), every()["a run with failures"]))
    goldens.check(text, HERE / "golden" / "run.xml", tmp_path)
    cut = ElementTree.fromstring(
        junit.write(run_answer.suite(cut_short(), every()["a run that was cut short"]))
    )
    messages = [each.get("message") for each in cut.iter("skipped")]
    assert messages == ["not measured: the run was cut short before it"]
    exempt = run_answer.suite(a_document(), every()["an unproven runner"]).cases
    assert [(case.failure, "None of 2 regressions fails the gate" in case.skipped) for case in exempt] == [
        ("", True), ("", True),
    ]  # fmt: skip


def test_why_a_base_failed_stands_in_the_headline_and_below_the_table() -> None:
    document = a_document()
    reason = "setup: You have an error in your SQL syntax"
    failures = tuple(
        FailureRecord(cell=block.cell(BASE), start=1, reason=reason) for block in document.header.blocks
    )
    comparison = compare.compare(structs.replace(document, failures=failures))
    lines = answered(run_answer.answer(comparison), 1000).splitlines()
    told = [line for line in lines if reason in line]
    assert len(told) == 2, told
    assert told[0].startswith(f"No verdict on {HEAD}: its base, {BASE}, failed")


def test_claims_stand_in_the_answer_and_in_a_test_report() -> None:
    document = a_repetition("flavours", lambda label, *cell: 200.0 if "maria" in label else 100.0)
    comparison = compare.compare(document)
    results = claims.evaluate_all(document, document.header.profile.policy)
    (said,) = [
        topic.lines for topic in run_answer.answer(comparison, claims=results).topics if topic.lines[:1]
        if topic.lines[0].startswith("✓")
    ]  # fmt: skip
    assert said[0].startswith("✓ MariaDB 10.1 is far ahead of MySQL 5.7: 1.48 times, at least half of that")
    assert [line[0] for line in said[1:]] == ["?", "✗", "?"]
    cases = [
        case for case in run_answer.suite(document, comparison, results).cases if case.suite == "published"
    ]
    assert [bool(case.skipped) for case in cases] == [False, True, True, True]


@pytest.mark.parametrize("name", every())
def test_printed_throughputs_divide_or_it_is_said(name: str) -> None:
    comparison = every()[name]
    apart = [c for c in comparison.cells if run_answer.is_apart(c)]
    assert (run_answer.APART in answered(run_answer.answer(comparison), 1000)) == bool(apart)
