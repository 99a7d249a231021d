"""Declares the options of `pytest suites`, and makes a plan of them; harness.py has the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shootout import app, command
from shootout.errors import InputError
from shootout.harness import Suites, suites_of
from shootout.inputs.options import (
    ACKNOWLEDGED,
    COVERAGE,
    EXPLAIN,
    JSON,
    MARKDOWN,
    MEASURING,
    OUT,
    refuse_gone,
)
from shootout.paths import SUITES
from shootout.servers.external import dsn


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shootout", "performance suites (pytest suites …)")
    for option in (*MEASURING, EXPLAIN, COVERAGE):
        option.add_to(group.addoption, **({"type": str} if option.metavar else {}))
    refuse_gone(group.addoption, pytest.UsageError)
    for option in (OUT, MARKDOWN, ACKNOWLEDGED, JSON):
        option.add_to(group.addoption)


def pytest_configure(config: pytest.Config) -> None:
    """Make a plan of pytest's own options, unless the command line has one."""
    if config.getoption("dist", "no") != "no" and not config.option.collectonly and _measures(config):
        raise pytest.UsageError("-n: cells are measured one after the other, in one process; leave it out")
    if suites_of(config) is not None:
        return
    junit_xml = config.getoption("xmlpath", None)
    try:
        request = replace(command.request(config.option), junit_xml=junit_xml and Path(junit_xml))
        prepared = app.prepare(request, command.preparing, command.left_out)
    except InputError as error:
        raise pytest.UsageError(dsn.redacted(str(error))) from None
    config.pluginmanager.register(Suites(prepared))


def _measures(config: pytest.Config) -> bool:
    """Whether the arguments name suites."""
    named = [(config.invocation_params.dir / each.partition("::")[0]).resolve() for each in config.args]
    return any(each.is_relative_to(SUITES) or SUITES.is_relative_to(each) for each in named)
