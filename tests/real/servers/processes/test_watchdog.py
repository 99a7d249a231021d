"""The process that removes a container after a kill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import docker
import pytest
from docker.errors import NotFound

from shootout import paths
from shootout.servers.processes import containers, watchdog
from tests.support.servers.processes.docker_engine import OURS, an_image

pytest_plugins = ["tests.support.servers.processes.docker_engine"]


def run(lock: Path, given: bytes) -> None:
    command = [sys.executable, "-P", watchdog.__file__, str(lock)]
    subprocess.run(command, input=given, check=True, timeout=60)


def test_a_byte_means_that_nothing_is_left_to_do(tmp_path: Path) -> None:
    (tmp_path / "shootout-1").touch()
    run(tmp_path / "shootout-1", b".")
    assert (tmp_path / "shootout-1").exists()


def test_the_end_of_input_removes_the_container(engine: docker.DockerClient, tmp_path: Path) -> None:
    shell = Path("/bin/sh").resolve()
    image = an_image(engine, f"{OURS}/shell:1", {"/bin/sh": shell}, shell)
    (tmp_path / "shootout-2").touch()
    engine.containers.create(image, entrypoint=["/bin/sh"], name="shootout-2")
    run(tmp_path / "shootout-2", b"")
    assert not (tmp_path / "shootout-2").exists()
    with pytest.raises(NotFound):
        engine.containers.get("shootout-2")


def test_the_next_run_and_the_watchdog_may_clear_away_at_once(
    engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lock = paths.cache_folder() / "containers" / "shootout-3"
    lock.parent.mkdir(parents=True)
    lock.touch()
    remove = watchdog.remove

    def late(api: docker.APIClient, name: str) -> bool:
        run(lock, b"")
        return remove(api, name)

    monkeypatch.setattr(watchdog, "remove", late)
    containers.clear_leftovers()
    assert not lock.exists()
