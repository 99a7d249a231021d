"""`shootout explain` on real servers, profiled by the real perf."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from shootout.document import journal
from shootout.explain import judge
from shootout.explain.documents import EXPLANATIONS
from shootout.explain.judge import Explained
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]

CELL = "oltp_read_write-t2"
SHORT = ("--budget", "0.7")  # minutes: two starts


@dataclass(frozen=True)
class Asked:
    """A run, and the answer to why a cell of it changed."""

    out: Path
    done: subprocess.CompletedProcess[str]

    @property
    def explained(self) -> Explained:
        """The evaluated explanation."""
        (file,) = EXPLANATIONS.find(self.out / "results")
        return judge.read(file)


def an_answer(lab: Lab, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return lab.run(
        SHOOTOUT, "explain", journal.stem(document_in(out)), CELL, "--out", str(out), *SHORT, *options
    )


@pytest.fixture(scope="module")
def asked(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    out = tmp_path_factory.mktemp("reports")
    cell = ("--workloads", "oltp_read_write", "--threads", "2")
    done = lab.run(SHOOTOUT, "run", "--profile", str(lab.once), *cell, "--out", str(out))
    assert done.returncode in (0, 1), done.stderr
    return Asked(out, an_answer(lab, out))


def test_the_answer_has_everything(asked: Asked) -> None:
    assert asked.done.returncode == 0, asked.done.stderr
    for words in (
        f"oltp_read_write, 2 threads: {HEAD} against {BASE}", "Response time per transaction: ",
        "Server CPU time per transaction: ", "kinds of statement compared", "of them known to matter",
    ):  # fmt: skip
        assert words in asked.done.stdout, words


def test_servers_are_profiled_by_function(asked: Asked) -> None:
    explained = asked.explained
    assert explained.explanation.not_profiled == ""
    assert explained.paths.starts >= 2
    names = {change.name for change in explained.inclusive}
    assert {"do_command", "row_search_mvcc"} <= names
    assert any(name.endswith("[kernel]") for name in names)
    assert explained.cpu is not None
    (whole,) = (change for change in explained.inclusive if change.name == "do_command")
    assert 0.3 * explained.cpu.base < whole.base <= explained.cpu.base
    assert sum(change.base for change in explained.parts) == pytest.approx(explained.cpu.base)


def test_response_times_contain_waits(asked: Asked) -> None:
    whole, *parts = asked.explained.wall_clock
    assert sum(each.head for each in parts) == pytest.approx(whole.head)
    assert "server ready to run, waiting for a CPU" in {each.name for each in parts}


def test_each_kind_of_statement_has_its_plan(asked: Asked) -> None:
    plans = asked.explained.explanation.plans
    kinds = {each.kind for each in plans}
    assert len(kinds) == 9  # five selects, two updates, a deletion, an insertion
    assert {(each.server, each.kind) for each in plans} == {
        (server, kind) for server in ("base", "head") for kind in kinds
    }
    assert not [each.error for each in plans if each.error]
    assert not [each.kind for each in asked.explained.plans if each.changed]
    (point,) = (each for each in asked.explained.plans if each.kind.startswith("point"))
    assert point.base.handlers == {"Handler_read_key": 1.0}


def test_servers_log_no_statement_afterwards(asked: Asked) -> None:
    for variables in asked.explained.explanation.variables.values():
        assert (variables["general_log"], variables["log_output"]) == ("OFF", "FILE")


def test_the_newest_run_and_its_worst_regression_are_the_default(asked: Asked, lab: Lab) -> None:
    done = lab.run(SHOOTOUT, "explain", "--out", str(asked.out))
    run = journal.stem(document_in(asked.out))
    said = f"run {run}: no cell changed; name the one to explain: shootout explain {run} oltp_"
    assert (done.returncode, said in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("named", "options", "words"),
    [
        ("oltp_read_write-t9", (), f"expected one of {CELL}-{HEAD}"),
        (CELL, ("--try", "nonsense"), "expected NAME=VALUE"),
        (CELL, ("--try", "nonsense=1"), f"--try nonsense=1: {HEAD} fails with it: "),
        (CELL, ("--budget", "x"), "--budget"),
    ],
)
def test_bad_input_is_one_message(
    named: str, options: tuple[str, ...], words: str, asked: Asked, lab: Lab
) -> None:
    out = ("--out", str(asked.out))
    done = lab.run(SHOOTOUT, "explain", journal.stem(document_in(asked.out)), named, *out, *options)
    assert done.returncode == 2
    assert words in done.stderr
    lines = done.stderr.splitlines()
    assert len([line for line in lines if not line.startswith(("preparing", "warning: "))]) == 1
