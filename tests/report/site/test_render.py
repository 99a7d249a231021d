"""Templates filled."""

from __future__ import annotations

from shootout.report.site.feeds import Badge
from shootout.report.site.render import renderer


def test_what_a_template_inserts_is_visible_text() -> None:
    text = renderer()("badge.svg", badge=Badge(label="<b>\x1b", message="no regression", color="#000000"))
    assert "&lt;b&gt;␛" in text
    assert "<b>" not in text
