"""The page of a server."""

from __future__ import annotations

from pathlib import Path

from shootout.analysis import compare
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import Document, a_page, a_site, rendered, rows_in, tables


def test_the_page_of_a_server_that_is_not_available_says_so() -> None:
    header = builders.a_header([builders.BASE, builders.HEAD, "old"], ["oltp_read_only"], [1])
    document = builders.without(builders.a_run(header), "old")
    page = rendered(Run(document, compare.compare(document)))["server-old.html"]
    assert "<dt>Dataset</dt><dd>not available here: there is no tree at old</dd>" in page


def test_a_server_page_has_its_cells_and_settings(tmp_path: Path) -> None:
    header = builders.a_header([builders.BASE, builders.HEAD, "a"])
    built = a_site([builders.a_result(builders.a_run(header))], tmp_path)
    page = a_page(built, "server-mysql-8.0.12")
    found = tables(page)
    assert len(rows_in(found["Figures by cell"])) == 9
    (settings_,) = (table for caption, table in found.items() if caption.startswith("Settings in-memory"))
    rows = {name: cells for name, *cells in rows_in(settings_)}
    assert rows["max_connections"] == ["1024", "214", "1024", "differs"]
    assert rows["performance_schema"] == ["OFF", "OFF", "OFF", "yes"]
    text = Document(page.read_text("utf-8")).text
    assert "mysql-8.0.12 is slower than mysql-5.7.22 in 6 of 9 cells" in text
    base = Document(a_page(built, "server-mysql-5.7.22").read_text("utf-8")).text
    assert "The base, with which the other servers are compared" in base


def test_two_servers_stand_side_by_side_without_pages_of_their_own(built: Path) -> None:
    assert not [*built.parent.rglob("server-*.html")]
