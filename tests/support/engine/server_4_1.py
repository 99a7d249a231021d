"""A server as MySQL 4.1 speaks, by its manual and its source: none of that age can be had as a package.

It has one account and one kind of row. Greeting and capabilities are those of 4.1.22 without TLS; the answer
to a prepare command has nine bytes, and BEGIN and COMMIT cannot be prepared.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha1
from threading import Lock, Thread

USER, PASSWORD = b"shootout", b"secret"
SALT = b"abcdefghijklmnopqrst"
CAPABILITIES = 0xA22C  # protocol 4.1, secure connection, transactions, schema, compression, long flags
LONGEST = 1 << 24

QUERY, PREPARE, EXECUTE, QUIT = 0x03, 0x16, 0x17, 0x01
OK = b"\x00\x00\x00\x02\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00"
COLUMN = b"\x03def\x00\x00\x00\x01c\x01c\x0c\x21\x00\x78\x00\x00\x00\xfe\x00\x00\x00\x00\x00"
ACCESS_DENIED = b"\xff\x15\x04#28000Access denied"
UNSUPPORTED = b"\xff\x0f\x05#HY000This command is not supported in the prepared statement protocol yet"
UNKNOWN = b"\xff\x17\x04#08S01Unknown command"


class Server:
    """Answers any SELECT with one row, and anything else by OK; counts statements by their first word."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.prepared = 0  # statements that were executed prepared
        self._lock = Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                link, _ = self._listener.accept()
                Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        with link, suppress(OSError, EOFError):
            salt = SALT[:8] + b"\x00" + CAPABILITIES.to_bytes(2, "little") + b"\x21\x02\x00" + bytes(13)
            send(link, 0, b"\x0a4.1.22-standard\x00\x01\x00\x00\x00" + salt + SALT[8:] + b"\x00")
            if not is_welcome(receive(link)):
                send(link, 2, ACCESS_DENIED)
                return
            send(link, 2, OK)
            statements: list[bytes] = []
            while (command := receive(link))[0] != QUIT:
                send(link, 1, *self._answer(command, statements))

    def _answer(self, command: bytes, statements: list[bytes]) -> list[bytes]:
        kind, body = command[0], command[1:]
        if kind == QUERY:
            return self._executed(body, prepared=False)
        if kind == PREPARE:
            if body in (b"BEGIN", b"COMMIT"):
                return [UNSUPPORTED]
            statements.append(body)
            parameters, columns = body.count(b"?"), int(body.startswith(b"SELECT"))
            sizes = columns.to_bytes(2, "little") + parameters.to_bytes(2, "little")
            return [
                b"\x00" + len(statements).to_bytes(4, "little") + sizes,
                *([COLUMN] * parameters + [END] if parameters else []),
                *([COLUMN] * columns + [END] if columns else []),
            ]
        if kind == EXECUTE:
            return self._executed(statements[int.from_bytes(body[:4], "little") - 1], prepared=True)
        return [UNKNOWN]

    def _executed(self, statement: bytes, *, prepared: bool) -> list[bytes]:
        word = statement.split(maxsplit=1)[0].decode()
        with self._lock:
            self.counted[word] += 1
            self.prepared += prepared
        if word != "SELECT":
            return [OK]
        return [b"\x01", COLUMN, END, b"\x00\x00\x01x" if prepared else b"\x01x", END]


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


def is_welcome(login: bytes) -> bool:
    """Whether a login of protocol 4.1 has the account's name, and the scramble of its password."""
    asked = int.from_bytes(login[:4], "little")
    name, _, rest = login[32:].partition(b"\x00")
    stage = sha1(PASSWORD).digest()
    mask = sha1(SALT + sha1(stage).digest()).digest()
    scramble = bytes(a ^ b for a, b in zip(stage, mask, strict=True))
    return asked & 0x8200 == 0x8200 and name == USER and rest[: 1 + len(scramble)] == b"\x14" + scramble


def send(link: socket.socket, number: int, *payloads: bytes) -> None:
    """Send packets with their headers, numbered from `number` on."""
    link.sendall(
        b"".join(
            len(payload).to_bytes(3, "little") + bytes([(number + each) % 256]) + payload
            for each, payload in enumerate(payloads)
        )
    )


def receive(link: socket.socket) -> bytes:
    """Receive one packet's payload. Raises EOFError at the connection's end."""
    length = int.from_bytes(_exactly(link, 4)[:3], "little")
    assert 0 < length < LONGEST
    return _exactly(link, length)


def _exactly(link: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        if not (more := link.recv(length - len(received))):
            raise EOFError
        received += more
    return bytes(received)
