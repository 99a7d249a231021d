"""Fixtures and rules for all tests of the library."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import settings

from tests import collected

# How long an example takes says something about the machine, which others use as well.
settings.register_profile("shared machine", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=8)  # make check
settings.load_profile("shared machine")

# Runs that a test starts are no part of how the tests themselves are spread over processes.
os.environ.pop("PYTEST_XDIST_WORKER", None)
# A shell's background jobs ignore SIGINT, and so would every program that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


LOST = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Find folders whose number of tests is not the recorded one: tests get lost unseen."""
    config.stash[LOST] = collected.differences([config.rootpath / each for each in config.args], items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive what one of several processes found."""
    node.config.stash[LOST] = getattr(node, "workeroutput", {}).get("lost", [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    lost = session.config.stash.get(LOST, [])
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["lost"] = lost
    elif lost and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for each in config.stash.get(LOST, []):
        terminalreporter.write_line(f"ERROR: {each}", red=True)
