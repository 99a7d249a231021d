"""TPC-C, one item per cell: `test_tpcc[<server>-t<threads>]`.

An item fails if its cell regressed, could not be measured, or left inconsistent tables; the message says
which.
"""

import pytest

from shootout.model.verdict import CellComparison, Verdict

pytestmark = pytest.mark.tpcc


@pytest.mark.write
@pytest.mark.workload("tpcc")
def test_tpcc(cell: CellComparison) -> None:
    """The five transactions in their standard mix."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason
