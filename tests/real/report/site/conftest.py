"""Sites that several modules read, built once in each process."""

from __future__ import annotations

from tests.support.report.site.sites import built, known, small, weekly, weeks

__all__ = ["built", "known", "small", "weekly", "weeks"]
