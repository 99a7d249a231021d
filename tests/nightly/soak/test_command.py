"""`shootout soak` on real servers."""

from __future__ import annotations

import os
import shlex
import signal
import time
from pathlib import Path

from shootout.soak import curves
from shootout.soak.documents import SOAKS
from tests.real.soak.test_command import LOAD
from tests.support.runs import BASE, SHOOTOUT, Lab, until

pytest_plugins = ["tests.support.runs"]


STOPPED_S = 3.0


def test_a_server_that_stands_still_is_a_stall_and_an_interruption_loses_nothing(
    lab: Lab, tmp_path: Path
) -> None:
    command = (
        SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, "--servers", BASE,
        "--minutes", "30", "--out", str(tmp_path),
    )  # fmt: skip

    def lines() -> int:
        return sum(path.read_bytes().count(b"\n") for path in SOAKS.find(tmp_path / "results"))

    with lab.running(*command, folder=tmp_path) as running:
        until(lambda: lines() >= 6 or running.process.poll() is not None)
        (pid,) = lab.servers()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(pid, signal.SIGCONT)
        before = lines()
        until(lambda: lines() >= before + 4 or running.process.poll() is not None)
        running.process.send_signal(signal.SIGINT)
        assert running.ended() == 130, running.err.read_text()
    told = running.err.read_text().split("shootout: interrupted\n")[1]
    (page,) = (tmp_path / "site" / "soaks").glob("2*.html")
    again = shlex.join(["shootout", *command[1:]])
    assert told.splitlines()[1:] == [f"its page: {page.as_uri()}", f"to begin again: {again}"]
    (path,) = SOAKS.find(tmp_path / "results")
    document = SOAKS.read(path)
    (curve,) = curves.curves(document.header, document.slices).values()
    assert max(each.lasts_s for each in document.slices) > STOPPED_S - 1
    assert curve.tps.min() < curves.STALL * curve.tps.max()
    assert lab.left() == ([], [])
