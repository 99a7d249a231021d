"""Kinds of statement by version."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Browser

from tests.support.browser import opened, serious
from tests.support.count.builders import VERSIONS, by_version
from tests.unit.count.test_answer import built

NAMES = "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"


def test_a_phone_has_a_line_for_each_kind_with_the_servers_names(tmp_path: Path, chromium: Browser) -> None:
    document = by_version()
    folder = built([document], tmp_path, run=False).parent / "count"
    tab, faults = opened(chromium, folder / f"{document.run}.html", width=390)
    rows = tab.locator(".steps tbody tr").all()
    boxes = [row.bounding_box() for row in rows]
    assert len(boxes) > 2
    assert all(one and other and one["y"] < other["y"] for one, other in pairwise(boxes))
    for row in rows:
        names = row.locator("td.num").evaluate_all(NAMES)
        assert {name.strip('"') for name in names} == {*VERSIONS}
    assert faults == serious(tab) == []
    tab.close()
