"""A my.cnf on a newer server."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.upgrade import configuration
from tests.support.runs import a_tree


def test_a_server_that_starts_with_nothing_to_blame_gives_its_reason(tmp_path: Path) -> None:
    with pytest.raises(MeasureError) as failure:
        configuration.probe(a_tree("mysql-5.7.22"), {"innodb_data_file_path": "a:1M"}, tmp_path / "0")
    assert "innodb" in configuration.cause(str(failure.value)).casefold()
