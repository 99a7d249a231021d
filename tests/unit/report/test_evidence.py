"""The sentence that a changed cell says first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shootout.model.execution_plan import ExecutionPlan, PlanChange, PlanStep
from shootout.model.verdict import CellComparison, MetricComparison, Verdict
from shootout.report import differing, wording
from shootout.settings.differences import VariableDifference
from tests.support.report.compared import a_comparison_of, an_interval, plain


def a_step(table: str, access: str, key: str = "", *extra: str) -> PlanStep:
    return PlanStep(
        select="SIMPLE",
        table=table,
        access=access,
        key=key,
        key_length="",
        ref="",
        extra=tuple(sorted(extra)),
    )


def a_plan(*steps: PlanStep, warnings: tuple[str, ...] = ()) -> ExecutionPlan:
    return ExecutionPlan(
        start=1, server="s", kind="missing", sql="SELECT 1", steps=steps, text="", warnings=warnings
    )


def a_change(base: ExecutionPlan, head: ExecutionPlan, *, changed: bool = True) -> PlanChange:
    return PlanChange(kind="missing", base=base, head=head, changed=changed, unsteady=False)


SCANNED = a_change(
    a_plan(a_step("seen", "ref", "word")),
    a_plan(a_step("seen", "ALL"), warnings=("Memory capacity exceeded",)),
)


def a_cell(ratio: float, rows: tuple[float, float], *plans: PlanChange) -> CellComparison:
    verdict = Verdict.REGRESSED if ratio < 1 else Verdict.IMPROVED
    read = MetricComparison(
        name="rows_read", base=rows[0], head=rows[1], difference=an_interval(rows[1] - rows[0], 0.0),
        ratio=None, p_value=0.001,
    )  # fmt: skip
    return replace(a_comparison_of((verdict, ratio)).cells[1], metrics=(read,), plans=plans, statements=())


def test_a_change_is_said_with_its_rows_its_plan_and_the_servers_warning() -> None:
    sentence = plain(wording.change_sentence(a_cell(1 / 33, (201, 40_100), SCANNED)))
    assert sentence == (
        "×33 slower; rows read 201 → 40 100; plan of missing: ref on word → full scan; "
        "the server warns: Memory capacity exceeded"
    )


@pytest.mark.parametrize(
    ("ratio", "rows", "expected"),
    [
        (0.79, (10.0, 12.0), "21 % slower"),  # more rows, but not by half
        (0.79, (10.0, 2.0), "21 % slower"),  # fewer
        (4.0, (10.0, 2.0), "×4.0 faster; rows read 10.0 → 2.00"),
        (1.08, (0.0, 0.01), "8 % faster"),
    ],
)
def test_only_amounts_that_go_with_the_change_are_said(
    ratio: float, rows: tuple[float, float], expected: str
) -> None:
    assert plain(wording.change_sentence(a_cell(ratio, rows))) == expected


def test_evidence_stands_in_place_of_a_command_that_looks_for_a_cause() -> None:
    unknown, known = a_cell(0.5, (1, 1)), a_cell(0.5, (1, 1), SCANNED)
    assert wording.leading_causes(unknown, (), "run")[0] == "No cause found yet"
    assert wording.leading_causes(known, (), "run") == ("", (), "")


A, B, C = a_step("a", "ALL"), a_step("b", "ref", "k"), a_step("c", "ALL")


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ((A, B), (A, a_step("b", "index", "k")), "b: ref on k → full scan of k"),
        ((A, B), (B, A), "tables in the order a, b → b, a"),
        ((A,), (a_step("a", "ALL", "", "Using filesort"),), "plain → Using filesort"),
        ((A,), (A, B), "a: full scan → a: full scan, b: ref on k"),
        (
            (A, B),
            (B, a_step("a", "eq_ref", "k"), a_step("c", "ALL")),
            "a: full scan → a: eq_ref on k, c: full scan",
        ),
        ((a_step("", ""),), (A,), "no table → a: full scan"),
        ((A,), (), "a: full scan → another plan"),
    ],
)
def test_a_plan_is_said_as_far_as_it_differs(
    base: tuple[PlanStep, ...], head: tuple[PlanStep, ...], expected: str
) -> None:
    assert differing.ways(a_change(a_plan(*base), a_plan(*head))) == expected


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("a=on,b=on", "a=on,b=on,c=on", "also c=on"),
        ("a,b,c", "a,b", "no longer c"),
        ("a,b", "a", "no longer b"),
        ("a,b", "a,c", "b → c"),
        ("1", "2", "1 → 2"),
        (None, "a,b", "absent → a,b"),
    ],
)
def test_a_variable_that_only_gains_or_loses_items_names_them_once(
    base: str | None, head: str, expected: str
) -> None:
    variable = VariableDifference(name="v", base=base, head=head, origin="default", notable=True)
    assert differing.variable_change(variable) == expected
