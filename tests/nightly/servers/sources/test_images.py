"""Servers from images, on a real Docker engine: images made of the catalogue's trees, and official ones."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from shootout.measure import dataset
from shootout.servers.processes import instances
from shootout.servers.sources.images import Image
from tests.real.servers.sources.test_images import DATASET, HOST, heard

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
