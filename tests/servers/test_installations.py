"""What servers call themselves, asked of real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.model.plan import Container, ServerReference
from shootout.servers import installations, reference
from shootout.servers.instances import Instance
from tests.runs import BASE, a_tree
from tests.servers.external_server import by_socket

pytest_plugins = ["tests.servers.external_server"]


def test_a_running_server_has_no_program() -> None:
    with pytest.raises(InputError, match="already running; there is nothing to fetch or to start"):
        installations.find(reference.parse("dsn:mysql://guest@127.0.0.1:3306"))


@pytest.mark.real
def test_servers_say_what_they_are(server: Instance, tmp_path: Path) -> None:
    tree = ServerReference(source="path", target=str(a_tree(BASE).files.top))
    dsn = ServerReference(source="dsn", target=by_socket(server).text)
    empty = ServerReference(source="path", target=str(tmp_path))
    catalogued = ServerReference(source="catalogue", target=BASE)
    asked = dict.fromkeys((tree, empty, catalogued), "") | {dsn: server.password}
    assert installations.names(asked, Container()) == {tree.target: BASE, dsn.target: BASE}
    assert installations.names({dsn: "not this one"}, Container()) == {}
