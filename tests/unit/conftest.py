"""Fixtures for tests without servers: their files need not survive a power cut."""

from __future__ import annotations

import os

import pytest

os.fsync = lambda fd: None


@pytest.fixture(autouse=True)
def without_first_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print none of what looks into servers before a command begins."""
    monkeypatch.setattr("shootout.measure.outset.lines", lambda *_: ())
