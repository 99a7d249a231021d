"""Builds of `make bench-site`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shootout.document import journal
from shootout.paths import ROOT
from tests.support import builders


def test_a_site_is_built_in_a_process_of_its_own_whatever_it_leaves_out(tmp_path: Path) -> None:
    document = builders.a_run()
    (tmp_path / journal.new_name(document.header.run)).write_bytes(journal.encoded(document))
    (tmp_path / journal.new_name("unreadable")).touch()
    command = [sys.executable, "-m", "benchmarks.site", "--build", str(tmp_path), str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kibibytes = map(float, done.stdout.split())
    assert seconds > 0
    assert kibibytes > 10_000
    assert (tmp_path / "site" / "index.html").exists()
