"""`shootout servers start`: a session with one server, as users start and end it."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pymysql
import pytest

from tests.support.runs import BASE, SHOOTOUT, Lab, until

pytest_plugins = ["tests.support.runs"]


def started(lab: Lab, out: Path) -> Any:
    until(lambda: out.read_text().endswith("\n"))
    return json.loads(out.read_text())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_runs_until_a_signal_and_leaves_nothing(how: signal.Signals, lab: Lab, tmp_path: Path) -> None:
    with lab.running(SHOOTOUT, "servers", "start", BASE, "--json", folder=tmp_path) as command:
        access = started(lab, command.out)
        with pymysql.connect(read_default_file=access["command"].partition("=")[2]) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT VERSION(), @@port, CURRENT_USER()")
            assert cursor.fetchone() == (access["version"], access["port"], "root@localhost")
        with pymysql.connect(
            host=access["host"], port=access["port"], user=access["user"], password=access["password"]
        ):
            pass
        log = Path(access["error_log"])
        assert list(lab.servers()) == [access["pid"]]
        command.process.send_signal(how)
        assert command.ended() == 0
        assert command.err.read_text() == ""
    assert not log.exists()
    assert lab.left() == ([], [])


def test_the_endpoint_is_printed(lab: Lab, tmp_path: Path) -> None:
    settings = ["--settings", "in-memory"]
    with lab.running(SHOOTOUT, "servers", "start", BASE, *settings, folder=tmp_path) as command:
        until(lambda: "error log" in command.out.read_text())
        lines = dict(re.split(r"  +", line, maxsplit=1) for line in command.out.read_text().splitlines())
        assert lines["server"] == f"{BASE}, version 5.7.22, running until Ctrl-C"
        assert lines["client"].startswith("mysql --defaults-file=")
        command.process.send_signal(signal.SIGINT)
        assert command.ended() == 0


def test_a_server_that_ends_by_itself_is_a_fault(lab: Lab, tmp_path: Path) -> None:
    with lab.running(SHOOTOUT, "servers", "start", BASE, "--json", folder=tmp_path) as command:
        os.kill(started(lab, command.out)["pid"], signal.SIGKILL)
        assert command.ended() == 3
        assert (
            "the server exited unexpectedly\nThe server has died (signal SIGKILL)" in command.err.read_text()
        )
    assert lab.left() == ([], [])
