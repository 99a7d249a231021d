"""Servers from images, on a real Docker engine: images made of the catalogue's trees, and official ones."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import docker
import pytest

from shootout.errors import MeasureError
from shootout.measure import dataset
from shootout.model.plan import Container
from shootout.servers.processes import instances
from shootout.servers.sources.images import Image
from tests.real.servers.processes.test_instances import SMALL
from tests.real.servers.sources.test_images import DATASET, GONE_S, HOST, heard, image_of, left
from tests.support.runs import HEAD, PATIENCE_S, SHOOTOUT, Lab, until

pytest_plugins = ["tests.support.runs", "tests.support.servers.processes.docker_engine"]


OFFICIAL = ("mysql:8.4", "mariadb:11.4", "percona/percona-server:8.4")


@pytest.mark.parametrize("reference", OFFICIAL)
def test_an_official_image(engine: docker.DockerClient, reference: str, tmp_path: Path) -> None:
    engine.images.pull(reference)
    image = Image.inspect(reference, HOST, heard)
    assert "@sha256:" in image.origin
    settings = {"innodb-buffer-pool-size": "64M", "skip-log-bin": ""}
    instances.initialise(image, tmp_path / "instance", settings)
    with instances.start(image, tmp_path / "instance", settings) as instance:
        dataset.load(instance, DATASET)
        dataset.verify(instance, DATASET)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_container(
    engine: docker.DockerClient, lab: Lab, tmp_path: Path, how: signal.Signals
) -> None:
    reference = image_of(engine, HEAD)
    data = tmp_path / "data"
    data.mkdir()
    command = [SHOOTOUT, "run", "--profile", str(lab.once), "--out", str(tmp_path / "out")]
    command += ["--servers", f"image:{reference}", "--data", str(data), "--workloads", "oltp_point_select"]
    with lab.running(*command, folder=tmp_path) as run:
        run.said("start 1: oltp_point_select")
        os.killpg(run.process.pid, how)
        began = time.monotonic()
        run.ended()
        until(lambda: left(engine) == [], GONE_S)
        assert how == signal.SIGINT or time.monotonic() - began < GONE_S
    if how == signal.SIGKILL:  # its data goes with the next run
        assert lab.run(*command).returncode in (0, 1)
    assert [*data.iterdir()] == []


def test_what_is_given_is_read_to_its_end(engine: docker.DockerClient, tmp_path: Path) -> None:
    image = Image.inspect(image_of(engine, "mysql-5.7.22"), HOST, heard)
    instances.initialise(image, tmp_path, SMALL)
    given = tmp_path / "given.sql"
    lines = [f"CREATE DATABASE made_{number};" for number in range(50)]
    given.write_text("\n".join(["-- " + "x" * 200] * 5_000 + lines) + "\n")
    process = image.spawn([f"--defaults-file={tmp_path}/my.cnf", "--bootstrap"], tmp_path, (), given)
    assert process.wait(PATIENCE_S) == 0
    assert len([*(tmp_path / "data").glob("made_*")]) == 50


def test_a_server_without_enough_memory_says_so(engine: docker.DockerClient, tmp_path: Path) -> None:
    image = Image.inspect(image_of(engine, "mysql-8.0.12"), Container(memory="48M"), heard)
    with pytest.raises(MeasureError, match=r"(?s)initialising failed.*killed at its memory limit"):
        instances.initialise(image, tmp_path / "instance", SMALL)
