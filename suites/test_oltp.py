"""The run's workloads, one item per cell: `test_oltp[<workload>-<server>-t<threads>]`.

An item fails if its cell regressed, could not be measured, or left tables that a check of the workload
refuses; the message says which. It is skipped if the run did not get to its cell.
"""

import pytest

from shootout.model.verdict import CellComparison, Verdict
from shootout.report import run_answer


def test_oltp(cell: CellComparison) -> None:
    if cell.verdict in (Verdict.FAILED, Verdict.REGRESSED):
        pytest.fail(run_answer.told(cell), pytrace=False)
