"""Whatever a server sends, its clients end with one message, in bounded time and memory."""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
from pymysql import OperationalError
from pymysql.cursors import SSCursor

from lab.engine.process import most_memory
from shootout._engine import Engine, LoadError
from shootout.errors import MeasureError
from shootout.servers import bounded, running
from shootout.servers.bounded import ANSWER_MAX
from shootout.servers.external import external
from shootout.servers.external.dsn import Dsn
from shootout.servers.external.external import External
from tests.support.servers.external.hostile_server import (
    CASES,
    Play,
    dripping_greeting,
    endless_rows,
    huge_row,
    serving,
)

SECRET = "s3cret-of-mine"
PATIENCE_S = 1.0
AGES_S = 100.0  # the servers run for longer; on a busy machine, too, their clients end long before
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
    """Identify the server there; return how that ends."""
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


def one_by_one(port: int) -> Iterator[tuple[str]]:
    """The rows of an answer that is not kept in memory."""
    server = External(Dsn(user="me", host="127.0.0.1", port=port), SECRET)
    with server.connect() as connection, connection.cursor(SSCursor) as cursor:
        try:
            cursor.execute("SELECT c FROM t")
            yield from iter(cursor.fetchone, None)
        finally:
            connection._force_close()  # type: ignore[attr-defined]


def test_rows_that_are_read_one_by_one_have_a_limit_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "ANSWER_MAX", 20_000)
    with serving("query", endless_rows) as server:
        assert sum(1 for _ in islice(one_by_one(server.port), 10_000)) == 10_000
    with serving("query", huge_row) as server, pytest.raises(OperationalError, match="longer than 20000"):
        next(one_by_one(server.port))


@pytest.mark.usefixtures("impatient")
def test_rows_that_are_read_one_by_one_have_one_deadline() -> None:
    with serving("query", endless_rows) as server, pytest.raises(OperationalError, match="timed out"):
        deque(one_by_one(server.port), maxlen=0)


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

    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    before = most_memory(os.getpid())
    with serving(moment, play) as server, in_time():
        with pytest.raises(LoadError) as caught:
            load(server.port)
        assert SECRET.encode() not in server.heard
    assert 0 < len(caught.value.args[2]) < 1000
    assert most_memory(os.getpid()) - before < ENGINE_MAX
