"""Whatever a server sends, its clients end with one message, in bounded time and memory."""

from __future__ import annotations

import re
import resource
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shootout._engine import Engine, LoadError
from shootout.errors import MeasureError
from shootout.servers import external, running
from shootout.servers.bounded import ANSWER_MAX
from shootout.servers.dsn import Dsn
from shootout.servers.external import External
from tests.servers.hostile_server import CASES, Play, dripping_greeting, endless_rows, serving

pytestmark = pytest.mark.slow

SECRET = "s3cret-of-mine"
PATIENCE_S = 1.0
AGES_S = 100.0  # the servers go on for longer; on a busy machine, too, their clients end long before
CONNECTION_MAX, ENGINE_MAX = 200 << 20, 100 << 20  # bytes
LINE = re.compile(r"[^\x00-\x1f]{1,1000}")
PROGRAM = b"""{
    "tables": 1, "rows": 9, "distribution": {"type": "uniform"}, "parameters": [],
    "kinds": [{"name": "read", "effect": "read"}],
    "transactions": [{"weight": 1, "begin": false, "steps": [
        {"repeat": 1, "statements": [{"kind": 0, "pieces": ["SELECT 1"]}]}]}]
}"""


@contextmanager
def in_time() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < AGES_S


def refusal_of(port: int) -> str:
    """What identifying the server there ends with."""
    with pytest.raises(MeasureError) as caught:
        External(Dsn(user="me", host="127.0.0.1", port=port), SECRET).identify()
    return str(caught.value)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "CONNECT_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(external, "LOGIN_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(running, "QUERY_TIMEOUT_S", PATIENCE_S)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("moment", "play"), CASES)
def test_the_connection_for_queries(moment: str, play: Play) -> None:
    tracemalloc.start()
    try:
        with serving(moment, play) as server, in_time():
            message = refusal_of(server.port)
            assert SECRET.encode() not in server.heard
        assert tracemalloc.get_traced_memory()[1] < CONNECTION_MAX
    finally:
        tracemalloc.stop()
    assert LINE.fullmatch(message), message[:2000]


def test_an_endless_answer_is_left_before_its_time() -> None:
    with serving("query", endless_rows) as server:
        assert f"the answer is longer than {ANSWER_MAX} bytes" in refusal_of(server.port)


@pytest.mark.usefixtures("impatient")
def test_a_login_that_drips_has_one_deadline() -> None:
    with serving("greeting", dripping_greeting) as server:
        assert "timed out" in refusal_of(server.port)


@pytest.mark.parametrize(("moment", "play"), CASES)
def test_the_engine(moment: str, play: Play) -> None:
    engine = Engine(PROGRAM, 1)

    def load(port: int) -> None:
        engine.connect(f"127.0.0.1:{port}", "me", SECRET, "s", 1, PATIENCE_S)
        engine.slice(0, 0.0, 0.1, PATIENCE_S)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with serving(moment, play) as server, in_time():
        with pytest.raises(LoadError) as caught:
            load(server.port)
        assert SECRET.encode() not in server.heard
    assert 0 < len(caught.value.args[2]) < 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < ENGINE_MAX >> 10  # in KiB
