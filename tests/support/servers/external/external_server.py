"""A running server, as `dsn:` reaches it.

PYTEST_DONT_REWRITE: test modules import this before pytest loads it as a plugin.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shootout.servers.external.dsn import Dsn
from shootout.servers.external.external import External
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh
from tests.support.runs import BASE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with fresh(BASE, tmp_path_factory.mktemp("server") / "instance") as instance:
        yield instance


def by_socket(server: Instance) -> Dsn:
    return Dsn(user="root", socket=str(server.socket))


def by_tcp(server: Instance) -> Dsn:
    return Dsn(user="root", host="127.0.0.1", port=server.port)


def connected(server: Instance, dsn: Dsn) -> External:
    external = External(dsn, server.password)
    external.identify()
    return external
