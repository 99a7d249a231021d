"""`shootout upgrade` on real servers."""

from __future__ import annotations

import json
from pathlib import Path

from shootout.upgrade.documents import UPGRADES
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


CNF = """\
[mysqld]
query_cache_size = 1M
innodb_file_format = Barracuda
innodb_undo_logs = 64
character_set_server = utf8
sql_mode = NO_AUTO_CREATE_USER,STRICT_TRANS_TABLES
max_connections = 50
optimizer_switch = mrr=off
innodb_buffer_pool_size = 64M
innodb_log_file_size = 16M
"""


def test_an_upgrade_says_what_becomes_of_the_settings_and_what_changes(lab: Lab, tmp_path: Path) -> None:
    """The nightly test has the other parts, and continues where it was cut."""
    cnf, markdown = tmp_path / "my.cnf", tmp_path / "upgrade.md"
    cnf.write_text(CNF)
    asked = (SHOOTOUT, "upgrade", BASE, HEAD, "--settings", str(cnf), "--workloads", "oltp_point_select")
    options = ("--out", str(tmp_path), "--markdown", str(markdown), "--json", "--budget", "2")
    done = lab.run(*asked, *options, "--without", "data,statements,results,restoring,time")
    assert done.returncode == 0, done.stderr
    document = UPGRADES.read(Path(json.loads(done.stdout)["document"]))
    assert document.done == ("settings",)
    fates = {fate.option: fate for fate in document.options}
    assert fates["query_cache_size"].new is None
    assert fates["innodb_undo_logs"].renamed == "innodb_rollback_segments"
    assert fates["sql_mode"].refused == "mode NO_AUTO_CREATE_USER"
    assert fates["max_connections"].new == "50"
    assert "renamed to innodb_rollback_segments" in markdown.read_text("utf-8")
    assert (tmp_path / "site" / "upgrades" / f"{document.upgrade}.html").exists()
    assert lab.left() == ([], [])
