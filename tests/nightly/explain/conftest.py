"""Fixtures that tests/real shares."""

from tests.real.explain.test_command import asked

__all__ = ["asked"]
