"""Kinds of statement by version."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Browser

from shootout.count import judge
from tests.support.browser import opened, serious
from tests.unit.count.test_by_version import VERSIONS, counted
from tests.unit.count.test_page import built


def test_a_phone_has_a_line_for_each_kind_below_the_servers_names(tmp_path: Path, chromium: Browser) -> None:
    folder = built([judge.compare(counted())], tmp_path).parent / "count"
    tab, faults = opened(chromium, folder / "20261124T100000Z-000001-versions.html", width=390)
    rows = tab.locator(".steps tr").all()
    boxes = [row.bounding_box() for row in rows]
    assert len(boxes) > 2
    assert all(one and other and one["y"] < other["y"] for one, other in pairwise(boxes))
    assert all(rows[0].get_by_text(label, exact=True).is_visible() for label in VERSIONS)
    assert faults == serious(tab) == []
    tab.close()
