"""Servers that speak MySQL's protocol with ill intent, for clients that must end well anyway."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

SALT = b"12345678901234567890\x00"
OK = b"\x00\x00\x00\x02\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00"
COLUMN = b"\x03def\x00\x00\x00\x01c\x01c\x0c\x21\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00"
HUGE = 0xFFFFFF
DRIP_S = 0.02

Play = Callable[[socket.socket], None]


def packet(number: int, payload: bytes) -> bytes:
    """A packet with its header."""
    return len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload


def greeting(plugin: bytes = b"mysql_native_password", version: bytes = b"8.0.12") -> bytes:
    return b"".join(
        (
            b"\x0a" + version + b"\x00" + b"\x01\x00\x00\x00",  # protocol, version, thread
            SALT[:8] + b"\x00" + b"\xff\xf7\x21\x02\x00\xff\x81\x15" + 10 * b"\x00",  # capabilities
            SALT[8:] + plugin + b"\x00",
        )
    )


def drip(link: socket.socket, data: bytes) -> None:
    """Send one byte at a time, slowly."""
    for byte in data:
        link.sendall(bytes([byte]))
        time.sleep(DRIP_S)


def sending(name: str, *data: bytes) -> Play:
    """Send this, and close the connection."""

    def play(link: socket.socket) -> None:
        link.sendall(b"".join(data))

    play.__name__ = name  # of the test's parameter
    return play


def asking(name: str, data: bytes) -> Play:
    """Send this, and wait for an answer."""

    def play(link: socket.socket) -> None:
        link.sendall(data)
        link.recv(4096)

    play.__name__ = name
    return play


noise, close = sending("noise", 1000 * b"\xa5"), sending("close")


# --- instead of a greeting ------------------------------------------------------------------------


def dripping_greeting(link: socket.socket) -> None:
    drip(link, (HUGE - 1).to_bytes(3, "little") + b"\x00\x0a" + 100_000 * b"8")


def huge_greeting(link: socket.socket) -> None:
    while True:
        link.sendall(b"\xff\xff\xff\x00" + HUGE * b"8")


def silence(link: socket.socket) -> None:
    link.recv(1)


# --- instead of an answer to the login ---------------------------------------------------------------


def endless_switches(link: socket.socket) -> None:
    number = 2
    while True:
        link.sendall(packet(number, b"\xfemysql_native_password\x00" + SALT))
        link.recv(4096)
        number += 2


# --- instead of an answer to the first query ------------------------------------------------------


def endless_rows(link: socket.socket) -> None:
    link.sendall(packet(1, b"\x01") + packet(2, COLUMN) + packet(3, END))
    number = 4
    while True:
        link.sendall(b"".join(packet(number + each, b"\x01x") for each in range(256)))
        number += 256


def endless_columns(link: socket.socket) -> None:
    link.sendall(packet(1, b"\xfe" + 8 * b"\xff"))
    number = 2
    while True:
        link.sendall(b"".join(packet(number + each, COLUMN) for each in range(256)))
        number += 256


def dripping_rows(link: socket.socket) -> None:
    link.sendall(packet(1, b"\x01") + packet(2, COLUMN) + packet(3, END))
    drip(link, b"".join(packet(number, b"\x01x") for number in range(4, 100_000)))


def huge_row(link: socket.socket) -> None:
    link.sendall(packet(1, b"\x01") + packet(2, COLUMN) + packet(3, END))
    number = 4
    while True:
        link.sendall(b"\xff\xff\xff" + bytes([number % 256]) + HUGE * b"\xfb")
        number += 1


GREETINGS = (
    sending("empty_greeting", packet(0, b"")),
    sending("short_greeting", packet(0, greeting()[:9])),
    *(dripping_greeting, huge_greeting, noise, silence, close),
)
LOGINS = (
    asking("clear_text", packet(2, b"\xfemysql_clear_password\x00")),
    sending("unknown_plugin", packet(2, b"\xfe\xff\xfe\x1b[31m\x00")),
    *(endless_switches, noise, silence, close),
)
ANSWERS = (
    sending(
        "wrong_lengths",
        packet(1, b"\x01") + packet(2, b"\x03def\xfd\xff\xff\xff") + packet(3, END),
        packet(4, b"\xfe" + 8 * b"\xff" + b"x") + packet(5, END),
    ),
    sending("wrong_number", packet(77, OK)),
    asking("local_infile", packet(1, b"\xfb/etc/passwd")),
    sending("long_error", packet(1, b"\xff\x51\x04#HY000" + b"\x1b[31m\n" + 1_000_000 * b"a")),
    sending("half_an_answer", packet(1, b"\x01") + b"\x05\x00"),
    *(endless_rows, endless_columns, dripping_rows, huge_row, noise, silence, close),
)
CASES: tuple[tuple[str, Play], ...] = (
    *(("greeting", each) for each in GREETINGS),
    *(("login", each) for each in LOGINS),
    *(("query", each) for each in ANSWERS),
)


class Server:
    """Plays at one moment: instead of the greeting, after the login's request, or after a query.

    Statements that only set something are answered as usual.
    """

    def __init__(self, moment: str, play: Play) -> None:
        self.moment, self.play = moment, play
        self.heard = bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._over = Event()
        self._links: list[socket.socket] = []
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._over.set()
        socket.create_connection(("127.0.0.1", self.port)).close()  # wakes the listener
        for link in self._links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            link, _ = self._listener.accept()
            if self._over.is_set():
                link.close()
                return
            self._links.append(link)
            self._threads.append(Thread(target=self._serve, args=(link,)))
            self._threads[-1].start()

    def _serve(self, link: socket.socket) -> None:
        with link, suppress(OSError):
            if self.moment != "greeting":
                link.sendall(packet(0, greeting()))
                self.heard += link.recv(4096)
            if self.moment == "query":
                link.sendall(packet(2, OK))
                while (received := link.recv(4096))[5:].startswith(b"SET"):
                    link.sendall(packet(1, OK))
                self.heard += received
            self.play(link)


@contextmanager
def serving(moment: str, play: Play) -> Iterator[Server]:
    server = Server(moment, play)
    try:
        yield server
    finally:
        server.close()
