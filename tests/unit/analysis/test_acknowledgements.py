from datetime import date

import pytest

from shootout.analysis import acknowledgements, compare, gate
from shootout.model.plan import Policy
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict
from tests.support.analysis.builders import a_document, head_of, starts_of, with_header


def known(**changes: object) -> Acknowledgement:
    values: dict[str, object] = {
        "workload": "read*",
        "server": "b",
        "at_most": 0.12,
        "expires": date(2026, 6, 30),
        "owner": "ann",
        "reason": "bug 1",
    }
    return Acknowledgement(**(values | changes))  # type: ignore[arg-type]


def slower(started: str = "2026-06-30T23:00:00+00:00") -> RunDocument:
    """A run with a regression of 9.5 %."""
    return with_header(a_document(starts_of(-10)), started=started)


def judged(document: RunDocument, *entries: Acknowledgement) -> tuple[Comparison, CellComparison]:
    comparison = acknowledgements.applied(compare.compare(document), entries)
    return comparison, comparison.cells[1]


def test_a_known_regression_is_one_that_fails_nothing() -> None:
    comparison, head = judged(slower(), known())
    assert head.verdict is Verdict.REGRESSED
    assert head.acknowledged == known()
    assert gate.exit_code(comparison) == 0
    assert gate.exit_code(compare.compare(slower())) == 1


@pytest.mark.parametrize(
    ("entry", "code", "expected"),
    [
        (known(at_most=0.09), "acknowledgement-exceeded", "Larger than ann acknowledged: 9.5 %"),
        (known(expires=date(2026, 6, 29)), "acknowledgement-expired", "only until 2026-06-29"),
    ],
    ids=["larger", "expired"],
)
def test_it_fires_again_beyond_its_bounds(entry: Acknowledgement, code: str, expected: str) -> None:
    comparison, head = judged(slower(), entry)
    assert head.acknowledged is None
    assert gate.exit_code(comparison) == 1
    (text,) = (warning.text for warning in head.warnings if warning.code == code)
    assert expected in text


@pytest.mark.parametrize(
    "entry",
    [known(workload="write*"), known(server="B"), known(threads=8), known(metric="latency_p99")],
    ids=["workload", "server", "threads", "metric"],
)
def test_another_cell_is_not_meant(entry: Acknowledgement) -> None:
    comparison, head = judged(slower(), entry)
    assert head.acknowledged is None
    assert gate.exit_code(comparison) == 1


def test_one_of_several_entries_will_do() -> None:
    assert judged(slower(), known(at_most=0.01), known(threads=4))[1].acknowledged == known(threads=4)


def test_every_regressed_metric_must_be_known() -> None:
    costly = starts_of(-10, server_cpu_s=(0.12,) * 10)
    both = with_header(a_document(costly), started=slower().header.started)
    policy = Policy(judged=("throughput", "server_cpu"))
    for entries, acknowledged in (
        ((known(),), False),
        ((known(), known(metric="server_cpu", at_most=2.0)), True),
    ):
        head = acknowledgements.applied(compare.compare(both, policy), entries).cells[1]
        assert (head.acknowledged is not None) is acknowledged


def test_what_is_not_regressed_is_not_touched() -> None:
    document = a_document(starts_of(0))
    assert judged(document, known())[1] == head_of(document)
