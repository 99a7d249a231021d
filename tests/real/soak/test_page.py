"""The pages of soaks, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from shootout.commands.soak import CAPABILITY
from shootout.report import site
from shootout.soak.values import SoakFailure
from tests.support.browser import opened, serious
from tests.support.report.site.pages import check_links
from tests.support.soak.builders import SOAK, document, faulty, slices, written

SHORT = "20261124T100000Z-000002"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these pages in a site of their own."""
    results = tmp_path_factory.mktemp("results")
    short = document(["a"], slices("a", [9.0] * 5), [SoakFailure(server="a", reason="<crashed>")], soak=SHORT)
    for each in (faulty(), short):
        written(results, each)
    listing = CAPABILITY.listing(results, pytest.fail)
    assert listing is not None
    return site.build([], tmp_path_factory.mktemp("site"), listings=[listing]).parent / "soaks"


def test_every_page_can_be_reached(folder: Path) -> None:
    check_links(folder.parent)
    assert (folder / f"{SOAK}.html").read_text("utf-8").count('class="chart"') == 4  # two of them gauges


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everyone_can_read_them(folder: Path, chromium: Browser, scheme: str, width: int) -> None:
    for page in (folder / f"{SOAK}.html", folder / f"{SHORT}.html", folder.parent / "index.html"):
        tab, faults = opened(chromium, page, width, scheme)
        assert faults == []
        assert serious(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.close()
