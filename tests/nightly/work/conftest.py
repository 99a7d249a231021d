"""Fixtures that tests/real shares."""

from tests.real.work.test_command import counted

__all__ = ["counted"]
