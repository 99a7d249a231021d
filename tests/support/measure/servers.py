"""Servers of the catalogue for a test or a module: fresh, or with a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shootout.measure import dataset
from shootout.model.plan import Dataset
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from tests.support.runs import a_tree

NO_OPTIONS: Mapping[str, str] = {}


@contextmanager
def fresh(
    name: str, home: Path, options: Mapping[str, str] = NO_OPTIONS, started: Mapping[str, str] = NO_OPTIONS
) -> Iterator[Instance]:
    """Start a server with nothing in it; `started`: options that it is started with, in addition."""
    tree = a_tree(name)
    instances.initialise(tree, home, options)
    with instances.start(tree, home, {**options, **started}) as server:
        yield server


@contextmanager
def loaded(name: str, home: Path, options: Mapping[str, str], tables: Dataset) -> Iterator[Instance]:
    """Start a server with that dataset."""
    tree = a_tree(name)
    dataset.template(tree, options, [tables], home / "cache").copy_to(home / "instance")
    with instances.start(tree, home / "instance", options) as server:
        yield server
