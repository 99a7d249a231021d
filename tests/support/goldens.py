"""Texts that were approved, each in a file."""

from __future__ import annotations

from pathlib import Path


def check(text: str, golden: Path, made: Path) -> None:
    """Compare a text with its golden file; `made`: the folder for the text that is there now."""
    actual = made / golden.name
    actual.write_text(text, "utf-8")
    assert golden.is_file(), f"new; if it is meant: cp {actual} {golden}"
    assert text == golden.read_text("utf-8"), f"if it is meant: cp {actual} {golden}"
