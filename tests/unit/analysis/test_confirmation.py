"""Blocks worth confirming: the same that the judge names."""

from __future__ import annotations

from shootout.analysis import confirmation
from tests.support.analysis.builders import READS, WRITES, a_document, an_entry, starts_of, with_aa_controls


def test_a_block_is_worth_confirming_if_a_cell_in_it_may_have_changed() -> None:
    for change in (-10, 10):
        starts = [*starts_of(change), *starts_of(0, block=WRITES)]
        document = a_document(starts, blocks=(READS, WRITES))
        assert confirmation.worth_confirming(document) == (READS.key,)
    assert confirmation.worth_confirming(a_document([])) == ()


def test_an_a_a_cell_is_worth_it_too() -> None:
    document = a_document(with_aa_controls(starts_of(0), -10))
    assert confirmation.worth_confirming(document) == (READS.key,)


def test_what_noise_alone_reaches_is_not() -> None:
    """The bar is that of the final verdict: the runner's earlier A/A cells count."""
    document = a_document(starts_of(-10))
    assert confirmation.worth_confirming(document, [an_entry(0.3)]) == ()
    assert confirmation.worth_confirming(document, [an_entry(0.001)]) == (READS.key,)
