"""How we log in to a server that is not ours: only one on this machine gets the password itself.

Only native, SHA-2 and ed25519 scrambles leave this machine. PyMySQL alone would send the password to any
server that asks for it: in clear text (`mysql_clear_password`, `dialog`), or encrypted with a key of the
server's own, which proves nothing about who the server is.
"""

from __future__ import annotations

from typing import Any

from pymysql import OperationalError, _auth
from pymysql.constants.CR import CR_AUTH_PLUGIN_CANNOT_LOAD, CR_AUTH_PLUGIN_ERR

from shootout.servers.bounded import BoundedConnection
from shootout.servers.version import numbers_of, utf8_of

SCRAMBLES = (b"", b"mysql_native_password", b"client_ed25519")
CACHING_SHA2 = b"caching_sha2_password"
_KNOWN = b"\1\3"  # the scramble is right; OK follows


class CarefulConnection(BoundedConnection):
    """A connection that gives only a `local` server the password itself, by caching_sha2_password."""

    local = False
    server_version: str  # as it greets

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Begin with UTF-8 as the server's version has it, whatever PyMySQL takes for granted."""
        charset = utf8_of(numbers_of(self.server_version))
        super().set_character_set(charset, f"{charset}_general_ci")

    def _get_auth_plugin_handler(self, plugin: bytes) -> CachingSha2 | RefusedPlugin | None:
        if plugin in SCRAMBLES:
            return None  # PyMySQL's own
        return CachingSha2(self) if plugin == CACHING_SHA2 else RefusedPlugin(plugin)


class CachingSha2:
    """caching_sha2_password: a scramble, or the password itself if the server has not cached the account."""

    def __init__(self, connection: CarefulConnection) -> None:
        self._connection: Any = connection

    def authenticate(self, packet: Any) -> Any:
        """Answer a switch to this plugin, or what follows the first scramble."""
        link = self._connection
        if link.local:
            return _auth.caching_sha2_password_auth(link, packet)
        if packet.is_auth_switch_request():
            link.salt = packet.read_all().removesuffix(b"\0")
            link.write_packet(_auth.scramble_caching_sha2(link.password, link.salt))
            packet = link._read_packet()
        if packet.get_all_data() == _KNOWN:
            packet = link._read_packet()
        if not packet.is_ok_packet():
            raise OperationalError(
                CR_AUTH_PLUGIN_ERR,
                "caching_sha2_password asks for the password itself, which only a server on this machine "
                "gets; log in once with a client that uses TLS, so that the server caches it, or use "
                "mysql_native_password",
            )
        return packet


class RefusedPlugin:
    """Any other plugin; most ask for the password in clear text."""

    def __init__(self, plugin: bytes) -> None:
        self._plugin = plugin.decode(errors="replace")

    def authenticate(self, packet: Any) -> Any:
        raise OperationalError(
            CR_AUTH_PLUGIN_CANNOT_LOAD,
            f"the server asks for the password by {self._plugin}; expected mysql_native_password, "
            "caching_sha2_password or client_ed25519",
        )
