"""A page as one file that needs no other: for artifacts, mail and chat."""

from __future__ import annotations

import re

from shootout.paths import TEMPLATES
from shootout.report.site.page import Page, Render

_STYLE = re.compile(r'<link rel="stylesheet"[^>]*>')
_SCRIPT = re.compile(r'<script src="[^>]*></script>')
# Links to other files of the site: the feed, the navigation, and the links of pages.
_ELSEWHERE = re.compile(
    r'<link rel="alternate"[^>]*>\s*|<nav aria-label="Site">.*?</nav>'
    r'|(?<=<a)([^>]*?) href="(?!#|https?:)[^"]*"',
    re.DOTALL,
)


def inline(page: Page, render: Render) -> str:
    """The page with style and script inside, and without links to other files."""
    style, script = ((TEMPLATES / name).read_text("utf-8") for name in ("style.css", "site.js"))
    text = _STYLE.sub(lambda _: f"<style>\n{style}</style>", page.html(render))
    text = _ELSEWHERE.sub(lambda link: link[1] or "", text)
    return _SCRIPT.sub(lambda _: f"<script>\n{script}</script>", text)
