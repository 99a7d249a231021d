"""A server that asks for more than it should be told when somebody logs in."""

from __future__ import annotations

import socket

import pytest

from shootout.errors import MeasureError
from shootout.servers.dsn import Dsn
from shootout.servers.external import CLEAR_TEXT_PLUGINS, External
from tests.servers.hostile_server import packet, serving

SECRET = "s3cret-of-mine"


@pytest.mark.parametrize("plugin", CLEAR_TEXT_PLUGINS)
def test_no_server_is_told_the_password_in_clear_text(plugin: bytes) -> None:
    heard = bytearray()

    def ask(link: socket.socket) -> None:
        prompt = b"\x05Password: " if plugin == b"dialog" else b""
        link.sendall(packet(2, b"\xfe" + plugin + b"\x00" + prompt))
        while received := link.recv(4096):
            heard.extend(received)

    with serving("login", ask) as server:
        external = External(Dsn(user="me", host="127.0.0.1", port=server.port), SECRET)
        with pytest.raises(MeasureError, match="asks for the password in clear text; it gets none"):
            external.identify()
    assert b"me\x00" in server.heard
    assert SECRET.encode() not in server.heard + heard
