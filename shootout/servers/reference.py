"""Server references: what users write to say which server."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from shootout.errors import InputError
from shootout.model import ServerReference
from shootout.servers import archive, catalogue, layout

FORMS = (
    "a catalogue id (mysql-8.0.12), path:DIR, path:URL#sha256=HEX or image:NAME, "
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
    """Read `ID`, `path:DIR`, `path:URL#sha256=HEX` or `image:NAME`, each with `@settings` or without.

    An id may be cut short where it stays unique; directories become absolute.

    The last `@` begins the settings, except within the name of a directory that exists as written; an image's
    `@sha256:…` belongs to its name, and what follows it, or the first `@` of another one, to the settings.
    Raises InputError for an unknown id, another form, or a directory without a server in it.
    """
    kind, colon, rest = text.strip().partition(":")
    if not colon:
        target, settings = _split(kind, text)
        return ServerReference(source="catalogue", target=catalogue.find(target), settings=settings)
    if kind == "image":
        return _image(rest, text)
    if kind != "path":
        raise InputError(f"server {text!r}: expected {FORMS}")
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


def parse_list(text: str) -> tuple[ServerReference, ...]:
    """Read references separated by commas. Raises InputError as `parse` does, and for an empty list."""
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"servers {text!r}: expected at least one: {FORMS}")
    return tuple(parse(part) for part in parts)


def labels(references: Sequence[ServerReference]) -> tuple[str, ...]:
    """A short, unique, readable name for each reference, fit for pytest ids.

    Directories, images and settings files go by their last part, or by as many as tell them apart, and an
    image's digest by its beginning; a reference that comes again is the same server a second time, and
    gets `#2`.
    """
    shown = {
        source: _tails(_shown(each) for each in references if each.source == source)
        for source in ("path", "image")
    }
    settings = _tails(each.settings for each in references if each.settings is not None)
    seen: Counter[str] = Counter()
    result = []
    for each in references:
        names = shown.get(each.source)
        label = f"{each.source}:{names[_shown(each)]}" if names is not None else each.target
        if each.settings is not None:
            label += f"@{settings[each.settings]}"
        seen[label] += 1
        result.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    return tuple(result)


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
    target = archive.written(archive.read(url + hash + checksum))
    if at and not settings:
        raise InputError(f"server 'path:{written}': expected {FORMS}")
    return ServerReference(source="path", target=target, settings=settings or None)


def _shown(reference: ServerReference) -> str:
    """What a label is made of: a directory, or as if the archive were one, or an image's name."""
    target = reference.target
    if reference.source == "image":
        return _DIGEST.sub(r":\1", target)
    return archive.shown(archive.read(target)) if archive.is_url(target) else target


def _split(written: str, text: str) -> tuple[str, str | None]:
    target, at, settings = written.rpartition("@")
    if not at:
        target, settings = written, ""
    if not target or (at and not settings):
        raise InputError(f"server {text!r}: expected {FORMS}")
    return target, settings or None


def _directory(text: str) -> Path:
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 (a link's own name makes the better label)


def _tails(paths: Iterable[str]) -> dict[str, str]:
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
