"""sysbench's workloads, one item for each cell: `test_<workload>[<server>-t<threads>]`.

An item fails if its cell regressed, with the figures, or could not be measured, with the server's message.
"""

import pytest

from shootout.model.verdict import CellComparison, Verdict

pytestmark = pytest.mark.oltp


@pytest.mark.read
@pytest.mark.workload("oltp_point_select")
def test_oltp_point_select(cell: CellComparison) -> None:
    """One row by its primary key."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.read
@pytest.mark.workload("oltp_read_only")
def test_oltp_read_only(cell: CellComparison) -> None:
    """Ten rows by primary key and four ranges of a hundred, in one transaction."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.read
@pytest.mark.workload("select_random_points")
def test_select_random_points(cell: CellComparison) -> None:
    """Ten values of an indexed column in one list."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.read
@pytest.mark.workload("select_random_ranges")
def test_select_random_ranges(cell: CellComparison) -> None:
    """Ten short ranges of an indexed column, counted."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_read_write")
def test_oltp_read_write(cell: CellComparison) -> None:
    """The reads of oltp_read_only, two updates, a delete and an insert."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_write_only")
def test_oltp_write_only(cell: CellComparison) -> None:
    """Two updates, a delete and an insert, in one transaction."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_update_index")
def test_oltp_update_index(cell: CellComparison) -> None:
    """One indexed column of one row."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_update_non_index")
def test_oltp_update_non_index(cell: CellComparison) -> None:
    """One column of one row that is in no index."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_delete")
def test_oltp_delete(cell: CellComparison) -> None:
    """One row by its primary key."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_insert")
def test_oltp_insert(cell: CellComparison) -> None:
    """One row under the next free id."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("bulk_insert")
def test_bulk_insert(cell: CellComparison) -> None:
    """Thousands of rows in one statement, each connection into a table of its own."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason
