"""`shootout bisect` over commits whose builds are real servers; since one of them they work longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import commits
from tests.support.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]

SHORT = """\
description = "A small table"
workloads = ["oltp_point_select"]
threads = [1]

[dataset]
tables = 1
rows = 1_000

[sampling]
measure_s = 0.3
budget_s = 500.0
"""
DEAR = 300_000  # pairs of instructions: a statement takes about twice as long


def test_ends_that_do_not_build_are_named(lab: Lab, tmp_path: Path) -> None:
    history = commits.repository(tmp_path / "repository", (0, 0, None))
    asked = ("--repo", str(tmp_path / "repository"), "--good", history[0], "--bad", "main")
    done = lab.run(SHOOTOUT, "bisect", *asked, *commits.BUILDING, "--out", str(tmp_path / "out"))
    assert done.returncode == 3
    assert f"{history[2][:10]}, an end of the history, cannot be measured" in done.stderr
    assert "error: #error not finished" in done.stderr


@pytest.mark.parametrize("instrument", [(), ("--count",)])
def test_a_build_that_does_nothing_acquits_nobody(
    instrument: tuple[str, ...], lab: Lab, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    history = commits.repository(repository, (0, DEAR, DEAR))
    once = f"test -d {commits.TREE} || {commits.BUILD}"
    done = lab.run(
        *(SHOOTOUT, "bisect", "--repo", str(repository), "--good", history[0], "--bad", history[2]),
        *("--build", once, "--set", f"build.tree={commits.TREE}"),
        *("--out", str(tmp_path / "out"), *instrument),
    )
    assert done.returncode == 3
    assert f"{history[2][:10]}, an end of the history, cannot be measured: it is the same" in done.stderr
    assert "a build command that does nothing, a wrong build.tree" in done.stderr


def test_an_answer_needs_no_page(lab: Lab, tmp_path: Path) -> None:
    profile, out, markdown = tmp_path / "short.toml", tmp_path / "out", tmp_path / "bisect.md"
    profile.write_text(SHORT, "utf-8")
    out.mkdir()
    (out / "site").touch()
    done = lab.run(
        *(SHOOTOUT, "bisect", "--over", f"one={BASE},two={BASE}", "--budget", "0.1"),
        *("--profile", str(profile), "--out", str(out), "--markdown", str(markdown)),
    )
    assert done.returncode in (0, 1, 4), done.stderr
    assert f"shootout: left out: {out}/site: cannot write the site: File exists\n" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("one", "two"))]
    assert "| two |" in markdown.read_text("utf-8")
