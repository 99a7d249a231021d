"""`shootout upgrade` on real servers."""

from __future__ import annotations

import json
from pathlib import Path

from shootout.upgrade.configuration import is_kept
from shootout.upgrade.documents import UPGRADES
from tests.real.upgrade.test_command import CNF
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


def test_an_upgrade_says_what_changes_and_goes_on_where_it_was_cut(lab: Lab, tmp_path: Path) -> None:
    cnf, markdown = tmp_path / "my.cnf", tmp_path / "upgrade.md"
    cnf.write_text(CNF)
    old = f"{BASE}=path:{lab.tree(BASE)}"
    asked = (SHOOTOUT, "upgrade", old, HEAD, "--settings", str(cnf), "--workloads", "oltp_point_select")
    options = (*asked, "--out", str(tmp_path), "--markdown", str(markdown), "--json", "--budget", "2")
    first = lab.run(*options, "--without", "data,statements,results,restoring,time")
    assert first.returncode == 0, first.stderr
    path = Path(json.loads(first.stdout)["document"])
    fates = {fate.option: fate for fate in UPGRADES.read(path).options}
    assert is_kept(fates["character_set_server"])  # utf8mb3 by now
    given = {name: (path.parent / path.stem / f"{name}.cnf").read_text("utf-8") for name in ("old", "new")}
    assert all("loose-sql_mode = STRICT_TRANS_TABLES\n" in text for text in given.values())
    assert is_kept(fates["optimizer_switch"])

    done = lab.run(*options, "--without", "restoring,time", "--resume")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["document"] == str(path)
    document = UPGRADES.read(path)
    assert document.done == ("settings", "data", "statements", "results"), document.left_out
    assert set(document.left_out) == {"restoring", "time"}
    assert document.data is not None
    assert not document.data.started  # before 8.0.16, mysql_upgrade has to repair the system tables
    assert "system tables" in " ".join(document.data.told)
    assert document.results == ()
    (changed, *_) = (change for change in printed["statements"] if change["kind"] == "point_select")
    assert changed["server"] == HEAD
    assert changed["ratio"] is not None
    assert "Every statement that was compared returns the same rows" in markdown.read_text("utf-8")

    counted = path.parents[1] / document.statements
    rest = "settings,data,results,restoring,time"
    with_count = ("upgrade", old, HEAD, "--counted", str(counted), "--without", rest)
    of_count = lab.run(SHOOTOUT, *with_count, "--out", str(tmp_path / "counted"), "--json")
    assert of_count.returncode == 0, of_count.stderr
    again = ("upgrade", old, HEAD, "--again", str(path), "--without", "time")
    elsewhere = lab.run(SHOOTOUT, *again, "--out", str(tmp_path / "elsewhere"), "--json")
    assert elsewhere.returncode == 0, elsewhere.stderr
    for other in (of_count, elsewhere):
        assert json.loads(other.stdout)["statements"] == printed["statements"]
    assert (tmp_path / "elsewhere" / "results" / document.statements).exists()
    alone = lab.run(SHOOTOUT, "upgrade", "--again", str(path), "--out", str(tmp_path / "third"))
    assert alone.returncode == 2  # it would start a program that the document chose
    assert f"name both servers: {BASE}=SERVER {HEAD}=SERVER --again {path}" in alone.stderr
    assert lab.left() == ([], [])
