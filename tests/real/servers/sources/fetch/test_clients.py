"""How package clients are found and run."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.servers.sources.fetch import clients
from tests.support.runs import SHOOTOUT, gone, until


def test_a_client_that_never_ends_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "TIMEOUT_S", 1.0)
    script = "sleep 600 & echo $! > pid; wait"
    with pytest.raises(MeasureError, match=r"^sh took longer than 1 s, and was killed$"):
        clients.run(["sh", "-c", script], tmp_path)
    pid = int((tmp_path / "pid").read_text())
    until(lambda: gone(pid))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_fetch_leaves_no_client_and_no_folder(how: signal.Signals, tmp_path: Path) -> None:
    """Leftovers of SIGKILL are in the cache, where the next fetch removes them."""
    client, temporary = tmp_path / "bin" / "mvn", tmp_path / "tmp"
    for folder in (client.parent, temporary):
        folder.mkdir()
    client.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid\nexec sleep 600\n"
    )
    client.chmod(0o755)
    environment = {"PATH": f"{client.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [SHOOTOUT, "servers", "fetch", "mysql-5.7.22"],
        env=os.environ | environment | {"TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    ) as fetch:
        until((tmp_path / "pid").exists)
        fetch.send_signal(how)
        _, said = fetch.communicate()
    until(lambda: gone(int((tmp_path / "pid").read_text())))
    assert list(temporary.iterdir()) == []
    if how is signal.SIGTERM:
        again = "to begin again: shootout servers fetch mysql-5.7.22"
        assert (fetch.returncode, said) == (130, f"shootout: interrupted\n{again}\n")
        assert not list(tmp_path.glob("shootout/servers/.*.partial"))
