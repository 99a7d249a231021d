"""Every link of the docs leads somewhere, and every page that the code names exists."""

from __future__ import annotations

import re
from pathlib import Path

from shootout.paths import ROOT

LINK = re.compile(r"\[[^]]*\]\(([^)#:]*)(?:#([^):]*))?\)")
NAMED = re.compile(r"docs/[\w-]+(?:/[\w-]+)?\.md")
CODE = (
    "shootout/**/*.py", "benchmarks/**/*.py", "lab/**/*.py", "fixtures/**/*.toml", "Makefile", "tests/*/*.py",
)  # fmt: skip
PLAYED = ROOT / "tests" / "workflows"  # pull requests with files of their own


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target, anchor in LINK.findall(page.read_text("utf-8")):
            where = f"{page.relative_to(ROOT)}: {target}#{anchor}"
            file = page.parent / target if target else page
            assert file.exists(), where
            assert not anchor or file.suffix != ".md" or anchor in anchors(file), where


def test_every_page_that_the_code_names_exists() -> None:
    for file in (file for pattern in CODE for file in ROOT.glob(pattern)):
        if not file.is_relative_to(PLAYED):
            named = NAMED.findall(file.read_text("utf-8"))
            assert [page for page in named if not (ROOT / page).exists()] == [], file
