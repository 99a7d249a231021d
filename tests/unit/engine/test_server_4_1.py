"""The load engine on a server that speaks as MySQL 4.1 does."""

from __future__ import annotations

import msgspec
import pytest

from shootout._engine import Engine, LoadError
from shootout.inputs import workload
from shootout.model.plan import Dataset, Load
from tests.support.engine.server_4_1 import PASSWORD, USER, serving

DATASET = Dataset(tables=1, rows=100)
TIMEOUT_S = 30.0


@pytest.mark.parametrize(
    "name", ["oltp_read_write", "oltp_read_write.prepared", "oltp_point_select.prepared"]
)
def test_load_is_counted(name: str) -> None:
    program = msgspec.json.encode(workload.compile_program(name, workload.load(name), DATASET, Load()))
    with serving() as server:
        engine = Engine(program, 1, 1)
        engine.connect(server.address, USER.decode(), PASSWORD.decode(), "shootout", 3, TIMEOUT_S)
        taken = engine.slice(0, 0.0, 0.1, TIMEOUT_S)
        del engine
        assert taken.completed > 0
        assert not taken.errors
        assert server.counted["SELECT"] == taken.reads
        assert sum(server.counted[word] for word in ("UPDATE", "DELETE", "INSERT")) == taken.writes
        assert server.counted["BEGIN"] + server.counted["COMMIT"] == taken.other
        assert server.prepared == (taken.reads + taken.writes if name.endswith(".prepared") else 0)


def test_a_wrong_password_is_told_in_the_servers_words() -> None:
    program = msgspec.json.encode(
        workload.compile_program("oltp_read_only", workload.load("oltp_read_only"), DATASET, Load())
    )
    with serving() as server, pytest.raises(LoadError, match="Access denied"):
        Engine(program, 1, 1).connect(server.address, USER.decode(), "wrong", "shootout", 1, TIMEOUT_S)
