"""Chromium, for all tests that open pages."""

from __future__ import annotations

from tests.support.browser import chromium

__all__ = ["chromium"]
