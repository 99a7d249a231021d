"""pytest adapter for the performance suites: options, one item per cell, and the run that all items share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from shootout import app, capability, command, harness
from shootout.analysis import claims, gate
from shootout.conclusion import Conclusion
from shootout.errors import InputError, MeasureError
from shootout.harness import CONCLUSION, PREPARED
from shootout.inputs import published
from shootout.inputs.options import ACKNOWLEDGED, JSON, MARKDOWN, MEASURING, OUT, refuse_gone
from shootout.measure.plan import Plan
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, ClaimResult, Verdict
from shootout.paths import SUITES
from shootout.report import wording
from shootout.servers.external import dsn


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shootout", "performance suites (pytest suites …)")
    for option in MEASURING:
        option.add_to(group.addoption, **({"type": str} if option.metavar else {}))
    refuse_gone(group.addoption, pytest.UsageError)
    for option in capability.options():
        option.add_to(group.addoption, type=str)
    for option in (OUT, MARKDOWN, ACKNOWLEDGED, JSON):
        option.add_to(group.addoption)


def pytest_configure(config: pytest.Config) -> None:
    """Use the command line's plan, or make one from pytest's own options."""
    if config.getoption("dist", "no") != "no" and not config.option.collectonly and _measures(config):
        raise pytest.UsageError("-n: cells are measured one after the other, in one process; leave it out")
    try:
        if PREPARED not in config.stash:
            junit_xml = config.getoption("xmlpath", None)
            request = replace(command.request(config.option), junit_xml=junit_xml and Path(junit_xml))
            config.stash[PREPARED] = app.prepare(request, command.preparing)
    except InputError as error:
        raise pytest.UsageError(dsn.redacted(str(error))) from None


def _measures(config: pytest.Config) -> bool:
    """Whether the arguments name suites."""
    named = [(config.invocation_params.dir / each.partition("::")[0]).resolve() for each in config.args]
    return any(each.is_relative_to(SUITES) or SUITES.is_relative_to(each) for each in named)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out suites of capabilities that nobody named, and claims of runs that repeat no comparison."""
    if collection_path.parent == SUITES and collection_path.stem.removeprefix("test_") in capability.NAMES:
        return None if any(f"{SUITES.name}/{collection_path.name}" in each for each in config.args) else True
    if collection_path == SUITES / "test_published.py" and not config.stash[PREPARED].plan.profile.published:
        return True
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per cell of the run, and one per claim of the published comparison that it repeats."""
    if not metafunc.definition.path.is_relative_to(SUITES):
        return
    plan = metafunc.config.stash[PREPARED].plan
    if "cell" in metafunc.fixturenames:
        items = [pytest.param(cell, id=_id(cell), marks=_marks(plan, cell)) for cell in plan.cells]
        metafunc.parametrize("cell", items, indirect=True)
    if "claim" in metafunc.fixturenames:
        assert plan.profile.published is not None
        tested = published.load(plan.profile.published).claims
        metafunc.parametrize("claim", tested, ids=[claim.name for claim in tested], indirect=True)


def _id(cell: Cell) -> str:
    return f"{cell.workload}-{cell.server}-t{cell.threads}"


def _marks(plan: Plan, cell: Cell) -> tuple[pytest.MarkDecorator, ...]:
    """What `-m` selects by: whose tables the workload runs on, and whether it changes them."""
    return (
        pytest.mark.tpcc if plan.workloads[cell.workload].dataset.kind == "tpcc" else pytest.mark.oltp,
        pytest.mark.write if plan.workloads[cell.workload].program.writes else pytest.mark.read,
    )


@pytest.fixture(scope="session")
def run(request: pytest.FixtureRequest) -> Conclusion:
    """The run: measures every block that a selected item needs, once, and publishes it."""
    config = request.config
    cells = {cell for item in request.session.items if (cell := _cell(item)) is not None}
    with _uncaptured(config):
        try:
            with command.progress() as observe:
                # Without items for cells, only claims were selected: they need all cells.
                conclusion = app.run(config.stash[PREPARED], observe, command.left_out, cells or None)
        except (InputError, MeasureError) as error:
            pytest.exit(str(error), returncode=error.exit_code)
    config.stash[CONCLUSION] = conclusion
    return conclusion


@pytest.fixture
def cell(
    request: pytest.FixtureRequest, run: Conclusion, clock: ReplayClock, benchmark: BenchmarkFixture
) -> CellComparison:
    """The item's judged cell; pytest-benchmark gets the durations of its slices.

    JUnit files get the columns of the verdict table. A regression that fails nothing is an expected failure;
    a cell that was not measured is skipped.
    """
    compared = next(each for each in run.comparison.cells if each.cell == request.param)
    request.node.user_properties.extend(wording.properties(compared).items())
    if compared in gate.unmeasured(run.comparison):
        pytest.skip(compared.reason)
    if compared.verdict is Verdict.REGRESSED and (why := wording.gate_exemption(compared, run.comparison)):
        request.applymarker(pytest.mark.xfail(reason=why, strict=False))
    clock.durations_s = _transaction_s(run.document, request.param)
    if clock.durations_s:
        benchmark.extra_info.update(msgspec.to_builtins(compared))
        benchmark.pedantic(lambda: None, rounds=len(clock.durations_s))  # type: ignore[no-untyped-call]
    return compared


@pytest.fixture
def claim(request: pytest.FixtureRequest, run: Conclusion) -> ClaimResult:
    """The item's claim, tested on the run."""
    return claims.evaluate(request.param, run.document, run.comparison.policy)


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


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> ReplayClock:
    """The replaying timer, installed before pytest-benchmark makes its fixture."""
    replay = ReplayClock()
    compared = _cell(request.node)
    assert compared is not None
    group = f"{compared.workload}, {compared.threads} threads"
    request.node.add_marker(pytest.mark.benchmark(timer=replay, group=group, disable_gc=False))
    return replay


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Replace pytest's exit code by one of docs/cli.md."""
    conclusion = session.config.stash.get(CONCLUSION, None)
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and conclusion:
        session.exitstatus = conclusion.exit_code


def pytest_terminal_summary(config: pytest.Config) -> None:
    """Print the verdicts under plain pytest; the command line prints its own."""
    if (conclusion := config.stash.get(CONCLUSION, None)) is not None:
        harness.show(conclusion, json=config.option.json)


def _cell(item: pytest.Item) -> Cell | None:
    """The item's cell; claims have none."""
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("cell") if callspec else None
    return cell if isinstance(cell, Cell) else None


def _transaction_s(document: RunDocument, cell: Cell) -> list[float]:
    """Seconds per transaction in each slice of the cell."""
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


@contextmanager
def _uncaptured(config: pytest.Config) -> Iterator[None]:
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        yield
    else:
        with capture.global_and_fixture_disabled():
            yield
