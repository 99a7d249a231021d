"""A map of functions, and the gate of a change that it knows."""

from __future__ import annotations

from pathlib import Path

from tests.support.coverage.builders import a_repository
from tests.support.report.site.pages import Document
from tests.support.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


def test_a_gate_says_which_of_its_statements_run_the_change(lab: Lab, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path))
    count = [SHOOTOUT, "count", "--servers", BASE, "--workloads", "oltp_point_select"]
    count += ["--set", "dataset.rows=1000"]
    done = lab.run(*count, *out, "--budget", "0.01")
    assert done.returncode == 0, done.stderr
    text = "dberr_t row_search_mvcc(byte *buf) {\n  a();\n}\n"
    repository = a_repository(tmp_path / "r", {"a.cc": text}, {"a.cc": text.replace("a()", "b()")})

    markdown = tmp_path / "gate.md"
    gate = (SHOOTOUT, "gate", "--base", BASE, "--head", BASE, "--profile", str(lab.once), *out)
    done = lab.run(*gate, "--coverage", f"{repository}:before..after", "--markdown", str(markdown))
    assert done.returncode in (0, 4), done.stderr
    assert "The change touches 1 function, executed by" in done.stdout
    assert "The change touches 1 function" in markdown.read_text("utf-8")
    (path,) = (tmp_path / "site" / "runs").glob("*/index.html")
    assert "row_search_mvcc (a.cc; changed): " in Document(path.read_text("utf-8")).text.replace("\u200b", "")
    assert lab.left() == ([], [])
