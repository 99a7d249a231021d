"""The rule of verdicts is frozen: recorded runs get the verdicts that its number stands for.

A change of the rule takes a new number in thresholds.py, a new golden file, and its figures in
docs/results.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.showcase import record
from benchmarks.verdict.__main__ import POLICY, RECORDED
from shootout.analysis import compare
from shootout.analysis.thresholds import RULE
from shootout.document import journal
from shootout.model.verdict import Comparison

GOLDEN = Path(__file__).parent / "golden" / f"rule-{RULE}.txt"
VERDICT_RUNS = ("aa-1", "paused-2", "power-2", "bias-pause-1")


def lines(name: str, found: Comparison) -> Iterator[str]:
    assert found.rule == RULE
    for each in (*found.cells, *found.aa_controls):
        if each.ratio is not None:
            cell = f"{each.cell.workload} {each.cell.threads} {each.cell.server}"
            ends = " ".join(f"{end:.3f}" for end in (each.ratio.estimate, each.ratio.low, each.ratio.high))
            yield f"{name}: {cell}: {each.verdict} {ends}"


def test_recorded_runs_keep_their_verdicts(tmp_path: Path) -> None:
    found = [
        line
        for path in record.unpacked(tmp_path)
        for line in lines(journal.stem(path), compare.compare(journal.read(path)))
    ]
    for name in VERDICT_RUNS:
        document = journal.read(RECORDED / f"{name}.jsonl.xz")
        found += lines(name, compare.compare(document, POLICY))
    (tmp_path / GOLDEN.name).write_text("\n".join(found) + "\n")
    assert found == GOLDEN.read_text().splitlines(), f"cp {tmp_path / GOLDEN.name} {GOLDEN}"
