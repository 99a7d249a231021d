"""Runs the performance suites under pytest: a plugin gets the plan, and gives back the conclusion.

`run` is the command line's way; plain `pytest suites` makes the plan of its own options (conftest.py).
"""

from __future__ import annotations

import sys
import traceback
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from shootout import app, capability, figures, steps
from shootout.analysis import claims, gate
from shootout.command import left_out, progress, show, warn
from shootout.conclusion import Conclusion, Prepared
from shootout.document import journal
from shootout.errors import InputError, MeasureError, of_places
from shootout.inputs import published
from shootout.measure import campaign
from shootout.measure.plan import Plan
from shootout.measure.recorder import now
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, ClaimResult, Verdict
from shootout.paths import ROOT, SUITES
from shootout.report import headlines, run_answer, wording

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


class SuiteResult(NamedTuple):
    """The result of the suites; no conclusion if they could not measure."""

    code: int
    conclusion: Conclusion | None


def run(prepared: Prepared) -> SuiteResult:
    """Run the suites, with the verdict table instead of pytest's report. Raises KeyboardInterrupt."""
    reporter = _Reporter(prepared)
    options = ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}"]
    options += ["-p", "no:cacheprovider", "-p", "no:terminal"]
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("PYTEST_ADDOPTS", raising=False)  # options for a user's own tests
        code: int = pytest.main([str(SUITES), *options], plugins=[reporter])
    if reporter.interrupted:
        raise KeyboardInterrupt(*reporter.so_far())
    return SuiteResult(reporter.exit_code(code), reporter.conclusion)


class Suites:
    """A pytest plugin that makes one item per cell of its plan; the first one makes the `conclusion`."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.conclusion: Conclusion | None = None

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Leave out capabilities' suites that nobody named, and claims of runs that repeat no comparison."""
        owner = collection_path.stem.removeprefix("test_")
        if collection_path.parent == SUITES and owner in capability.NAMES:
            return not any(f"{SUITES.name}/{collection_path.name}" in each for each in config.args) or None
        if collection_path == SUITES / "test_published.py" and not self.prepared.plan.profile.published:
            return True
        return None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one item per cell of the run, and one per claim of the comparison that it repeats."""
        if not metafunc.definition.path.is_relative_to(SUITES):
            return
        plan = self.prepared.plan
        if "cell" in metafunc.fixturenames:
            items = [
                pytest.param(
                    cell, id=f"{cell.workload}-{cell.server}-t{cell.threads}", marks=_marks(plan, cell)
                )
                for cell in plan.cells
            ]
            metafunc.parametrize("cell", items, indirect=True)
        if "claim" in metafunc.fixturenames:
            assert plan.profile.published is not None
            tested = published.load(plan.profile.published).claims
            metafunc.parametrize("claim", tested, ids=[claim.name for claim in tested], indirect=True)

    @pytest.fixture
    def run(self, request: pytest.FixtureRequest) -> Conclusion:
        """Measure every block that a selected item needs, once, and publish the run."""
        if self.conclusion is not None:
            return self.conclusion
        cells = {cell for item in request.session.items if (cell := _cell(item)) is not None}
        with _uncaptured(request.config):
            try:
                with of_places(), progress() as observe:
                    # Without items for cells, only claims were selected: they need all cells.
                    self.conclusion = app.run(self.prepared, observe, left_out, cells or None)
            except (InputError, MeasureError) as error:
                pytest.exit(str(error), returncode=error.exit_code)
            except Exception as error:  # a defect, which each item would tell again
                traceback.print_exc()
                pytest.exit(f"{type(error).__name__}: {error}", returncode=MeasureError.exit_code)
        return self.conclusion

    @pytest.fixture
    def cell(
        self, request: pytest.FixtureRequest, run: Conclusion, clock: ReplayClock, benchmark: BenchmarkFixture
    ) -> CellComparison:
        """Return the item's judged cell; pytest-benchmark gets the durations of its slices.

        JUnit files get the columns of the verdict table. A regression that fails nothing is an expected
        failure; a cell that was not measured is skipped.
        """
        compared = next(each for each in run.comparison.cells if each.cell == request.param)
        request.node.user_properties.extend(run_answer.properties(compared).items())
        if compared in gate.unmeasured(run.comparison):
            pytest.skip(compared.reason)
        if compared.verdict is Verdict.REGRESSED and (
            why := wording.gate_exemption(compared, run.comparison)
        ):
            request.applymarker(pytest.mark.xfail(reason=why, strict=False))
        clock.durations_s = _transaction_s(run.document, request.param)
        if clock.durations_s:
            benchmark.extra_info.update(msgspec.to_builtins(compared))
            benchmark.pedantic(lambda: None, rounds=len(clock.durations_s))  # type: ignore[no-untyped-call]
        return compared

    @pytest.fixture
    def claim(self, request: pytest.FixtureRequest, run: Conclusion) -> ClaimResult:
        """Test the item's claim on the run."""
        return claims.evaluate(request.param, run.document, run.comparison.policy)

    @pytest.fixture
    def clock(self, request: pytest.FixtureRequest) -> ReplayClock:
        """Install the replaying timer before pytest-benchmark makes its fixture."""
        replay = ReplayClock()
        compared = _cell(request.node)
        assert compared is not None
        threads = figures.threads(compared.threads)
        group = f"{compared.workload}, {threads}: each server alone; verdicts compare slices in pairs"
        request.node.add_marker(pytest.mark.benchmark(timer=replay, group=group, disable_gc=False))
        return replay

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Replace pytest's exit code by one of docs/cli.md."""
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and self.conclusion:
            session.exitstatus = self.conclusion.exit_code

    def pytest_terminal_summary(self, config: pytest.Config) -> None:
        """Print the verdicts under plain pytest; the command line prints its own."""
        if self.conclusion is not None:
            show(self.conclusion.answer, config.option)


class _Reporter(Suites):
    """The plugin that replaces pytest's report: prints only what the verdict table lacks."""

    def __init__(self, prepared: Prepared) -> None:
        super().__init__(prepared)
        self.interrupted = False
        self.broken = False
        self.began = now()

    def exit_code(self, code: int) -> int:
        """Convert pytest's exit code to one of docs/cli.md."""
        if self.broken or code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
            return MeasureError.exit_code
        # A conclusion's own code may be 4, which is pytest's for wrong usage: there is none after that.
        wrong_usage = code == pytest.ExitCode.USAGE_ERROR and self.conclusion is None
        return InputError.exit_code if wrong_usage else int(code)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = isinstance(excinfo.value, KeyboardInterrupt)
        if not self.interrupted:
            warn(str(excinfo.value))

    def so_far(self) -> tuple[str, ...]:
        """Say what a run that was cut short has found, and publish it; nothing if nothing was measured."""
        plan, request = self.prepared.plan, self.prepared.request
        newest = campaign.find_unfinished(plan, self.prepared.results, lambda reason: None)
        if newest is None or not (plan.resume or newest.header.started >= self.began):
            return ()
        path = journal.path_of(self.prepared.results, newest.header.run)
        heads = headlines.of_heads(steps.judge(path, request.acknowledged, left_out))
        page = app.published(request.out, self.prepared.acknowledged, left_out)
        so_far = f"so far: {'; '.join(each.text for each in heads)}"
        return (so_far, *([f"its page: {page.resolve().as_uri()}"] if page else []))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._show(report, report.failed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A failed call is a failed cell, which the table shows with its reason.
        self._show(report, report.failed and report.when != "call")

    def _show(self, report: pytest.CollectReport | pytest.TestReport, broken: bool) -> None:
        if broken:
            self.broken = True
            print(report.longreprtext, file=sys.stderr)


def suites_of(config: pytest.Config) -> Suites | None:
    """Find the plugin that has the plan, once there is one."""
    return next((each for each in config.pluginmanager.get_plugins() if isinstance(each, Suites)), None)


@dataclass(eq=False)
class ReplayClock:
    """A timer for pytest-benchmark that replays recorded durations."""

    durations_s: list[float] = field(default_factory=list)
    calls: int = 0

    def __call__(self) -> float:
        # Even calls begin a round, odd calls end it.
        round_, ends = divmod(self.calls, 2)
        self.calls += 1
        return self.durations_s[round_] if ends else 0.0


def _marks(plan: Plan, cell: Cell) -> tuple[pytest.MarkDecorator, ...]:
    """Mark a cell for `-m`: whose tables its workload runs on, and whether it changes them."""
    return (
        pytest.mark.tpcc if plan.workloads[cell.workload].dataset.kind == "tpcc" else pytest.mark.oltp,
        pytest.mark.write if plan.workloads[cell.workload].program.writes else pytest.mark.read,
    )


def _cell(item: pytest.Item) -> Cell | None:
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("cell") if callspec else None
    return cell if isinstance(cell, Cell) else None


def _transaction_s(document: RunDocument, cell: Cell) -> list[float]:
    block = next(block.key for block in document.header.blocks if cell in block.cells)
    return [
        window_s / transactions
        for start in document.starts
        if start.block == block
        for samples in start.samples
        if samples.server == cell.server
        for window_s, transactions in zip(samples.window_s, samples.transactions, strict=True)
        if transactions
    ]


def _uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    capture = config.pluginmanager.getplugin("capturemanager")
    return nullcontext() if capture is None else capture.global_and_fixture_disabled()
