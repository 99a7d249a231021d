"""Fixtures that tests/real shares."""

from tests.real.bisect.test_since import place

__all__ = ["place"]
