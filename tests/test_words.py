"""No word that the glossary retires comes back, in code, pages or documents."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shootout.paths import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
LEFT_OUT = {GLOSSARY, ROOT / "CHANGELOG.md", Path(__file__)}
SOURCES = {".py", ".pyi", ".rs", ".j2", ".js", ".css", ".toml", ".yml", ".md"}
ALLOWED = re.compile('(?i)degrees of freedom|"twin"|/twins')  # the standard term; names in run documents
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def retired() -> dict[str, str]:
    """What the glossary's last table retires, each with what to use instead."""
    table = GLOSSARY.read_text("utf-8").partition("## Retired words")[2]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE))


def words_of(text: str) -> Iterator[tuple[int, str]]:
    """Each word of prose and each part of an identifier, in lower case, with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in PART.findall(ALLOWED.sub("", line)):
            yield number, word.lower()


def sources() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = {ROOT / name for name in listed.stdout.splitlines()}
    return sorted(file for file in files - LEFT_OUT if file.suffix in SOURCES and file.is_file())


def test_the_glossary_retires_words() -> None:
    assert {"contender", "twin"} <= set(retired())


@pytest.mark.parametrize("file", sources(), ids=lambda file: str(file.relative_to(ROOT)))
def test_no_retired_word_is_used(file: Path) -> None:
    instead = retired()
    found = [
        f"{file.relative_to(ROOT)}:{number}: {word}; use {instead[word]}"
        for number, word in words_of(file.read_text("utf-8"))
        if word in instead
    ]
    assert not found, "\n".join(found)
