from __future__ import annotations

from pathlib import Path

from shootout.servers.sources.trees import Tree
from tests.support.runs import BASE, SHOOTOUT, Lab
from tests.unit.servers.sources.test_slow_builds import RELEASE

pytest_plugins = ["tests.support.runs"]


def test_it_is_a_warning_on_all_its_cells(lab: Lab, tmp_path: Path) -> None:
    tree = tmp_path / "unoptimised"
    tree.mkdir()
    for entry in lab.tree(BASE).iterdir():
        if entry.name != "docs":
            (tree / entry.name).symlink_to(entry)
    (tree / "docs").mkdir()
    (tree / "docs" / "INFO_BIN").write_text(RELEASE.replace("-O3", "-O0"))
    assert "-O0" in Tree.inspect(tree).files.flags
    done = lab.run(
        *(SHOOTOUT, "run", "--profile", str(lab.once), "--servers", f"{BASE},new=path:{tree}"),
        *("--workloads", "oltp_point_select", "--threads", "1", "--out", str(tmp_path / "out")),
    )
    assert "new: It is no build for speed (not optimised)" in done.stdout
    assert f"{BASE}: It is no build" not in done.stdout
