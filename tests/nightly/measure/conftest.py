"""Fixtures that tests/real shares."""

from tests.real.measure.test_external import server, started

__all__ = ["server", "started"]
