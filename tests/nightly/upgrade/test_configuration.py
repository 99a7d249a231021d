"""A my.cnf on a newer server."""

from __future__ import annotations

from pathlib import Path

from shootout.upgrade import configuration
from tests.support.runs import a_tree

# Options that a server must be initialised with, deprecated ones of a newer server, and a mode that it lacks.
FILE = {
    "lower_case_table_names": "1", "innodb_page_size": "8k",
    "innodb_data_file_path": "ibdata1:64M:autoextend", "innodb_undo_tablespaces": "3",
    "expire_logs_days": "7", "sql_mode": "NO_AUTO_CREATE_USER,ANSI_QUOTES",
}  # fmt: skip


def test_servers_are_initialised_with_the_file_and_blame_only_what_they_refuse(tmp_path: Path) -> None:
    old, new = (
        configuration.probe(a_tree(name), FILE, tmp_path / name) for name in ("mysql-5.7.22", "mysql-8.0.33")
    )
    assert (old.refused, new.refused) == ({}, {"sql_mode": "mode NO_AUTO_CREATE_USER"})
    assert new.variables["sql_mode"] == "ANSI_QUOTES"
    assert "deprecated" in new.told["expire_logs_days"]
    for probe in (old, new):
        assert (probe.variables["lower_case_table_names"], probe.variables["innodb_page_size"]) == (
            "1",
            "8192",
        )
    assert old.variables["innodb_undo_tablespaces"] == "3"
    of_old, of_new = configuration.measured(tuple(configuration.fates((FILE, FILE), old, new)))
    assert of_old == of_new
    assert of_old["loose-sql_mode"] == "ANSI_QUOTES"
