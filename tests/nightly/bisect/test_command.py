"""`shootout bisect` over commits whose builds are real servers; since one of them they work longer."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from lab import commits
from shootout.bisect.documents import BISECTIONS
from tests.real.bisect.test_command import DEAR, SHORT
from tests.support.runs import SHOOTOUT, Lab, until

pytest_plugins = ["tests.support.runs"]


HISTORY = (0, 0, None, 0, DEAR, None, DEAR)


def test_a_commit_is_found_after_kill_9(lab: Lab, tmp_path: Path) -> None:
    history = commits.repository(tmp_path / "repository", HISTORY)
    profile, out, markdown = tmp_path / "short.toml", tmp_path / "out", tmp_path / "bisect.md"
    profile.write_text(SHORT, "utf-8")
    command = [SHOOTOUT, "bisect", "--repo", str(tmp_path / "repository"), "--good", history[0]]
    command += ["--bad", "main", *commits.BUILDING, "--profile", str(profile)]
    command += ["--out", str(out), "--resume", "--markdown", str(markdown)]
    with lab.running(*command, folder=tmp_path) as run:
        run.said("start 2: oltp_point_select")
        run.process.send_signal(signal.SIGKILL)
        run.ended()
    until(lambda: not lab.servers(), 5)
    (path,) = BISECTIONS.find(out / "results")
    before = BISECTIONS.read(path)
    assert len(before.builds) == 2

    done = lab.run(*command, "--json")
    assert done.returncode == 1, done.stderr
    assert f"resuming {before.id}" in done.stderr
    found = json.loads(done.stdout)
    assert (found["answer"], found["first"], found["last"]) == ("step", history[4][:10], history[4][:10])
    assert found["size"]["high"] < 1
    for label, build in before.builds.items():  # not built again
        assert found["builds"][label]["seconds"] == build.seconds
    assert len(found["documents"]) > 1
    assert history[4][:10] in markdown.read_text("utf-8")
    assert Path(found["page"]).is_file()
    assert found["document"] == str(path)
    assert lab.left() == ([], [])


def test_instructions_find_a_commit_that_time_would_not(lab: Lab, tmp_path: Path) -> None:
    """A thousand instructions of some 60 000, which are a few microseconds of a statement."""
    history = commits.repository(tmp_path / "repository", (0, None, 500), differing=True)
    profile, out = tmp_path / "short.toml", tmp_path / "out"
    profile.write_text(SHORT + "starts_min = 4\n\n[policy]\nmargin = 0.005\n", "utf-8")
    done = lab.run(
        *(SHOOTOUT, "bisect", "--count", "--repo", str(tmp_path / "repository"), "--good", history[0]),
        *("--bad", "main", *commits.BUILDING, "--profile", str(profile)),
        *("--out", str(out), "--json"),
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["answer"], found["instrument"]) == ("step", "count")
    assert (found["first"], found["last"]) == (history[1][:10], history[2][:10])
    assert found["size"]["estimate"] > 1.005
    assert "instructions" in Path(found["page"]).read_text("utf-8")
    assert lab.left() == ([], [])
