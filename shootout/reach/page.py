"""The pages of maps: what a count's statements execute of each server, and what none does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shootout.paths import file_stem
from shootout.reach import report
from shootout.reach.values import MapDocument, MapServer
from shootout.report.judged import Table
from shootout.report.site.page import Listing, ListPage, Page

FOLDER = "reach"


@dataclass(frozen=True)
class MapPage(Page):
    """What one map covers."""

    document: MapDocument
    template = "reach/page"

    @property
    def path(self) -> str:
        return path_of(self.document.run)

    @property
    def servers(self) -> tuple[tuple[MapServer, str, dict[str, Table]], ...]:
        """Each server, with what its page says: a sentence and tables."""
        return tuple((each, report.covered(each), report.tables(each)) for each in self.document.mapped)


@dataclass(frozen=True, kw_only=True)
class MapListPage(ListPage):
    """All maps, the newest first."""

    every: tuple[MapPage, ...]
    template = "reach/list"
    folder = FOLDER


def path_of(run: str) -> str:
    """The page of a map, from the site's root."""
    return f"{FOLDER}/{file_stem(run)}.html"


def listing(documents: Iterable[MapDocument]) -> Listing | None:
    """The pages of maps, if there are any."""
    every = tuple(map(MapPage, documents))
    return Listing("Coverage", MapListPage(every=every), every) if every else None
