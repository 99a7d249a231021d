"""Server references: how users name a server."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from msgspec.structs import replace

from shootout.errors import InputError
from shootout.model.plan import ServerReference
from shootout.servers.external import dsn
from shootout.servers.sources import builds, catalogue, layout
from shootout.servers.sources.builds import Source
from shootout.servers.sources.fetch import archive

FORMS = (
    "a catalogue id (mysql-8.0.12), path:DIR, path:URL#sha256=HEX, git:DIR#REV, image:NAME or "
    "dsn:mysql://USER@HOST, "
    "each with @settings or without, and with NAME= before it or without"
)
_KINDS = {"path", "git", "image", "dsn"}
_NAMED = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._+-]{0,63})\s*=\s*(?P<rest>.*)", re.DOTALL)

# Docker's syntax: host:port/path/name:tag@digest
_IMAGE = re.compile(
    r"(?P<name>"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@sha256:[0-9a-f]{64})?)"
    r"(?:@(?P<settings>(?!sha256:).+))?"
)
_DIGEST = re.compile(r"@sha256:([0-9a-f]{12})[0-9a-f]{52}\Z")


def parse(text: str) -> ServerReference:
    """Read `ID`, `path:DIR`, `path:URL#sha256=HEX`, `git:DIR#REV`, `image:NAME` or `dsn:ADDRESS`.

    `@settings` may follow. `NAME=` before it gives the server a name of the user's own.
    An id may be abbreviated if it stays unique; directories become absolute; an address loses its password.
    The first `@` after an id begins the settings, and the last one after a directory, unless a directory of
    the full name exists. In an image's name, `@sha256:…` belongs to the name and the next `@` begins them.
    Raises InputError for an unknown id, another form, or a directory without a server.
    """
    name, text, kind, rest = _parts(text)
    return replace(_parse(text, kind, rest), name=name)


def _parts(text: str) -> tuple[str | None, str, str, str]:
    """The name before a reference, the reference, its kind ("": in the catalogue), and what follows that."""
    if re.match(r"[\w.+-]*[^\W\x00-\x7F][\w.+-]*\s*=", text.strip()):
        raise InputError(f"server {text!r}: expected a NAME= of ASCII letters, digits and . _ + -")
    named = _NAMED.fullmatch(text)
    name, text = (named["name"], named["rest"]) if named else (None, text)
    kind, _, rest = text.strip().partition(":")
    return (name, text, kind, rest) if kind in _KINDS else (name, text, "", text.strip())


def _parse(text: str, kind: str, rest: str) -> ServerReference:
    match kind:
        case "":
            return _in_catalogue(rest)
        case "dsn":
            address = dsn.parse(rest)
            return ServerReference(source="dsn", target=address.dsn.text, settings=address.settings)
        case "image":
            return _image(rest, text)
        case "git":
            return _commit(rest, text)
    if archive.is_url(rest):
        return _archive(rest)
    try:
        directory, settings = _directory_and_settings(rest, text)
        layout.find_mysqld(directory)
    except OSError as error:
        raise InputError(f"server {text!r}: cannot be read: {error.strerror}") from None
    except (ValueError, RuntimeError):  # contains NUL, or names an unknown home directory
        raise InputError(f"server {text!r}: not the name of a directory") from None
    return ServerReference(source="path", target=str(directory), settings=settings)


def missing(text: str) -> ServerReference | None:
    """Read a `path:DIR` whose directory does not exist; otherwise None. Raises InputError."""
    name, text, kind, rest = _parts(text)
    if kind != "path" or archive.is_url(rest):
        return None
    try:
        directory, settings = _directory_and_settings(rest, text)
        if directory.exists():
            return None
    except (OSError, ValueError, RuntimeError):  # reported by `parse`
        return None
    return ServerReference(source="path", target=str(directory), settings=settings, name=name)


def without_password(text: str) -> str:
    """Write a valid reference in a form that may be displayed and stored."""
    name, reference, kind, rest = _parts(text)
    if kind != "dsn":
        return text
    return f"{'' if name is None else name + '='}{_parse(reference, kind, rest).text}"


def password(text: str, environment: Mapping[str, str]) -> str | None:
    """Find an address's password, or MYSQL_PWD if it has none; None for other references."""
    _, _, kind, rest = _parts(text)
    if kind != "dsn":
        return None
    written = dsn.parse(rest).password
    return environment.get("MYSQL_PWD", "") if written is None else written


def labels(references: Sequence[ServerReference], names: Mapping[str, str]) -> tuple[str, ...]:
    """Make a short, unique, readable name for each reference, suitable for pytest ids.

    `names`: what servers call themselves, by target. A server without a name of the user's own goes by that
    name and its source, `mysql-8.0.33 (path)`; among several of the same name and source, by the end of its
    place that distinguishes it, `mysql-8.0.33 (head-build)`. A repeated reference is a second instance and
    gets `#2`. Raises InputError for a name that two servers would have.
    """
    settings = _shortest_tails(server.settings for server in references if server.settings is not None)
    places = _places(references)
    alike: dict[tuple[str, str], set[str]] = {}
    for server in references:
        if server.name is None:
            alike.setdefault((server.source, names.get(server.target, "")), set()).add(server.target)
    seen: Counter[str] = Counter()
    result = []
    for server in references:
        called = names.get(server.target)
        if server.name is not None:
            label = server.name
        elif server.source == "catalogue":
            label = server.target
        elif server.source == "git":
            label = Source.parse(server.target).name
        elif called is None:
            label = f"{server.source}:{places[server.source, server.target]}"
        elif len(alike[server.source, called]) == 1:
            label = f"{called} ({server.source})"
        else:
            label = f"{called} ({places[server.source, server.target]})"
        if server.settings is not None and server.name is None:
            label += f"@{settings[server.settings]}"
        seen[label] += 1
        result.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    for name in (server.name for server in references if server.name is not None):
        if seen[name] > 1:
            raise InputError(f"servers: two are named {name}; name each differently: NAME=SERVER")
    return tuple(result)


def _places(references: Sequence[ServerReference]) -> dict[tuple[str, str], str]:
    """Name each server's place by the last parts that no other has; a digest by its first digits."""
    places: dict[tuple[str, str], str] = {}
    for source in ("path", "image"):
        paths = {server.target: _label_path(server) for server in references if server.source == source}
        tails = _shortest_tails(paths.values())
        places |= {(source, target): tails[path] for target, path in paths.items()}
    addresses = {
        server.target: dsn.parse(server.target).dsn for server in references if server.source == "dsn"
    }
    sockets = _shortest_tails(address.socket for address in addresses.values() if address.socket is not None)
    return places | {("dsn", target): _host(address, sockets) for target, address in addresses.items()}


def _host(address: dsn.Dsn, sockets: Mapping[str, str]) -> str:
    if address.socket is not None:
        return sockets[address.socket]
    host = f"ip6-{address.host.replace(':', '-')}" if ":" in address.host else address.host
    return host if address.port == dsn.PORT else f"{host}:{address.port}"


def _in_catalogue(text: str) -> ServerReference:
    """Read `ID[@settings]`. An address may hold a password, which no message shows."""
    target, at, settings = text.partition("@")
    if not target or ":" in target or (at and not settings):
        kind, colon, _ = target.partition(":")
        shown = f"{kind}:…" if colon and "://" not in text else dsn.redacted(text)
        raise InputError(f"server {shown!r}: expected {FORMS}")
    return ServerReference(source="catalogue", target=catalogue.find(target), settings=settings or None)


def _image(written: str, text: str) -> ServerReference:
    image = _IMAGE.fullmatch(written)
    if image is None:
        form = "image:NAME[:TAG][@sha256:…][@settings], NAME in lower case"
        raise InputError(f"server {text!r}: expected {form}")
    return ServerReference(source="image", target=image["name"], settings=image["settings"])


def _archive(written: str) -> ServerReference:
    """Read `URL#sha256=HEX[@settings]`; an `@` before the checksum belongs to the URL."""
    url, hash, rest = written.partition("#")
    checksum, at, settings = rest.partition("@")
    target = archive.text(archive.read(url + hash + checksum))
    if at and not settings:
        raise InputError(f"server 'path:{written}': expected {FORMS}")
    return ServerReference(source="path", target=target, settings=settings or None)


def _label_path(reference: ServerReference) -> str:
    target = reference.target
    if reference.source == "image":
        return _DIGEST.sub(r":\1", target)
    return archive.display_path(archive.read(target)) if archive.is_url(target) else target


def _commit(written: str, text: str) -> ServerReference:
    """Read `DIR#REV[@settings]`; a branch or tag becomes the commit that it names now."""
    directory, _, rest = written.rpartition("#")
    revision, at, settings = rest.partition("@")
    if not directory or not revision or (at and not settings):
        raise InputError(f"server {text!r}: expected git:DIR#REV, with @settings or without")
    target = builds.find(directory, revision).target
    return ServerReference(source="git", target=target, settings=settings or None)


def _directory_and_settings(written: str, text: str) -> tuple[Path, str | None]:
    """Read `DIR[@settings]`; a directory of the full name comes first."""
    if written and os.path.isdir(_directory(written)):  # noqa: PTH112 (Path's fails for a long text)
        return _directory(written), None
    where, at, settings = written.rpartition("@")
    if not at:
        where, settings = written, ""
    if not where or (at and not settings):
        raise InputError(f"server {text!r}: expected {FORMS}")
    return _directory(where), settings or None


def _directory(text: str) -> Path:
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 (a link's own name makes the better label)


def _shortest_tails(paths: Iterable[str]) -> dict[str, str]:
    """The fewest last parts of each path that distinguish it from every other, joined and cleaned."""
    parts = {path: PurePath(path).parts or (path,) for path in paths}
    result: dict[str, str] = {}
    for path, mine in parts.items():
        others = [theirs for other, theirs in parts.items() if other != path]
        length = next(
            (n for n in range(1, len(mine)) if all(theirs[-n:] != mine[-n:] for theirs in others)), len(mine)
        )
        result[path] = re.sub(r"[^A-Za-z0-9._+=:-]+|::+", "-", "-".join(mine[-length:])).strip("-:") or "root"
    return result
