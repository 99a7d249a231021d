"""The pages of maps."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from shootout.numbers import SPACE
from shootout.reach import page
from shootout.report import site
from tests.reach.builders import a_map
from tests.report.site.pages import Document, check_links, opened, serious

RUN = a_map().run


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with two maps and no run."""
    folder = tmp_path_factory.mktemp("site")
    listed = page.listing([a_map(), a_map("20261125T100000Z-000002")])
    assert listed is not None
    site.build([], folder, listings=[listed])
    return folder


def test_a_map_has_a_page_with_its_parts_and_blind_spots(published: Path) -> None:
    shown = Document((published / page.path_of(RUN)).read_text("utf-8"))
    text = shown.text.replace(SPACE, " ")
    for said in (
        "base: 300 of 3 001 of its own functions are executed (10 %).",
        "InnoDB",
        "12.5 %",
        "fts_",
        "point",
    ):
        assert said in text
    assert page.path_of(RUN).partition("/")[2] in (published / "reach" / "index.html").read_text("utf-8")


def test_without_a_map_there_is_no_page() -> None:
    assert page.listing([]) is None


def test_every_link_leads_somewhere(published: Path) -> None:
    check_links(published)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everyone_can_read_them(published: Path, chromium: Browser, scheme: str, width: int) -> None:
    for name in (page.path_of(RUN), "reach/index.html"):
        tab, faults = opened(chromium, published / name, width, scheme)
        assert faults == []
        assert serious(tab) == []
        tab.close()
