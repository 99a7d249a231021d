"""`shootout explain` on real servers, profiled by the real perf."""

from __future__ import annotations

import json
from pathlib import Path

from tests.real.explain.test_command import CELL, Asked
from tests.support.runs import SHOOTOUT, Lab, document_in

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
