"""Queries to a running server."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.servers import instances, running
from tests.runs import BASE, a_tree
from tests.still import standing_still

pytestmark = pytest.mark.real


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
