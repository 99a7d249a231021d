"""Where things lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path

_PACKED = Path(__file__).with_name("_data")  # in a wheel: what a checkout has beside the package

ROOT = _PACKED if _PACKED.is_dir() else Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
TEMPLATES = ROOT / "templates"
SUITES = ROOT / "suites"
REPORTS = Path("reports") if _PACKED.is_dir() else ROOT / "reports"


def cache() -> Path:
    """The user's cache folder for shootout: fetched servers, loaded datasets, running instances."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shootout"
