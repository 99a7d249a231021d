"""sysbench's workloads, one item per cell: `test_<workload>[<server>-t<threads>]`.

An item fails if its cell regressed, with the figures, or could not be measured, with the error of the server.
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
    """Ten rows by primary key and four ranges of a hundred rows, in one transaction."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.read
@pytest.mark.workload("select_random_points")
def test_select_random_points(cell: CellComparison) -> None:
    """Rows by a list of ten values of an indexed column."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.read
@pytest.mark.workload("select_random_ranges")
def test_select_random_ranges(cell: CellComparison) -> None:
    """The row count of ten short ranges of an indexed column."""
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
    """An update of an indexed column of one row."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_update_non_index")
def test_oltp_update_non_index(cell: CellComparison) -> None:
    """An update of an unindexed column of one row."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_delete")
def test_oltp_delete(cell: CellComparison) -> None:
    """A delete of one row by its primary key."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("oltp_insert")
def test_oltp_insert(cell: CellComparison) -> None:
    """An insert of one row with the next free id."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason


@pytest.mark.write
@pytest.mark.workload("bulk_insert")
def test_bulk_insert(cell: CellComparison) -> None:
    """Inserts of thousands of rows per statement, each connection into its own table."""
    assert cell.verdict not in (Verdict.FAILED, Verdict.REGRESSED), cell.reason
