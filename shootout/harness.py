"""Runs the performance suites under pytest for the command line.

`run` hands the plan to conftest.py in pytest's stash. Its fixture `run` calls `app.run` once for all items,
and leaves the conclusion there.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from shootout.command import left_out, warn
from shootout.conclusion import Conclusion, Prepared
from shootout.document import resume
from shootout.errors import INTERRUPTED, InputError, MeasureError
from shootout.measure import campaign
from shootout.measure.recorder import now
from shootout.paths import ROOT, SUITES
from shootout.report import lines, terminal

PREPARED = pytest.StashKey[Prepared]()
CONCLUSION = pytest.StashKey[Conclusion]()


class SuiteResult(NamedTuple):
    """The result of the suites; no conclusion if they were interrupted or could not measure."""

    code: int
    conclusion: Conclusion | None


def show(conclusion: Conclusion, *, json: bool) -> None:
    """Print a conclusion."""
    if json:
        print(conclusion.json.decode())
        return
    terminal.show(
        terminal.console(sys.stdout),
        [
            *lines.verdicts(conclusion.comparison, conclusion.sections),
            *lines.claims(conclusion.claims),
            *lines.places(conclusion.path, conclusion.page, conclusion.more_starts),
            *lines.sections(conclusion.sections),
        ],
    )


def run(prepared: Prepared) -> SuiteResult:
    """Run the suites on a plan, with the verdict table instead of pytest's report."""
    reporter = _Reporter(prepared)
    junit_xml = prepared.request.junit_xml
    options = [
        "-c",
        str(ROOT / "pyproject.toml"),
        f"--rootdir={ROOT}",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
    ]
    if junit_xml is not None:
        options.append(f"--junit-xml={junit_xml}")
    code: int
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.delenv("PYTEST_ADDOPTS", raising=False)  # options for a user's own tests
            code = pytest.main([str(SUITES), *options], plugins=[reporter])
    except OSError as error:  # of --junit-xml, which pytest writes last
        if reporter.conclusion is None:
            raise
        left_out(f"{junit_xml}: cannot be written: {error.strerror}")
        code = reporter.conclusion.exit_code
    return SuiteResult(reporter.exit_code(code), reporter.conclusion)


class _Reporter:
    """A pytest plugin that replaces the terminal reporter: prints only what the verdict table lacks."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.config: pytest.Config | None = None
        self.interrupted = False
        self.broken = False
        self.began = now()

    @property
    def conclusion(self) -> Conclusion | None:
        return None if self.config is None else self.config.stash.get(CONCLUSION, None)

    def exit_code(self, code: int) -> int:
        """Convert pytest's exit code to one of docs/cli.md."""
        if self.interrupted:
            return INTERRUPTED
        if self.broken or code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
            return MeasureError.exit_code
        # A conclusion's own code may be 4, which is pytest's for wrong usage: there is none after that.
        wrong_usage = code == pytest.ExitCode.USAGE_ERROR and self.conclusion is None
        return InputError.exit_code if wrong_usage else int(code)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self.config = config
        config.stash[PREPARED] = self.prepared

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, KeyboardInterrupt):
            self.interrupted = True
            warn("interrupted; all servers are stopped")
            if (command := self._go_on()) is not None:
                print(f"What was measured is kept. This goes on: {command}", file=sys.stderr)
        else:
            warn(str(excinfo.value))

    def _go_on(self) -> str | None:
        """The command that continues the run; None if nothing was measured yet."""
        plan = self.prepared.plan
        newest = campaign.found(plan, self.prepared.results, lambda reason: None)
        if newest is None or resume.is_finished(newest):
            return None
        ours = plan.resume or newest.header.started >= self.began
        return self.prepared.resuming() if ours else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._show(report, report.failed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A failed call is a failed cell, which the table shows with its reason.
        self._show(report, report.failed and report.when != "call")

    def _show(self, report: pytest.CollectReport | pytest.TestReport, broken: bool) -> None:
        if broken:
            self.broken = True
            print(report.longreprtext, file=sys.stderr)
