"""The catalogue: servers that can be fetched by their id."""

from __future__ import annotations

from shootout import toml
from shootout.model import CatalogueEntry
from shootout.places import FIXTURES

FILE = FIXTURES / "servers.toml"


def load() -> dict[str, CatalogueEntry]:
    """Every entry by its id, in the file's order. Raises InputError where the file is not as it must be."""
    return toml.load(FILE, dict[str, CatalogueEntry])
