"""The performance suites under pytest: what they list and select, and what reaches pytest-benchmark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shootout import cli, numbers, paths
from shootout.document import journal
from shootout.inputs import workload
from tests.support import builders
from tests.support.runs import BASE, HEAD, PYTEST, Lab, document_in

pytest_plugins = ["tests.support.runs"]

OF_THE_COMMAND = {"--check-results", "--junit-xml"}  # done before pytest starts, and pytest's own
PACKED = ("conftest.py", "fixtures", "pyproject.toml", "suites", "templates")  # as `make wheel` does
OLTP = "suites/test_oltp.py::test_oltp"
POINT_SELECT = workload.FOLDER / "oltp_point_select.toml"


def suites(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest on the suites, with an empty cache folder that must stay so."""
    command = [*PYTEST, "suites", "--out", str(folder / "out"), *options]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder), "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=paths.ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert list(folder.glob("out")) == list(folder.glob("shootout")) == []
    return done


def listed(folder: Path, *options: str) -> list[str]:
    """The ids of the items that would run."""
    done = suites(folder, "--collect-only", "-q", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


# --- the matrix -----------------------------------------------------------------------------------


def test_collecting_lists_the_matrix_and_starts_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path, "--servers", f"{BASE},{HEAD},{HEAD}", "--threads", "1,16") == [
        f"{OLTP}[{name}-{server}-t{threads}]"
        for name in ("oltp_point_select", "oltp_read_only", "oltp_read_write")
        for threads in (1, 16)
        for server in (BASE, HEAD, f"{HEAD}#2")
    ]


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        (("-m", "write and oltp"), ("bulk_insert", "oltp_read_write")),
        (("-m", "read or tpcc", "-k", "only and t8 or tpcc"), ("oltp_read_only", "tpcc")),
    ],
)
def test_words_and_markers_select(
    options: tuple[str, ...], selected: tuple[str, ...], tmp_path: Path
) -> None:
    workloads = "bulk_insert,oltp_point_select,oltp_read_only,oltp_read_write,tpcc"
    run = ("--servers", HEAD, "--threads", "8", "--workloads", workloads)
    assert listed(tmp_path, *run, *options) == [f"{OLTP}[{name}-{HEAD}-t8]" for name in selected]


def test_a_workload_of_ones_own_has_items_too(tmp_path: Path) -> None:
    mine = tmp_path / "by_key.toml"
    mine.write_text(POINT_SELECT.read_text())
    options = ("--workloads", f"{mine},oltp_read_only.prepared", "--threads", "2", "--servers", HEAD)
    assert listed(tmp_path, *options) == [
        f"{OLTP}[by_key-{HEAD}-t2]",
        f"{OLTP}[oltp_read_only.prepared-{HEAD}-t2]",
    ]


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--threads", "0", r"--threads 0: expected .*; found '0'"),
        ("-n", "2", "-n: cells are measured one after the other, in one process; leave it out"),
        ("--table-size", "1000", "--table-size 1000: use --set dataset.rows=1000"),
        ("--set", "dataset.rows=a", "--set: dataset.rows: Expected `int`, got `str`"),
        ("--explain", "five", "--explain 'five': expected .*"),
    ],
)
def test_what_is_wrong_is_a_usage_error(option: str, text: str, said: str, tmp_path: Path) -> None:
    done = suites(tmp_path, option, text)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert re.fullmatch(f"ERROR: {said}", line)


def test_pytest_takes_the_options_of_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    ours = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    section = suites(tmp_path, "--help").stdout.partition("performance suites")[2].partition("\n\n")[0]
    assert set(re.findall(r"^  (--[a-z-]+)", section, re.MULTILINE)) == ours - OF_THE_COMMAND


def test_the_wheel_has_them_too(tmp_path: Path) -> None:
    shutil.copytree(paths.PACKAGE, tmp_path / "shootout", ignore=shutil.ignore_patterns("_data"))
    (data := tmp_path / "shootout" / "_data").mkdir()
    for name in PACKED:
        source = paths.ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, data / name)
    command = [*PYTEST, "shootout/_data/suites", "--servers", HEAD, "--collect-only", "-q"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"suites/test_oltp.py::test_oltp[oltp_read_only-{HEAD}-t1]" in done.stdout


# --- measured -------------------------------------------------------------------------------------


def test_an_item_fails_in_the_words_of_its_server(lab: Lab, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cnf"
    wrong.write_text("[mysqld]\ninnodb_no_such_option = 1\n")
    options = (f"--profile={lab.once}", f"--servers={BASE},{HEAD}@{wrong}", f"--out={tmp_path / 'out'}")
    done = lab.run(*PYTEST, "suites", *options, "--threads=1", "--workloads=oltp_point_select")
    assert done.returncode == 3
    assert "1 failed, 1 skipped" in done.stdout  # the base had nothing beside it
    (failure,) = journal.read(document_in(tmp_path / "out")).failures
    assert failure.cell.server == f"{HEAD}@wrong.cnf"
    assert "innodb_no_such_option" in failure.reason
    assert f"FAILED {OLTP}[oltp_point_select-{HEAD}@wrong.cnf-t1]" in done.stdout
    assert "unknown variable 'innodb_no_such_option=1'" in done.stdout
    assert lab.left() == ([], [])


# --- recorded -------------------------------------------------------------------------------------

REPLAY = """
from pathlib import Path

from shootout.measure import campaign

campaign.measure = lambda *_, **__: Path({document!r})
"""
KNOWN = """
[[change]]
workload = "oltp_*"
server = "mysql-8.0.*"
at_most = 0.5
expires = 2030-01-01
owner = "ann"
reason = "bug 1"
"""


@pytest.mark.parametrize(
    ("known", "code", "said"),
    [("", 1, "24.1 % slower"), (KNOWN, 0, "acknowledged by ann until 2030-01-01: bug 1")],
    ids=["counts", "acknowledged"],
)
def test_a_regression_fails_its_item_where_it_fails_the_gate(
    known: str, code: int, said: str, tmp_path: Path
) -> None:
    header = builders.a_header(workloads=("oltp_point_select",), threads=(1,))
    recorded = builders.a_run(header, failing=False)
    results, report = tmp_path / "results", tmp_path / "junit.xml"
    results.mkdir()
    path = results / f"{header.run}.jsonl"
    path.write_bytes(journal.encoded(recorded))
    acknowledged = tmp_path / "acknowledged.toml"
    acknowledged.write_text(known)
    (tmp_path / "replay.py").write_text(REPLAY.format(document=str(path)))
    python_path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = [f"--servers={BASE},{HEAD}", "--workloads=oltp_point_select", "--threads=1"]
    options += [f"--out={tmp_path}", f"--acknowledged={acknowledged}"]
    done = subprocess.run(
        [*PYTEST, "suites", "-W", "error", "-p", "replay", f"--junitxml={report}", *options],
        cwd=paths.ROOT,
        env=os.environ | {"PYTHONPATH": python_path, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    cases = [*ElementTree.parse(report).getroot().iter("testcase")]
    told = [{each.attrib["name"]: each.attrib["value"] for each in case.iter("property")} for case in cases]
    assert told[0] == {"verdict": "○ unjudged", "reason": "the base"}
    assert told[1]["verdict"].startswith("▼ regressed")
    assert told[1]["change"] in done.stdout.replace(numbers.SPACE, " ")
    assert told[1]["detectable"].startswith(numbers.MINUS)
    assert [case.find("failure") is not None for case in cases] == [False, code == 1]
    (why,) = [each.attrib["message"] for each in cases[1] if each.tag in ("failure", "skipped")]
    assert said in why
