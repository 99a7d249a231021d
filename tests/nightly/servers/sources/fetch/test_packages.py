from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shootout.model.catalogue import Source
from shootout.servers.sources import catalogue
from shootout.servers.sources.fetch import packages
from shootout.servers.sources.trees import Tree
from tests.support.catalogued import SERVERS, reachable
from tests.unit.servers.sources.fetch.test_packages import an_entry


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """An empty cache, for trees that are too large to be left behind."""
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path / "cache")


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_fetched_into_an_empty_cache_once(name: str, cache: Path) -> None:
    entry = an_entry(name=name)
    directory = packages.fetch(name, entry, cache)
    tree = Tree.inspect(directory)
    version = ".".join(map(str, tree.version))
    assert version == entry.version or version.startswith(f"{entry.version}.")
    assert tree.family == entry.family
    assert not (directory / ".download").exists()
    made = directory.stat().st_ctime_ns
    assert packages.fetch(name, entry, cache) == directory
    assert directory.stat().st_ctime_ns == made


@pytest.mark.parametrize(
    ("name", "source"),
    [
        pytest.param(name, source, id=f"{name}-{packages.describe(source)}")
        for name, entry in catalogue.load().items()
        for source in entry.sources[1:]
        if reachable(source)
    ],
)
def test_every_other_source_has_the_server_too(name: str, source: Source, cache: Path) -> None:
    entry = an_entry(source, name=name)
    tree = Tree.inspect(packages.fetch(name, entry, cache))
    assert f"{'.'.join(map(str, tree.version))}.".startswith(f"{entry.version}.")
