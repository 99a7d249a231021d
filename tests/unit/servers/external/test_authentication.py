"""Servers that ask for more than they should be told when somebody logs in."""

from __future__ import annotations

import re
import socket
from threading import Thread

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from shootout.errors import MeasureError
from shootout.servers.external.dsn import Dsn
from shootout.servers.external.external import External
from tests.support.servers.external.hostile_server import OK, SALT, greeting, packet

SECRET = "s3cret-of-mine"
HERE, ELSEWHERE = "127.0.0.1", "0.0.0.0"  # both lead here; the second is no loopback address


def refusal(
    host: str, plugin: bytes, answers: list[bytes], then: bytes = b"", version: bytes = b"8.0.12"
) -> tuple[str, bytes]:
    """Log in where a server answers like this; return why that fails, and all that the server heard.

    `then` follows the last answer at once.
    """
    heard = bytearray()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(60)
            connection.sendall(packet(0, greeting(plugin, version)))
            for turn, answer in enumerate(answers, start=1):
                if not (received := connection.recv(4096)):
                    return
                heard.extend(received)
                connection.sendall(packet(2 * turn, answer))
            if then:
                connection.sendall(packet(2 * len(answers) + 1, then))
                heard.extend(connection.recv(4096))
                return
            while received := connection.recv(4096):
                heard.extend(received)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        server = Thread(target=serve)
        server.start()
        external = External(Dsn(user="me", host=host, port=listener.getsockname()[1]), SECRET)
        with pytest.raises(MeasureError) as caught:
            external.identify()
        server.join()
    assert b"me\0" in heard
    return str(caught.value), bytes(heard)


@pytest.mark.parametrize(
    "plugin", [b"mysql_clear_password", b"dialog", b"sha256_password", b"mysql_old_password"]
)
@pytest.mark.parametrize("host", [HERE, ELSEWHERE])
def test_no_server_is_told_the_password_in_clear_text(plugin: bytes, host: str) -> None:
    prompt = b"\x05Password: " if plugin == b"dialog" else SALT
    switch = b"\xfe" + plugin + b"\0" + prompt
    said, heard = refusal(host, b"mysql_native_password", [switch])
    assert f"the server asks for the password by {plugin.decode()}; expected mysql_native_password" in said
    assert SECRET.encode() not in heard


def own_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return b"\1" + key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


ASKS = [
    [b"\1\4"],
    [b"\1\4\0"],
    [b"\xfecaching_sha2_password\0" + SALT, b"\1\4"],  # switches again
]


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("first", ["greeted", "switched"])
def test_no_server_elsewhere_gets_the_password_for_a_key_of_its_own(first: str, asks: list[bytes]) -> None:
    switch = [b"\xfecaching_sha2_password\0" + SALT] if first == "switched" else []
    plugin = b"mysql_native_password" if first == "switched" else b"caching_sha2_password"
    said, heard = refusal(ELSEWHERE, plugin, [*switch, *asks])
    assert "asks for the password itself, which only a server on this machine gets" in said
    assert not re.search(rb"\x01\x00\x00.\x02", heard, re.DOTALL)  # a request for its key


def test_a_server_elsewhere_that_knows_the_scramble_gets_no_more() -> None:
    _, heard = refusal(ELSEWHERE, b"caching_sha2_password", [b"\1\3"], then=OK)
    assert b"SET NAMES" in heard


def test_a_server_that_only_gives_its_key_gets_no_password_by_sha256() -> None:
    said, heard = refusal(ELSEWHERE, b"sha256_password", [own_key()])
    assert "the server asks for the password by sha256_password" in said
    assert len(heard) < 256  # what the key would encrypt


@pytest.mark.parametrize(
    ("version", "charset"),
    [
        (b"5.0.96-log", b"utf8"),
        (b"5.5.2-m2", b"utf8"),
        (b"5.5.3-m3", b"utf8mb4"),
        (b"5.5.5-10.4.2-MariaDB", b"utf8mb4"),
        (b"6.0.11-alpha", b"utf8"),
        (b"8.4.3", b"utf8mb4"),
    ],
)
def test_each_version_is_spoken_to_in_its_own_utf8(version: bytes, charset: bytes) -> None:
    _, heard = refusal(ELSEWHERE, b"mysql_native_password", [OK, OK], version=version)
    assert b"SET NAMES " + charset + b" COLLATE " + charset + b"_general_ci" in heard
