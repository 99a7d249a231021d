"""Comparisons: every cell of a run, its A/A cells, and what a gate makes of them."""

from __future__ import annotations

import msgspec
import pytest

from shootout.analysis import compare, gate, ledger
from shootout.errors import InputError
from shootout.model.plan import Policy
from shootout.model.verdict import Comparison, Verdict
from tests.support.analysis.builders import (
    READS,
    WRITES,
    a_document,
    a_failure,
    a_server,
    an_entry,
    confirming,
    head_of,
    starts_of,
    with_aa_controls,
)


def test_the_policy_is_the_profiles_unless_given() -> None:
    document = a_document(starts_of(-10))
    assert compare.compare(document).policy == document.header.profile.policy
    lenient = Policy(margin=0.2)
    assert compare.compare(document, lenient).policy == lenient
    assert head_of(document, lenient).verdict is Verdict.EQUIVALENT


def test_an_a_a_cell_is_confirmed_like_the_others() -> None:
    """It looked slower; after fresh starts it does not: no false alarm."""
    first = with_aa_controls(starts_of(0), -10)
    assert compare.compare(a_document(first)).aa_controls[0].verdict is Verdict.REGRESSED
    absent = a_document(first, blocks=(msgspec.structs.replace(READS, servers=("gone", "a", "b")),))
    (of_next,) = compare.compare(absent).aa_controls
    assert (of_next.verdict, of_next.base.server) == (Verdict.REGRESSED, "a")
    for later, verdict in ((0, Verdict.INCONCLUSIVE), (-10, Verdict.REGRESSED)):
        again = with_aa_controls(confirming(starts_of(0)), later)
        (aa_control,) = compare.compare(a_document(first + again)).aa_controls
        assert aa_control.verdict is verdict
        assert aa_control.judged[0].confirmed is (True if later else None)


def test_an_a_a_cell_is_judged_like_the_others_but_not_one_of_them() -> None:
    found = compare.compare(a_document(with_aa_controls(starts_of(-10), 0.5)))
    assert [cell.cell.server for cell in found.cells] == ["a", "b"]
    (aa_control,) = found.aa_controls
    assert (aa_control.cell.server, aa_control.base.server) == ("a again", "a")
    assert aa_control.verdict is Verdict.EQUIVALENT
    assert found.cells[1].judged[0].floor is not None
    assert (found.false_alarms.alarms, found.false_alarms.cells) == (0, 1)


def test_a_false_alarm_is_counted() -> None:
    known = [an_entry(0.005), an_entry(0.006, verdict=Verdict.IMPROVED)]
    history = [msgspec.structs.replace(each, comparisons=2) for each in known]
    found = compare.compare(a_document(with_aa_controls(starts_of(0), -10)), ledger_entries=history)
    assert found.aa_controls[0].verdict is Verdict.REGRESSED
    assert (found.false_alarms.alarms, found.false_alarms.cells) == (2, 3)
    assert gate.exit_code(found) == 0  # nothing was done to a server


def test_a_server_that_is_named_twice_is_an_a_a_cell_too() -> None:
    servers = [msgspec.structs.replace(a_server(label), reference="x") for label in ("a", "b")]
    found = compare.compare(a_document(starts_of(0), servers=servers))
    assert found.cells[1].verdict is Verdict.EQUIVALENT
    assert found.false_alarms.cells == 1
    apart = compare.compare(a_document(starts_of(0), servers=[a_server("a"), a_server("b")]))
    assert apart.false_alarms.cells == 0


def test_a_run_judged_again_does_not_count_twice() -> None:
    document = a_document(with_aa_controls(starts_of(0), 0))
    first = compare.compare(document)
    again = compare.compare(
        document, ledger_entries=ledger.entries_of_run(document.header, Policy(), (), first.aa_controls)
    )
    assert again == first


def test_an_unknown_base() -> None:
    with pytest.raises(InputError, match=r"^unknown server 'mysql-8', not in run r; known: a, b$"):
        compare.compare(a_document(starts_of(0)), base="mysql-8")


def test_a_comparison_survives_json() -> None:
    comparison = compare.compare(a_document(starts_of(-10), a_failure("b", WRITES), blocks=(READS, WRITES)))
    assert msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison) == comparison
