"""Workloads of your own: `--workloads FILE.toml` makes items `test_own[<workload>-<server>-t<threads>]`."""

from shootout.model.verdict import CellComparison, Verdict


def test_own(cell: CellComparison) -> None:
    """The file's workload."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason
