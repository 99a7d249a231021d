"""Take README's screenshot from the site of `make demo-site`, and for `tables` those of docs/versions.md.

Usage: `python -m lab.showcase.screenshot`
"""

from __future__ import annotations

from pathlib import Path

from lab import browser
from shootout.paths import REPORTS, ROOT

PAGE = REPORTS / "demo" / "site" / "runs" / "20261125T061217Z-e84e2b" / "index.html"  # as `make bench` ends
IMAGE = ROOT / "docs" / "report.png"
WIDTH, HEIGHT = 1240, 1090  # CSS pixels
TOP = "id => id ? document.getElementById(id).getBoundingClientRect().top - 16 : 0"


def main() -> None:
    print(shoot(PAGE, IMAGE, HEIGHT))


def shoot(page: Path, image: Path, height: int, section: str = "") -> Path:
    """Shoot the top of a page, or of the section with this heading, in the light colour scheme."""
    with browser.chromium() as chromium:
        tab = chromium.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_load_state("load")
        top = tab.evaluate(TOP, section)
        tab.screenshot(path=image, clip={"x": 0, "y": top, "width": WIDTH, "height": height}, full_page=True)
    return image


if __name__ == "__main__":
    main()
