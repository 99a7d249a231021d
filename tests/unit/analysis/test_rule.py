"""The rule of verdicts is frozen: recorded runs get the verdicts that its number stands for.

A change of the rule takes a new number in thresholds.py, a new golden file, and its figures in
docs/results.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from shootout.analysis import compare
from shootout.analysis.thresholds import RULE
from shootout.document import journal
from shootout.model.plan import Policy
from shootout.model.verdict import Comparison
from shootout.paths import REPORTS

RECORDED = REPORTS / "showcase" / "verdict"
GOLDEN = Path(__file__).parent / "golden" / f"rule-{RULE}.txt"
VERDICT_RUNS = ("aa-1", "paused-2", "power-2", "bias-pause-1")


def lines(name: str, found: Comparison) -> Iterator[str]:
    assert found.rule == RULE
    for each in (*found.cells, *found.aa_controls):
        if each.ratio is not None:
            cell = f"{each.cell.workload} {each.cell.threads} {each.cell.server}"
            ends = " ".join(f"{end:.3f}" for end in (each.ratio.estimate, each.ratio.low, each.ratio.high))
            yield f"{name}: {cell}: {each.verdict} {ends}"


def require_kept(found: list[str], names: Collection[str], tmp_path: Path) -> None:
    """These runs have the recorded verdicts."""
    recorded = [line for line in GOLDEN.read_text().splitlines() if line.partition(":")[0] in names]
    (tmp_path / "found").write_text("\n".join(found) + "\n")
    assert found == recorded, f"{tmp_path / 'found'} differs from these lines of {GOLDEN}"


def test_recorded_runs_keep_their_verdicts(tmp_path: Path) -> None:
    found: list[str] = []
    for name in VERDICT_RUNS:
        found += lines(name, compare.compare(journal.read(RECORDED / f"{name}.jsonl.xz"), Policy()))
    require_kept(found, VERDICT_RUNS, tmp_path)
