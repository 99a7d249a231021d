"""Every link of the docs leads somewhere."""

from __future__ import annotations

import re

from shootout.paths import ROOT

LINK = re.compile(r"\[[^]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_every_link_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in LINK.findall(page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"
