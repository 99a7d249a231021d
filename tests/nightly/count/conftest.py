"""Fixtures that tests/real shares."""

from tests.real.count.test_command import counted

__all__ = ["counted"]
