"""The catalogue: servers that can be fetched by their id."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.catalogue import CatalogueEntry, Source
from shootout.model.plan import ServerReference
from shootout.model.value import Value
from shootout.paths import FIXTURES
from shootout.servers.fetch import archive, packages
from shootout.servers.fetch.clients import Missing

FILE = FIXTURES / "servers.toml"


class FetchSource(Value):
    """One of the sources of a server, on this machine."""

    source: str  # as its client knows it
    client: str  # empty: it takes none
    missing: Missing | None  # None: it can be tried


class Offer(Value):
    """An entry of the catalogue, on this machine."""

    id: str
    family: str
    version: str
    released: str  # ISO date
    edition: str
    note: str
    state: Literal["ready", "fetchable", "unavailable"]
    directory: str | None  # where it is ready
    ways: tuple[FetchSource, ...]  # in order of preference


class Fetched(Value):
    """A server whose files are here."""

    reference: str  # as it is written
    family: str
    version: str  # as its binary reports it
    directory: str  # or an image's id


def load() -> dict[str, CatalogueEntry]:
    """Every entry by its id, in the file's order. Raises InputError where the file is not as it must be."""
    return toml.load(FILE, dict[str, CatalogueEntry])


def find(written: str) -> str:
    """The id that is meant: `written` itself, or the only one that it begins (`mysql-5.7`).

    Raises InputError where there is none, or several.
    """
    known = load()
    if written in known:
        return written
    meant = [name for name in known if name.startswith((f"{written}-", f"{written}."))]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(f"server {written!r} could be any of {', '.join(meant)}; expected one of them")
    raise InputError(
        f"unknown server {written!r}{toml.hint(written, known)}\nA build of your own is written path:DIR."
    )


def fetch(
    reference: ServerReference,
    cache: Path,
    held: ExitStack | None = None,
    progress: packages.Progress = packages.no_progress,
) -> Path:
    """The directory of a server's files, fetched where they are not here. Raises as packages.fetch does."""
    if reference.source == "catalogue":
        return packages.fetch(reference.target, load()[reference.target], cache, held, progress)
    if archive.is_url(reference.target):
        source = archive.read(reference.target)
        return packages.fetch_archive(source.url, source.sha256, cache, held, progress)
    return Path(reference.target)


def offers(cache: Path) -> tuple[Offer, ...]:
    """Every entry, and what it takes to have it here."""
    entries = load()
    # Asked once for each kind: apt takes half a second to answer.
    kinds = {type(source): source for entry in entries.values() for source in entry.sources}
    missing = {kind: packages.missing(source) for kind, source in kinds.items()}
    return tuple(_offer(name, entry, missing, cache) for name, entry in entries.items())


def _offer(
    name: str, entry: CatalogueEntry, missing: Mapping[type[Source], Missing | None], cache: Path
) -> Offer:
    ways = tuple(
        FetchSource(source=packages.describe(each), client=packages.client(each), missing=missing[type(each)])
        for each in entry.sources
    )
    targets = (packages.target(name, each, cache) for each in entry.sources)
    ready = next((str(target) for target in targets if target.is_dir()), None)
    can_be_tried = any(way.missing is None for way in ways)
    return Offer(
        id=name,
        family=entry.family,
        version=entry.version,
        released=entry.released,
        edition=entry.edition,
        note=entry.note,
        state="ready" if ready else "fetchable" if can_be_tried else "unavailable",
        directory=ready,
        ways=ways,
    )
