"""`shootout explain` on real servers, profiled by the real perf."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
from pathlib import Path

from shootout.document import journal
from shootout.explain import changed_cells, judge
from shootout.explain.documents import EXPLANATIONS
from shootout.explain.measure import Question
from tests.real.explain.test_command import CELL, Asked
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]


def test_a_setting_is_tried_and_a_machine_without_perf_explains_the_rest(
    asked: Asked, lab: Lab, tmp_path: Path
) -> None:
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith("perf"):
            (tmp_path / program.name).symlink_to(program)
    command = ("env", f"PATH={tmp_path}", SHOOTOUT, "explain", str(document_in(asked.out)), CELL)
    tried = ("--try", "performance_schema=OFF", "--try", "innodb_adaptive_hash_index=OFF")
    options = ("--out", str(asked.out), "--budget", "0.2", *tried, "--json")
    done = lab.run(*command, *options)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["not_profiled"].startswith("perf is not installed: apt-get install linux-perf")
    assert answer["functions"] == []
    assert list(answer["throughput_with"]) == list(tried[1::2])
    ratios = [trial["to_head"] for trial in answer["throughput_with"].values()]
    assert all(ratio["estimate"] > 0 for ratio in ratios if ratio)  # in seconds no server must get steady
    assert len(answer["plans"]) == 9


def test_an_interruption_leaves_the_starts_so_far_and_the_command(
    asked: Asked, lab: Lab, tmp_path: Path
) -> None:
    out = tmp_path / "reports"
    shutil.copytree(asked.out, out, ignore=shutil.ignore_patterns("explained"))
    given = ("explain", journal.stem(document_in(out)), CELL, "--budget", "3", "--out", str(out))
    with lab.running(SHOOTOUT, *given, folder=tmp_path) as running:
        running.said(f"start 2: {CELL}-head: ")
        running.process.send_signal(signal.SIGINT)
        assert running.ended() == 130
    told = running.err.read_text().split("shootout: interrupted\n")[1]
    assert told.startswith(f"so far: oltp_read_write, 2 threads: {HEAD} against {BASE}: ")
    assert told.endswith(f"\nto begin again: {shlex.join(['shootout', *given])}\n")
    (file,) = EXPLANATIONS.find(out / "results")
    explained = judge.read(file)
    assert explained.paths.starts == 2
    run = journal.read(document_in(out))
    assert changed_cells.known(Question(run, explained.explanation.cell, out / "results")) is None
    assert lab.left() == ([], [])
