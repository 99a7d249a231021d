"""`shootout reach` from the commit to the statement, and what it makes of a run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from shootout import cli
from shootout.errors import InputError
from shootout.model.run import REMARK
from shootout.reach import report
from shootout.reach.command import CAPABILITY
from shootout.reach.documents import MAPS
from shootout.reach.values import UNUSED, MapDocument
from tests.plans import planned
from tests.reach.builders import a_map, a_repository, git
from tests.reach.test_documents import SOURCES
from tests.report.site.pages import Document
from tests.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.runs"]

AFTER = {name: text.replace("x * 3", "x * 5") for name, text in SOURCES.items()}


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What the command prints as JSON."""
    code = cli.main(["reach", *arguments, "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "repository", SOURCES, AFTER)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with a map."""
    return MAPS.write(tmp_path / "results", a_map().run, a_map()).parents[1]


def test_from_the_commit_to_the_kinds_that_execute_an_inlined_line(
    repository: Path, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None, "a C compiler is missing"
    binaries = []
    for side, tag in (("base", "before"), ("head", "after")):
        git(repository, "checkout", "--quiet", tag)
        binary = tmp_path / f"{tag}.so"
        command = (compiler, "-g", "-O2", "-shared", "-fPIC", "-o", str(binary), "a.c")
        subprocess.run(command, cwd=repository, check=True)
        binaries += [f"--{side}-binary", str(binary)]
    change = ("--repo", str(repository), "--base", "before", "--head", "after", "--results", str(stored))
    (without,) = asked(capsys, *change)["functions"]
    assert (without["touched"]["name"], without["executions"]) == ("twice", [])
    (one,) = asked(capsys, *change, *binaries)["functions"]
    assert one["inlined"] == ["entry"]
    assert len(one["executions"]) == len(a_map().kinds)


def test_a_diff_and_a_map_of_ones_own(
    repository: Path, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    diff, markdown = tmp_path / "x.diff", tmp_path / "x.md"
    diff.write_text(git(repository, "diff", "before", "after"))
    (path,) = MAPS.find(stored)
    said = asked(capsys, "--diff", str(diff), "--map", str(path), "--markdown", str(markdown))
    assert said["headline"] == f"The change touches 1 function: {report.NOTHING}."
    assert report.NOTHING in markdown.read_text()
    assert asked(capsys, "--results", str(stored))["map"] == a_map().run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base", "before"), "expected --base REV and --head REV"),
        (("--repo", ".", "--diff", "x"), "--diff FILE stands alone"),
        (("--diff", "nowhere"), "nowhere: cannot be read"),
        (("--diff", __file__), "not a diff"),
        (("--map", "nowhere"), "nowhere: cannot be read"),
        (("--results", "/nowhere"), "no map of functions; `shootout work` makes one"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    arguments: tuple[str, ...], said: str, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments if "--results" in arguments else ("--results", str(stored), *arguments)
    assert cli.main(["reach", *given]) == 2
    assert said in capsys.readouterr().err


def renamed(document: MapDocument, *workloads: str) -> MapDocument:
    """A map whose kinds belong to these workloads."""
    kinds = tuple(
        structs.replace(kind, workload=name) for kind, name in zip(document.kinds, workloads, strict=True)
    )
    return structs.replace(document, kinds=kinds)


@pytest.mark.parametrize(
    ("change", "order", "last", "said"),
    [
        (
            "Item::second",
            ["oltp_point_select", "oltp_update_index", "oltp_read_only"],
            1,
            "First and longest oltp_point_select; oltp_read_only last: they execute none of it.",
        ),
        ("nobody", ["oltp_update_index", "oltp_read_only", "oltp_point_select"], 2, report.NOTHING),
    ],
)
def test_a_run_measures_first_and_longest_what_the_change_can_reach(
    change: str, order: list[str], last: int, said: str, tmp_path: Path
) -> None:
    """The map knows two of the run's three workloads, of which one executes the change."""
    document = renamed(a_map(), "oltp_point_select", "oltp_read_only", "other")
    rows = ((500, UNUSED, UNUSED), *document.mapped[0].shares[1:])
    document = structs.replace(document, mapped=(structs.replace(document.mapped[0], shares=rows),))
    MAPS.write(tmp_path, document.run, document)
    diff = tmp_path / "x.diff"
    diff.write_text(f"--- a/a.cc\n+++ b/a.cc\n@@ -2 +2 @@ int {change}(int a)\n-  one();\n+  two();\n")
    plan = planned(workloads="oltp_read_only,oltp_update_index,oltp_point_select", threads="1,2")
    arranged = CAPABILITY.planned(plan, str(diff), tmp_path)
    assert sorted(arranged.cells) == sorted(plan.cells)
    assert [*dict.fromkeys(cell.workload for cell in arranged.cells)] == order
    assert arranged.last == {block.key for block in arranged.blocks if block.workload in order[-last:]}
    *_, head = plan.servers
    remark, one = arranged.told[head]
    assert (remark.code, one.code) == (REMARK, "touched")
    assert said in remark.text
    assert one.text.startswith(f"{change} (a.cc; changed): ")


def test_a_run_of_a_change_that_cannot_be_read_is_refused(stored: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        CAPABILITY.planned(planned(), "nowhere", stored)


@pytest.mark.real
def test_a_count_leaves_a_map_and_a_gate_says_what_it_reaches(lab: Lab, tmp_path: Path) -> None:
    out, diff = ("--out", str(tmp_path)), tmp_path / "x.diff"
    work = [SHOOTOUT, "work", "--servers", BASE, "--workloads", "oltp_point_select"]
    work += ["--set", "dataset.rows=1000"]
    done = lab.run(*work, *out, "--budget", "0.01")
    assert done.returncode == 0, done.stderr
    (path,) = MAPS.find(tmp_path / "results")
    (server,) = MAPS.read(path).mapped
    assert sum(part.executed for part in server.parts) > 500
    assert len(server.beside) > 10
    assert (tmp_path / "site" / "reach" / f"{MAPS.read(path).run}.html").exists()
    diff.write_text("--- a.cc\n+++ a.cc\n@@ -2 +2 @@ dberr_t row_search_mvcc(byte *buf,\n-  a();\n+  b();\n")
    reach = lab.run(SHOOTOUT, "reach", "--results", str(tmp_path / "results"), "--diff", str(diff), "--json")
    (function,) = json.loads(reach.stdout)["functions"]
    assert 0.05 < function["executions"][0]["share"] < 0.9

    markdown = tmp_path / "gate.md"
    gate = (SHOOTOUT, "gate", "--base", BASE, "--head", BASE, "--profile", str(lab.once), *out)
    done = lab.run(*gate, "--reach", str(diff), "--markdown", str(markdown))
    assert done.returncode in (0, 4), done.stderr
    assert "The change touches 1 function, executed by" in done.stdout
    assert "The change touches 1 function" in markdown.read_text("utf-8")
    (path,) = (tmp_path / "site" / "runs").glob("*/index.html")
    assert "row_search_mvcc (a.cc; changed): " in Document(path.read_text("utf-8")).text.replace("\u200b", "")
    assert lab.left() == ([], [])
