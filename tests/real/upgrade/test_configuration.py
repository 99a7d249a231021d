"""A my.cnf on a newer server."""

from __future__ import annotations

from pathlib import Path

from shootout.upgrade import configuration
from tests.support.runs import a_tree


def test_an_option_that_the_log_does_not_name_is_found_by_halving(tmp_path: Path) -> None:
    options = {"back_log": "90", "innodb_data_file_path": "a:1M", "max_connections": "50"}
    probe = configuration.probe(a_tree("mysql-5.7.22"), options, tmp_path / "0")
    assert probe.refused.keys() == {"innodb_data_file_path"}
    assert "innodb" in probe.refused["innodb_data_file_path"].casefold()
    assert probe.variables["max_connections"] == "50"
