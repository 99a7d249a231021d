"""The pages of maps: what a count's statements execute of each server, and what none does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    columns = ("map", "server", "part", "functions", "executed", "bytes", "executed_bytes")

    @property
    def path(self) -> str:
        return path_of(self.document.run)

    @property
    def servers(self) -> tuple[tuple[MapServer, str, dict[str, Table]], ...]:
        """Each server, with what its page says: a sentence and tables."""
        return tuple((each, report.covered(each), report.tables(each)) for each in self.document.mapped)

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """One line for each part of each server."""
        for server in self.document.mapped:
            for part in server.parts:
                yield (
                    self.document.run, server.label, part.name, part.functions, part.executed, part.bytes,
                    part.executed_bytes,
                )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MapListPage(ListPage):
    """All maps, the newest first."""

    every: tuple[MapPage, ...]
    template = "reach/list"
    columns = ("map", "started", "servers", "kinds", "functions", "page")
    folder = FOLDER

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return [
            (
                each.document.run,
                each.document.started,
                " ".join(server.label for server in each.document.mapped),
                len(each.document.kinds),
                len(each.document.functions),
                each.path,
            )
            for each in self.every
        ]


def path_of(run: str) -> str:
    """The page of a map, from the site's root."""
    return f"{FOLDER}/{file_stem(run)}.html"


def listing(documents: Iterable[MapDocument]) -> Listing | None:
    """The pages of maps, if there are any."""
    every = tuple(map(MapPage, documents))
    return Listing("Coverage", MapListPage(every=every), every) if every else None
