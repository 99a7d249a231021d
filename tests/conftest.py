"""What holds for all tests of the library."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes says something about the machine, which others use as well.
settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

# Runs that a test starts are no part of how the tests themselves are spread over processes.
os.environ.pop("PYTEST_XDIST_WORKER", None)
