"""Take README's screenshot from the site of `make demo-site`.

Usage: `python -m benchmarks.showcase.screenshot`
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from shootout.paths import REPORTS, ROOT

PAGE = REPORTS / "demo" / "site" / "runs" / "20261121T170041Z-a58f78" / "index.html"  # as `make bench` ends
IMAGE = ROOT / "docs" / "report.png"
WIDTH, HEIGHT = 1240, 985  # CSS pixels


def main() -> None:
    print(shoot(PAGE, IMAGE))


def shoot(page: Path, image: Path) -> Path:
    """The top of a page, in the light colour scheme."""
    browser_path = shutil.which("chromium")
    if browser_path is None:
        raise SystemExit("Chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_load_state("load")
        tab.screenshot(path=image)
        browser.close()
    return image


if __name__ == "__main__":
    main()
