"""Runs that are cut short and continue: on servers that need no time, at every moment; and once for real."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from shootout.document import journal, resume
from tests.support.runs import Lab, document_in

pytest_plugins = ["tests.support.runs"]


KILLED_WHILE_IT_PACKS = """
import os, sys
from shootout import cli
from shootout.document import packed
packed.pack = lambda path: os.kill(os.getpid(), 9)
cli.main()
"""


def test_a_run_that_is_killed_after_its_last_start_leaves_no_data(lab: Lab, tmp_path: Path) -> None:
    out, data = tmp_path / "out", tmp_path / "data"
    data.mkdir()
    options = ["--profile", str(lab.profile), "--workloads", "oltp_point_select", "--data", str(data)]
    done = lab.run(sys.executable, "-c", KILLED_WHILE_IT_PACKS, "run", *options, "--out", str(out))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(data.iterdir()) == []
    assert resume.is_finished(journal.read(document_in(out)))
