"""Pages in Chromium: opened as users open them, and examined with axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lab import browser as chrome


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start Chromium for a module's tests."""
    with chrome.chromium() as started:
        yield started


def opened(
    browser: Browser, page: Path, width: int = 1440, scheme: str = "light", before: str = ""
) -> tuple[Page, list[str]]:
    """The page, and all that it complained of or asked of others; `before`: a script that runs first."""
    tab = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    tab.add_init_script(before)
    faults: list[str] = []
    tab.on("console", lambda message: faults.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: faults.append(f"error: {error}"))
    tab.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    tab.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:")) else faults.append(request.url)
        ),
    )
    tab.goto(page.as_uri())
    return tab, faults


def serious(tab: Page) -> list[str]:
    """List what axe-core finds on the page that keeps people from using it, each with the first place."""
    options = {"preload": False, "resultTypes": ["violations"]}  # preloading fetches, which file: forbids
    return [
        f"{fault['id']}: {fault['nodes'][0]['html']} {fault['nodes'][0]['failureSummary']}"
        for fault in Axe().run(tab, options=options).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
