"""Queries to a running server."""

from __future__ import annotations

import select
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from shootout.errors import MeasureError
from shootout.servers import running
from shootout.servers.processes import instances
from tests.support.runs import BASE, a_tree, until
from tests.support.still import standing_still


def test_a_connection_that_the_server_closes_is_opened_again_and_counted(tmp_path: Path) -> None:
    tree = a_tree(BASE)
    instances.initialise(tree, tmp_path / "instance", {})
    with instances.start(tree, tmp_path / "instance", {}) as server:
        for times, sql in enumerate(("SHOW STATUS", "SELECT 1", "SET GLOBAL max_connections = 200"), 1):
            ((number,),) = server.query("SELECT CONNECTION_ID()")
            with server.connect() as other, other.cursor() as cursor:
                cursor.execute(f"KILL {number}")
            until(lambda: hung_up(server._control))
            server.query(sql)
            assert server.reopened == times
        server.kill()
        with pytest.raises(MeasureError, match=r"^SELECT 1: "):
            server.query("SELECT 1")
        assert server.reopened == 3


def hung_up(connection: Any) -> bool:
    """Whether the server has closed it."""
    readable, _, _ = select.select([connection._sock], [], [], 0)
    return bool(readable) and connection._sock.recv(1, socket.MSG_PEEK) == b""


def test_a_server_that_stands_still_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = a_tree(BASE)
    instances.initialise(tree, tmp_path / "instance", {})
    with instances.start(tree, tmp_path / "instance", {}) as server:
        server.status()  # opens the connection
        monkeypatch.setattr(running, "QUERY_TIMEOUT_S", 0.5)
        with standing_still(server.pid):
            for _ in range(2):  # the second one has to log in first
                began_s = time.monotonic()
                with pytest.raises(MeasureError, match=r"^SHOW .*STATUS: .*timed out"):
                    server.status()
                assert time.monotonic() - began_s < 5
        assert server.query("SELECT SLEEP(1)", timeout_s=30) == ((0,),)
        assert server.status()["Uptime"] > 0
