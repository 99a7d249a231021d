"""What holds for all tests of the library."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from playwright.sync_api import Browser

from benchmarks import browser

# How long an example takes says something about the machine, which others use as well.
settings.register_profile("shared machine", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)  # make check
settings.load_profile("shared machine")

# Runs that a test starts are no part of how the tests themselves are spread over processes.
os.environ.pop("PYTEST_XDIST_WORKER", None)
# A shell's background jobs ignore SIGINT, and so would every program that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as found:
        yield found
