"""Sites that several test modules read."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from shootout.analysis import compare
from shootout.model.verdict import Acknowledgement
from shootout.report import site
from shootout.report.judged_runs import JudgedRun
from tests.support import builders
from tests.support.report.site.pages import a_site
from tests.support.report.site.weeks import a_week


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a site of two runs, the older one interrupted; returns its index page."""
    older = builders.a_header(run="20261113T024100Z-11aa", started="2026-11-13T02:41:00+00:00", seed=5)
    results = [builders.a_result(builders.a_run(older, interrupted=True)), builders.a_result()]
    return a_site(results, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a site with little on each page, and something of everything."""
    header = builders.a_header([builders.BASE, builders.HEAD, "mysql-9.7"], ["oltp_read_write"], [1, 8])
    document = builders.a_run(header)
    older = builders.a_header(run="20261113T024100Z-11aa", workloads=["oltp_read_write"], threads=[1])
    results = [(document, compare.compare(document)), builders.a_result(builders.a_run(older))]
    return a_site(results, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def weeks() -> list[JudgedRun]:
    return [a_week(number) for number in range(20)]


@pytest.fixture(scope="session")
def known() -> Acknowledgement:
    return Acknowledgement(
        workload="oltp_read_only", server="*", threads=8, at_most=0.1, expires=date(2027, 1, 1), owner="ann",
        reason="the safer default",
    )  # fmt: skip


@pytest.fixture(scope="session")
def weekly(weeks: list[JudgedRun], known: Acknowledgement, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build(weeks, tmp_path_factory.mktemp("weeks"), [known]).parent
