"""The JSON and CSV files of pages."""

from __future__ import annotations

from pathlib import Path

import msgspec


def test_every_page_has_its_json_and_csv(weekly: Path) -> None:
    for page in weekly.rglob("*.html"):
        if page.name not in ("how-to-read.html", "cells.html"):
            assert page.with_suffix(".csv").is_file(), page
            msgspec.json.decode(page.with_suffix(".json").read_bytes())
