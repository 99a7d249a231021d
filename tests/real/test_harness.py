from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from shootout.paths import ROOT

OUTSIDE = """
import sys
from shootout import app, cli
from shootout.errors import MeasureError
def refuse(*_):
    raise MeasureError("measured")
app.run = refuse
sys.exit(cli.main(["run", "--profile", "quick", "--out", sys.argv[1]]))
"""


def test_a_users_own_pytest_options_are_not_for_the_suites(tmp_path: Path) -> None:
    environment = os.environ | {"PYTEST_ADDOPTS": "--color=yes -v -k nothing"}
    command = (sys.executable, "-c", OUTSIDE, tmp_path)
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, "shootout: measured")
