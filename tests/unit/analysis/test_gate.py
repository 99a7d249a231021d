from __future__ import annotations

import pytest
from msgspec import structs

from shootout.analysis import compare, gate, ledger
from shootout.model.plan import Policy
from shootout.model.run import ABSENT, LACKS, StartRecord, Warning
from shootout.model.verdict import Verdict
from tests.support.analysis.builders import (
    READS,
    WRITES,
    a_document,
    a_failure,
    a_server,
    an_entry,
    confirming,
    starts_of,
)

GATE = Policy(false_alarms_max=0.05)


def test_what_was_not_measured_is_no_pass_and_hides_no_regression() -> None:
    blocks = (READS, WRITES)
    for change, code in ((0, 3), (-10, 1)):
        found = compare.compare(a_document(starts_of(change), blocks=blocks))
        assert [each.cell for each in gate.unmeasured(found)] == list(WRITES.cells)
        assert gate.exit_code(found) == code
    strict = Policy(inconclusive_fails=True)
    assert gate.exit_code(compare.compare(a_document(starts_of(0), blocks=blocks), strict)) == 3
    failed = a_document(starts_of(-10), a_failure("b", WRITES), blocks=blocks)
    assert gate.exit_code(compare.compare(failed)) == 3


@pytest.mark.parametrize(
    ("server", "reasons"), [("b", ["the base", "lacks it"]), ("a", ["lacks it", "its base, a, lacks it"])]
)
def test_what_a_server_lacks_is_told_and_fails_nothing(server: str, reasons: list[str]) -> None:
    of_other = [
        structs.replace(start, samples=tuple(each for each in start.samples if each.server != server))
        for start in starts_of(0)
    ]
    failure = a_failure(server, reason=f"{LACKS}it")
    for starts in (starts_of(0), of_other):
        found = compare.compare(a_document(starts, failure, blocks=(READS,)), base="a")
        assert [each.verdict for each in found.cells] == [Verdict.UNJUDGED] * 2
        assert [each.reason for each in found.cells] == reasons
        assert gate.exit_code(found) == 0
    blocks = (READS, WRITES)
    more = compare.compare(a_document(starts_of(0), failure, blocks=blocks), base="a")
    assert not [
        each.reason for each in more.cells if each.cell.workload == WRITES.workload and "lacks" in each.reason
    ]


def test_an_absent_server_is_not_what_a_run_did_not_get_to() -> None:
    block = structs.replace(READS, servers=("a", "b", "gone"))
    for warnings, lacking in ((), ["gone"]), ((Warning(code=ABSENT, text="not here"),), []):
        servers = [a_server("a"), a_server("b"), a_server("gone", *warnings)]
        found = compare.compare(a_document(starts_of(0), blocks=(block,), servers=servers))
        assert [each.cell.server for each in gate.unmeasured(found)] == lacking
        assert gate.exit_code(found) == (3 if lacking else 0)


def test_every_regression_counts_once_false_alarms_are_known_to_be_rare() -> None:
    """Wilson's upper bound falls to 5 % with 73 A/A cells; and with a false alarm among them, with 110."""
    document = a_document(starts_of(-10))
    for alarms, cells, code in ((0, 0, 0), (0, 72, 0), (0, 73, 1), (1, 109, 0), (1, 110, 1)):
        kinds = [Verdict.IMPROVED] * alarms + [Verdict.EQUIVALENT] * (cells - alarms)
        history = [an_entry(0.001, verdict=kind) for kind in kinds]
        found = compare.compare(document, GATE, ledger_entries=history)
        assert found.cells[1].verdict is Verdict.REGRESSED
        assert (gate.exit_code(found), gate.judge_false_alarms(found)) == (
            code,
            "proven" if code else "provisional",
        )
        assert ledger.cells_needed(found.false_alarms, GATE) == max(0, (110 if alarms else 73) - cells)
    assert gate.exit_code(compare.compare(document, Policy())) == 1  # a run is no gate


@pytest.mark.parametrize(
    ("starts", "code"),
    [
        ([*starts_of(-10), *confirming(starts_of(-10))], 1),
        (starts_of(-10), 0),  # nothing confirmed it
        ([*starts_of(-2.3), *confirming(starts_of(-2.3))], 0),  # the interval reaches into the margin
        ([*starts_of(-3), *confirming(starts_of(-3))], 1),
    ],
    ids=["large", "unconfirmed", "near the margin", "beyond it"],
)
def test_on_a_new_runner_a_regression_beyond_doubt_counts(starts: list[StartRecord], code: int) -> None:
    found = compare.compare(a_document(starts), GATE)
    assert found.cells[1].verdict is Verdict.REGRESSED
    assert (gate.judge_false_alarms(found), gate.exit_code(found)) == ("provisional", code)


def test_on_a_runner_that_raises_false_alarms_only_three_margins_count() -> None:
    history = [an_entry(0.001, verdict=Verdict.REGRESSED)] * 5
    for change, code in ((-10, 1), (-6.2, 0)):
        document = a_document([*starts_of(change), *confirming(starts_of(change))])
        found = compare.compare(document, GATE, ledger_entries=history)
        assert found.cells[1].verdict is Verdict.REGRESSED
        assert (gate.judge_false_alarms(found), gate.exit_code(found)) == ("refuted", code)
    unconfirmed = compare.compare(a_document(starts_of(-10)), GATE, ledger_entries=history)
    assert (gate.judge_false_alarms(unconfirmed), gate.exit_code(unconfirmed)) == ("refuted", 0)
