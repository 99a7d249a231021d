"""`shootout coverage` from the commit to the statement, and its remarks about a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from shootout import app, cli, steps
from shootout.conclusion import Request
from shootout.coverage import answer
from shootout.coverage.documents import MAPS, remarks
from shootout.coverage.values import UNUSED, MapDocument
from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.model.run import REMARK
from shootout.numbers import SPACE
from tests.support.coverage.builders import a_map, a_repository
from tests.support.plans import planned
from tests.support.runs import BASE, SHOOTOUT, Lab
from tests.unit.coverage.test_documents import SOURCE

pytest_plugins = ["tests.support.runs"]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Read what the command prints as JSON."""
    code = cli.main(["coverage", *arguments, "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "repository", {"a.c": SOURCE}, {"a.c": SOURCE.replace("v + 1", "v + 2")})


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with a map."""
    return MAPS.write(tmp_path / "results", a_map().run, a_map()).parents[1]


def test_from_the_commit_to_the_kinds_that_execute_it(
    repository: Path, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = ("--repo", str(repository), "--base", "before", "--head", "after")
    (one,) = asked(capsys, *change, "--results", str(stored))["functions"]
    assert one["touched"]["name"] == "entry"
    assert len(one["executions"]) == len(a_map().kinds)
    assert asked(capsys, "--results", str(stored))["map"] == a_map().run

    functions = tuple(f"n::{name}" for name in a_map().functions)
    unseen = structs.replace(a_map(), functions=functions, symbols=("entry",))
    path, markdown = MAPS.write(tmp_path, "other", unseen), tmp_path / "x.md"
    said = asked(capsys, *change, "--map", str(path), "--markdown", str(markdown))
    assert said["headline"] == f"The change touches 1 function: {answer.NOTHING}."
    assert answer.NOTHING in markdown.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base", "before"), "expected --base REV and --head REV"),
        (("--repo", "/nowhere", "--base", "a", "--head", "b"), "/nowhere: "),
        (("--map", "nowhere"), "nowhere: cannot be read"),
        (("--results", "/nowhere"), "no coverage map; `shootout count` makes one"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    arguments: tuple[str, ...], said: str, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments if "--results" in arguments else ("--results", str(stored), *arguments)
    assert cli.main(["coverage", *given]) == 2
    assert said in capsys.readouterr().err


def renamed(document: MapDocument, *workloads: str) -> MapDocument:
    """A map whose kinds belong to these workloads."""
    kinds = tuple(
        structs.replace(kind, workload=name) for kind, name in zip(document.kinds, workloads, strict=True)
    )
    return structs.replace(document, kinds=kinds)


def test_a_run_says_what_the_change_reaches_and_measures_as_without_it(
    repository: Path, tmp_path: Path
) -> None:
    """The map knows two of the run's three workloads, of which one executes the change."""
    document = renamed(a_map(), "oltp_point_select", "oltp_read_only", "other")
    shares = [*document.mapped[0].shares]
    shares[1] = (500, UNUSED, UNUSED)
    server = structs.replace(document.mapped[0], shares=tuple(shares))
    document = structs.replace(document, mapped=(server,))
    MAPS.write(tmp_path / "results", document.run, document)
    chosen = Selection.read(workloads="oltp_read_only,oltp_update_index,oltp_point_select")
    prepared = app.prepare(Request(chosen, tmp_path, coverage=f"{repository}:before..after")).plan
    assert prepared.cells == steps.plan(chosen).cells
    *_, head = prepared.servers
    remark, one = prepared.told[head]
    assert (remark.code, one.code) == (REMARK, "touched")
    assert remark.text.endswith(
        " The map does not know oltp_update_index. oltp_read_only executes none of it."
    )
    assert one.text == "entry (a.c; changed): 50 % of oltp_point_select, point".replace(" %", f"{SPACE}%")


@pytest.mark.parametrize(
    ("wish", "said"), [("x.diff", "expected DIR:BASE..HEAD"), ("/nowhere:a..b", "/nowhere")]
)
def test_a_run_of_a_change_that_cannot_be_read_is_refused(wish: str, said: str, stored: Path) -> None:
    with pytest.raises(InputError, match=said):
        [*remarks(planned(), wish, stored, pytest.fail)]


def test_a_count_leaves_a_map(lab: Lab, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path))
    count = [SHOOTOUT, "count", "--servers", BASE, "--workloads", "oltp_point_select"]
    count += ["--set", "dataset.rows=1000"]
    done = lab.run(*count, *out, "--budget", "0.01")
    assert done.returncode == 0, done.stderr
    (path,) = MAPS.find(tmp_path / "results")
    (server,) = MAPS.read(path).mapped
    assert sum(part.executed for part in server.parts) > 500
    assert len(server.beside) > 10
    text = "dberr_t row_search_mvcc(byte *buf) {\n  a();\n}\n"
    repository = a_repository(tmp_path / "r", {"a.cc": text}, {"a.cc": text.replace("a()", "b()")})
    asked = ("--repo", str(repository), "--base", "before", "--head", "after", "--json")
    coverage = lab.run(SHOOTOUT, "coverage", "--results", str(tmp_path / "results"), *asked)
    (function,) = json.loads(coverage.stdout)["functions"]
    assert 0.05 < function["executions"][0]["share"] < 0.9
    assert lab.left() == ([], [])
