"""Addresses of running servers: what users write after `dsn:`."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import quote, unquote

from shootout.errors import InputError

FORM = "dsn:mysql://USER@HOST[:PORT][?unix_socket=/PATH][@SETTINGS], with USER:PASSWORD where there is one"
PORT = 3306
SOCKET_PATH_MAX_BYTES = 107

_ADDRESS = re.compile(r"(?:\[(?P<six>[^\[\]]+)\]|(?P<host>[\w.-]*))(?::(?P<port>[0-9]{1,5}))?/?")
# Anything between a user's name and the last @ of a line may be a password.
_PASSWORD = re.compile(r"(://[^:@\n]*):(?!…@).*@")


@dataclass(frozen=True, slots=True)
class Dsn:
    """Who logs in, and where; never holds the password."""

    user: str
    host: str = "localhost"
    port: int = PORT
    socket: str | None = None  # a path; used instead of the host

    @property
    def text(self) -> str:
        """The canonical form of what users write."""
        user = quote(self.user, safe="")
        if self.socket is not None:
            return f"mysql://{user}@{self.host}?unix_socket={quote(self.socket, safe='/')}"
        return f"mysql://{user}@{self.where}"

    @property
    def where(self) -> str:
        """The socket's path or host:port, for the load engine and error messages."""
        if self.socket is not None:
            return self.socket
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is a socket or a loopback address, so that nobody else's network lies between."""
        if self.socket is not None or self.host == "localhost":
            return True
        address = _ip_address(self.host)
        return address is not None and address.is_loopback


@dataclass(frozen=True, slots=True)
class WrittenDsn:
    """A parsed address with its password and settings."""

    dsn: Dsn
    password: str | None = field(repr=False)  # None: not given
    settings: str | None


def parse(text: str) -> WrittenDsn:
    """Read what follows `dsn:` in FORM. Raises InputError, never with a password in it."""
    shown = _safe_to_show(" ".join(text.split()))

    def refuse(what: str) -> NoReturn:
        raise InputError(f"server 'dsn:{shown}': {what}\nThe form is {FORM}.")

    def plain(part: str, name: str) -> str:
        try:
            decoded = unquote(part, errors="strict")
        except UnicodeDecodeError:
            decoded = "\0"
        if re.search("%(?![0-9A-Fa-f]{2})", part) or "\0" in decoded:
            refuse(f"the {name} must be percent-encoded (% is %25, @ is %40, a comma is %2C)")
        return decoded

    scheme, slashes, rest = text.partition("://")
    if scheme != "mysql" or not slashes:
        refuse("it does not begin with mysql://")
    account, at, rest = rest.partition("@")
    name, colon, password = account.partition(":")
    if not at or not name:
        refuse("it names no user")
    address, at, settings = rest.partition("@")
    if at and not settings:
        refuse("no settings follow the last @")
    address, asks, query = address.partition("?")
    place = _ADDRESS.fullmatch(address)
    if place is None:
        refuse(
            "it names a schema, but the suite creates its own"
            if re.fullmatch(r"[^/]+/\w+", address)
            else "the @ is not followed by HOST:PORT; in a user or password write %40 for @ and %2F for /"
        )
    host, port = place["six"] or place["host"], int(place["port"] or PORT)
    if place["six"] and _ip_address(host) is None:
        refuse(f"[{host}] is not an IPv6 address")
    if not 0 < port < 65_536:
        refuse(f"port {port}: expected 1 to 65535")
    socket = None
    for option in query.split("&") if asks else ():
        key, _, value = option.partition("=")
        if key != "unix_socket" or socket is not None:
            refuse("the only option is unix_socket, given once")
        socket = plain(value, "socket's path")
        if not socket.startswith("/") or len(socket.encode()) > SOCKET_PATH_MAX_BYTES:
            refuse(f"unix_socket: expected an absolute path of at most {SOCKET_PATH_MAX_BYTES} bytes")
    if not host and socket is None:
        refuse("it names no host")
    user = plain(name, "user")
    dsn = Dsn(user=user, socket=socket) if socket is not None else Dsn(user=user, host=host, port=port)
    return WrittenDsn(dsn, plain(password, "password") if colon else None, settings or None)


def redacted(text: str) -> str:
    """`text` without anything that may be a password."""
    return _PASSWORD.sub(r"\1:…@", text)


def _safe_to_show(text: str) -> str:
    """Redact more strictly than `redacted`: `text` may not be an address at all."""
    if "://" not in text:
        return "…"
    return redacted(text) if "@" in text else re.sub(r"(://[^:]*):.*", r"\1:…", text)


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
