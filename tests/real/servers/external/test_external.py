"""Sessions with a running server: marked schemas, the claim, signs of life."""

from __future__ import annotations

import socket

import pytest

from shootout.errors import MeasureError
from shootout.servers.external.dsn import Dsn
from shootout.servers.external.external import Claim, External
from shootout.servers.processes.instances import Instance
from tests.support.servers.external.external_server import by_socket, by_tcp, connected

pytest_plugins = ["tests.support.servers.external.external_server"]


def holder(server: Instance) -> int:
    ((connection,),) = server.query("SELECT IS_USED_LOCK('shootout')")
    return int(connection)


def test_only_what_this_run_made_is_removed(server: Instance) -> None:
    with connected(server, by_socket(server)) as external, connected(server, by_tcp(server)) as other:
        assert external.identity == other.identity
        for statement in external.creating("shootout"):
            external.query(statement)
        assert external.mark("shootout") == external.token
        with pytest.raises(MeasureError, match="schema shootout does not belong to this run; left alone"):
            other.removing("shootout")
        other.drop("shootout")
        assert external.reopen().mark("shootout") == external.token
        external.drop("shootout")
        assert external.mark("shootout") is None
        assert external.removing("shootout") == ()


def test_one_run_has_a_server_until_it_gives_it_up(server: Instance) -> None:
    with connected(server, by_socket(server)) as external:
        claim = Claim(external)
        server.query(f"KILL {holder(server)}")
        claim.renew()
        claim.renew()
        stolen = server.connect()
        server.query(f"KILL {holder(server)}")
        with stolen.cursor() as cursor:
            cursor.execute("SELECT GET_LOCK('shootout', 20)")
        with pytest.raises(MeasureError, match="another run of shootout is measuring there"):
            claim.renew()
        stolen.close()
        claim.renew()
        claim.release()


def test_an_answer_of_any_kind_is_a_sign_of_life(server: Instance) -> None:
    external = External(Dsn(user="nobody", socket=str(server.socket)), "wrong")
    assert external.alive()
    assert external.post_mortem() == ""
    with pytest.raises(MeasureError, match=r"error 1045: Access denied for user 'nobody'"):
        external.identify()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        gone = External(Dsn(user="nobody", host="127.0.0.1", port=silent.getsockname()[1]), "")
        assert not gone.alive()
        assert "no longer answers: error 2003" in gone.post_mortem()
