"""Where things lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
TEMPLATES = ROOT / "templates"
SUITES = ROOT / "suites"
REPORTS = ROOT / "reports"


def cache() -> Path:
    """The user's cache folder for shootout: fetched servers, loaded datasets, running instances."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shootout"
