"""Servers' own names, asked of real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from shootout.model.plan import Container, ServerReference
from shootout.servers.processes.instances import Instance
from shootout.servers.sources import installations
from tests.support.runs import BASE, a_tree
from tests.support.servers.external.external_server import by_socket

pytest_plugins = ["tests.support.servers.external.external_server"]


def test_servers_say_what_they_are(server: Instance, tmp_path: Path) -> None:
    tree = ServerReference(source="path", target=str(a_tree(BASE).files.top))
    dsn = ServerReference(source="dsn", target=by_socket(server).text)
    empty = ServerReference(source="path", target=str(tmp_path))
    catalogued = ServerReference(source="catalogue", target=BASE)
    asked = dict.fromkeys((tree, empty, catalogued), "") | {dsn: server.password}
    assert installations.names(asked, Container()) == {tree.target: BASE, dsn.target: BASE}
    assert installations.names({dsn: "not this one"}, Container()) == {}


ANOTHER_SERVER = """
import sys
from shootout import steps
from shootout.inputs.options import Selection
from shootout.measure.workplace import workplace

steps.plan(Selection.read(servers="mysql-5.7.22"))
with workplace("run", loads=False):
    print({"docker", "testcontainers"} & sys.modules.keys())
"""


def test_other_servers_do_without_them(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", ANOTHER_SERVER]
    assert subprocess.run(command, env=environment, check=True, capture_output=True).stdout == b"set()\n"
