"""Server references: what users write to say which server."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from shootout.errors import InputError
from shootout.model.plan import ServerReference
from shootout.servers import catalogue, dsn, layout
from shootout.servers.fetch import archive

FORMS = (
    "a catalogue id (mysql-8.0.12), path:DIR, path:URL#sha256=HEX, image:NAME or dsn:mysql://USER@HOST, "
    "each with @settings or without"
)

# As the Docker engine reads it: host:port/path/name:tag@digest
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
    """Read `ID`, `path:DIR`, `path:URL#sha256=HEX`, `image:NAME` or `dsn:ADDRESS`; `@settings` may follow.

    An id may be cut short where it stays unique; directories become absolute; an address loses its password.
    The last `@` begins the settings, except within the name of a directory that exists as written; an image's
    `@sha256:…` belongs to its name, and what follows it, or the first `@` of another one, to the settings.
    Raises InputError for an unknown id, another form, or a directory without a server in it.
    """
    kind, colon, rest = text.strip().partition(":")
    if not colon:
        target, settings = _split(kind, text)
        return ServerReference(source="catalogue", target=catalogue.find(target), settings=settings)
    if kind == "dsn":
        written = dsn.parse(rest)
        return ServerReference(source="dsn", target=written.dsn.text, settings=written.settings)
    if kind == "image":
        return _image(rest, text)
    if kind != "path":
        shown = f"{kind}:…" if "@" in text and "://" not in text else dsn.redacted(text)
        raise InputError(f"server {shown!r}: expected {FORMS}")
    if archive.is_url(rest):
        return _archive(rest)
    try:
        where, settings = (rest, None) if rest and _directory(rest).is_dir() else _split(rest, text)
        directory = _directory(where)
        layout.find_mysqld(directory)
    except OSError as error:
        raise InputError(f"server {text!r}: cannot be read: {error.strerror}") from None
    except (ValueError, RuntimeError):  # NUL in it, or a home directory that is not there
        raise InputError(f"server {text!r}: not the name of a directory") from None
    return ServerReference(source="path", target=str(directory), settings=settings)


def missing(text: str) -> ServerReference | None:
    """A `path:DIR` whose directory does not exist; None for any other reference. Raises InputError."""
    kind, _, rest = text.strip().partition(":")
    if kind != "path" or archive.is_url(rest):
        return None
    try:
        where, settings = (rest, None) if rest and _directory(rest).is_dir() else _split(rest, text)
        directory = _directory(where)
        if directory.exists():
            return None
    except (OSError, ValueError, RuntimeError):  # `parse` has the words for it
        return None
    return ServerReference(source="path", target=str(directory), settings=settings)


def parse_list(text: str) -> tuple[ServerReference, ...]:
    """Read references separated by commas. Raises InputError as `parse` does, and for an empty list."""
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"servers {text!r}: expected at least one: {FORMS}")
    return tuple(parse(part) for part in parts)


def without_password(text: str) -> str:
    """A reference that `parse` takes, fit to be shown and written down."""
    return parse(text).text if text.strip().startswith("dsn:") else text


def password(text: str, environment: Mapping[str, str]) -> str | None:
    """The password of an address, or MYSQL_PWD where it names none; None for another reference."""
    kind, _, rest = text.strip().partition(":")
    if kind != "dsn":
        return None
    found = dsn.parse(rest).password
    return environment.get("MYSQL_PWD", "") if found is None else found


def labels(references: Sequence[ServerReference]) -> tuple[str, ...]:
    """A short, unique, readable name for each reference, fit for pytest ids.

    Directories, images, sockets and settings files go by their last part, or by as many as tell them apart,
    and an image's digest by its beginning; a reference that comes again is the same server a second time, and
    gets `#2`.
    """
    shown = {
        source: _shortest_tails(_label_path(each) for each in references if each.source == source)
        for source in ("path", "image")
    }
    addresses = {each.target: dsn.parse(each.target).dsn for each in references if each.source == "dsn"}
    sockets = _shortest_tails(each.socket for each in addresses.values() if each.socket is not None)
    settings = _shortest_tails(each.settings for each in references if each.settings is not None)
    seen: Counter[str] = Counter()
    result = []
    for each in references:
        match each.source:
            case "path" | "image":
                label = f"{each.source}:{shown[each.source][_label_path(each)]}"
            case "dsn":
                label = f"dsn:{_host(addresses[each.target], sockets)}"
            case _:
                label = each.target
        if each.settings is not None:
            label += f"@{settings[each.settings]}"
        seen[label] += 1
        result.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    return tuple(result)


def _host(address: dsn.Dsn, sockets: Mapping[str, str]) -> str:
    """A host, with its port where that is not the usual one; or a socket."""
    if address.socket is not None:
        return sockets[address.socket]
    host = f"ip6-{address.host.replace(':', '-')}" if ":" in address.host else address.host
    return host if address.port == dsn.PORT else f"{host}:{address.port}"


def _image(written: str, text: str) -> ServerReference:
    found = _IMAGE.fullmatch(written)
    if found is None:
        raise InputError(
            f"server {text!r}: expected image:NAME[:TAG][@sha256:…][@settings], the name in small letters"
        )
    return ServerReference(source="image", target=found["name"], settings=found["settings"])


def _archive(written: str) -> ServerReference:
    """`URL#sha256=HEX[@settings]`; an `@` of the URL's own stands before the checksum."""
    url, hash, rest = written.partition("#")
    checksum, at, settings = rest.partition("@")
    target = archive.text(archive.read(url + hash + checksum))
    if at and not settings:
        raise InputError(f"server 'path:{written}': expected {FORMS}")
    return ServerReference(source="path", target=target, settings=settings or None)


def _label_path(reference: ServerReference) -> str:
    """What a label is made of: a directory, or as if the archive were one, or an image's name."""
    target = reference.target
    if reference.source == "image":
        return _DIGEST.sub(r":\1", target)
    return archive.display_path(archive.read(target)) if archive.is_url(target) else target


def _split(written: str, text: str) -> tuple[str, str | None]:
    target, at, settings = written.rpartition("@")
    if not at:
        target, settings = written, ""
    if not target or (at and not settings):
        raise InputError(f"server {text!r}: expected {FORMS}")
    return target, settings or None


def _directory(text: str) -> Path:
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 (a link's own name makes the better label)


def _shortest_tails(paths: Iterable[str]) -> dict[str, str]:
    """For each path as few of its last parts as make it unlike every other, joined and cleaned."""
    parts = {path: PurePath(path).parts or (path,) for path in paths}
    result: dict[str, str] = {}
    for path, mine in parts.items():
        others = [theirs for other, theirs in parts.items() if other != path]
        length = next(
            (n for n in range(1, len(mine)) if all(theirs[-n:] != mine[-n:] for theirs in others)), len(mine)
        )
        result[path] = re.sub(r"[^A-Za-z0-9._+:-]+|::+", "-", "-".join(mine[-length:])).strip("-:") or "root"
    return result
