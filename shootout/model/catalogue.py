"""The catalogue of servers: where each comes from, and the checksums of what is fetched."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from shootout.model.value import Sha256, Value


class Packed(Value, kw_only=True):  # said again for mypy
    """One archive, and what of it becomes a server's tree."""

    sha256: Sha256  # of what is downloaded
    folder: str = ""  # of the archive, that becomes the tree
    keep: tuple[str, ...] = ()  # patterns of paths in the tree, each with all below; empty: everything


class Maven(Packed, tag="maven"):
    """A Maven artifact: an archive, or one that holds the archive."""

    artifact: str  # group:artifact:version[:packaging[:classifier]]
    archive: str = ""  # inside it; empty: the artifact itself


class Npm(Packed, tag="npm"):
    """An npm package."""

    package: str  # name@version


class Debian(Value, tag="debian"):
    """Packages of a Debian release, with loader and libc: apt verifies them, and takes the newest ones."""

    series: str  # code name
    packages: Annotated[tuple[str, ...], Meta(min_length=1)]  # with all that they depend on
    alone: tuple[str, ...] = ()  # without
    keep: tuple[str, ...] = ()  # as Packed's


class Archive(Packed, tag="archive"):
    """An archive that lies somewhere; with no `folder` its single top one, where it has, is the tree.

    `keep` then counts from the archive's own top.
    """

    url: str  # http, https or file


Source = Maven | Npm | Debian | Archive


class CatalogueEntry(Value):
    """A server that can be fetched by its id."""

    family: Literal["mysql", "mariadb", "percona"]
    version: str  # or as much of it as stays the same while its source moves on
    released: str  # ISO date
    edition: str
    sources: Annotated[tuple[Source, ...], Meta(min_length=1)]  # in order of preference
    note: str = ""  # what is special about it
