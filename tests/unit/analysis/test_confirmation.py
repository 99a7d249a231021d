"""Blocks worth confirming: the same that the judge names."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lab.showcase import record
from shootout.analysis import compare, confirmation, verdicts
from shootout.document import journal
from shootout.model.run import RunDocument
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


def by_the_judge(document: RunDocument) -> tuple[str, ...]:
    comparison = compare.compare(document)
    changed = {
        (cell.cell.workload, cell.cell.threads)
        for cell in (*comparison.cells, *comparison.aa_controls)
        if any(verdicts.worth_confirming(metric, comparison.policy) for metric in cell.judged)
    }
    blocks = document.header.blocks
    return tuple(block.key for block in blocks if (block.workload, block.threads) in changed)


def test_it_says_what_the_judge_says_after_each_start_of_a_recorded_run(tmp_path: Path) -> None:
    (path,) = (each for each in record.unpacked(tmp_path) if journal.stem(each) == "20261125T061217Z-e84e2b")
    document = journal.read(path)
    seen = []
    for made in (1, 2, 3):
        starts = tuple(each for each in document.starts if each.start <= made)
        so_far = msgspec.structs.replace(document, starts=starts)
        seen.append(confirmation.worth_confirming(so_far))
        assert seen[-1] == by_the_judge(so_far)
    assert [len(blocks) for blocks in seen] == [7, 8, 9]
