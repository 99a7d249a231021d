"""`shootout soak` on real servers."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest

from shootout.soak.documents import SOAKS
from tests.support.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]

LOAD = ("--workloads", "oltp_read_write", "--threads", "2")


def test_a_soak_is_kept_by_the_second_judged_and_published(lab: Lab, tmp_path: Path) -> None:
    done = lab.run(
        SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, "--servers", f"{BASE},{BASE}",
        "--minutes", "0.1", "--turns", "2", "--json", "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    document = SOAKS.read(Path(printed["document"]))
    base, head = document.header.servers
    assert [each.server.label for each in document.servers] == [base, head]
    turns = [server for server, _ in groupby(each.server for each in document.slices)]
    assert turns == 3 * [base, head]
    for server in document.header.servers:
        slices = [each for each in document.slices if each.server == server]
        assert len(slices) >= 3
        assert sum(each.transactions for each in slices) > 0
        seen = {name for each in slices for name in each.gauges}
        assert seen == {"memory", "disk", "dirty_pages", "checkpoint_age", "history_list", "others"}
        assert [each.begins_s for each in slices] == sorted(each.begins_s for each in slices)
        assert slices[-1].begins_s < 60 * 0.1
    (first, second) = (end.footprint for end in document.ends)
    assert first.keys() == second.keys()
    assert {"memory", "disk", "write_amplification", "fsyncs", "start", "shutdown"} == first.keys()
    assert "180 s" in printed["comparisons"][0]["reason"]
    assert Path(printed["page"]).is_file()
    assert lab.left() == ([], [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--threads", "1,2"], "expected one workload and one number of threads"),
        (["--servers", "mine=dsn:mysql://root@127.0.0.1:1"], "expected a server that shootout can start"),
        (["--minutes", "-1"], "--minutes"),
        (["--turns", "-1"], "--turns"),
    ],
)
def test_what_a_soak_cannot_do_is_refused(lab: Lab, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = lab.run(SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, *arguments, "--out", str(tmp_path))
    assert done.returncode == 2
    assert words in done.stderr
