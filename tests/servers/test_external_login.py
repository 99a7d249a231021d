"""A server that asks for more than it should be told when somebody logs in."""

from __future__ import annotations

import socket
from threading import Thread

import pytest

from shootout.errors import MeasureError
from shootout.servers.dsn import Dsn
from shootout.servers.external import CLEAR_TEXT_PLUGINS, External

SECRET = "s3cret-of-mine"
GREETING = b"".join(
    (
        b"\x0a8.0.12\x00" + b"\x01\x00\x00\x00",  # protocol, version, thread
        b"12345678\x00" + b"\xff\xf7\x21\x02\x00\xff\x81\x15" + 10 * b"\x00",  # salt, capabilities
        b"123456789012\x00" + b"mysql_native_password\x00",
    )
)


def packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


@pytest.mark.parametrize("plugin", CLEAR_TEXT_PLUGINS)
def test_no_server_is_told_the_password_in_clear_text(plugin: bytes) -> None:
    heard = bytearray()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(5)
            connection.sendall(packet(0, GREETING))
            heard.extend(connection.recv(4096))
            prompt = b"\x05Password: " if plugin == b"dialog" else b""
            connection.sendall(packet(2, b"\xfe" + plugin + b"\x00" + prompt))
            while received := connection.recv(4096):
                heard.extend(received)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Thread(target=serve)
        server.start()
        external = External(Dsn(user="me", host="127.0.0.1", port=listener.getsockname()[1]), SECRET)
        with pytest.raises(MeasureError, match="asks for the password in clear text; it gets none"):
            external.identify()
        server.join()
    assert b"me\x00" in heard
    assert SECRET.encode() not in heard
