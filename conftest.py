"""pytest adapter for the performance suites: options, one item per cell, and the run that all items share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from rich.console import Console

from shootout import app
from shootout.analysis import claims
from shootout.app import Conclusion, Request
from shootout.errors import InputError, MeasureError
from shootout.harness import CONCLUSION, REQUEST
from shootout.inputs import published, workload
from shootout.inputs.options import ACKNOWLEDGED, EXPLAIN, JSON, MARKDOWN, MEASURING, OUT, Selection
from shootout.model.plan import Cell
from shootout.model.published import Claim
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, ClaimResult, Verdict
from shootout.report import terminal, wording
from shootout.servers import dsn


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shootout", "performance suites (pytest suites …)")
    for option in MEASURING:
        option.add_to(group.addoption, **({"type": str} if option.metavar else {}))
    for option in (OUT, MARKDOWN, ACKNOWLEDGED, EXPLAIN, JSON):
        option.add_to(group.addoption)


def pytest_configure(config: pytest.Config) -> None:
    """Use the command line's request, or make one from pytest's own options."""
    config.addinivalue_line("markers", "workload(name): the workload that a suite's function represents")
    try:
        if REQUEST not in config.stash:
            options = config.option
            config.stash[REQUEST] = Request(
                Selection.of(options),
                options.out.resolve(),
                options.acknowledged,
                options.markdown,
                options.explain,
                _preparing,
            )
        assert config.stash[REQUEST].plan  # report its errors before anything is measured
    except InputError as error:
        raise pytest.UsageError(dsn.redacted(str(error))) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per cell of the function's workload; without one, per cell of the user's own workloads.

    Functions with a `claim` get one item per claim of the published comparison that the run repeats.
    """
    if "claim" in metafunc.fixturenames:
        name = metafunc.config.stash[REQUEST].plan.profile.published
        found = published.load(name).claims if name else ()
        metafunc.parametrize("claim", found, ids=[claim.name for claim in found], indirect=True)
    if "cell" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("workload")
    shipped = workload.shipped()
    cells = [
        cell
        for cell in metafunc.config.stash[REQUEST].plan.cells
        if (workload.without_protocol(cell.workload) == marker.args[0] if marker else _is_own(cell, shipped))
    ]
    ids = [_id(cell, own=marker is None) for cell in cells]
    metafunc.parametrize("cell", cells, ids=ids, indirect=True)


def _is_own(cell: Cell, shipped: frozenset[str]) -> bool:
    return workload.without_protocol(cell.workload) not in shipped


def _id(cell: Cell, *, own: bool) -> str:
    """The item's id: the parts of the cell that the function's name lacks."""
    protocol = cell.workload.removeprefix(workload.without_protocol(cell.workload)).removeprefix(".")
    return "-".join(filter(None, (cell.workload if own else protocol, cell.server, f"t{cell.threads}")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect functions whose workload is not in the run, and claims if the run has none."""
    unused = [
        item
        for item in items
        if (_uses(item, "cell") and _cell(item) is None) or (_uses(item, "claim") and not _has_claim(item))
    ]
    if unused:
        config.hook.pytest_deselected(items=unused)
        items[:] = [item for item in items if item not in unused]


@pytest.fixture(scope="session")
def run(request: pytest.FixtureRequest) -> Conclusion:
    """The run: measures every block that a selected item needs, once, and publishes it."""
    config = request.config
    cells = {cell for item in request.session.items if (cell := _cell(item)) is not None}
    with _uncaptured(config):
        try:
            with terminal.Display(Console(stderr=True)) as display:
                # Without items for cells, only claims were selected: they need all cells.
                conclusion = app.run(config.stash[REQUEST], display.show, _left_out, cells or None)
        except (InputError, MeasureError) as error:
            pytest.exit(str(error), returncode=error.exit_code)
    config.stash[CONCLUSION] = conclusion
    return conclusion


@pytest.fixture
def cell(
    request: pytest.FixtureRequest,
    run: Conclusion,
    clock: ReplayClock,
    benchmark: BenchmarkFixture,
) -> CellComparison:
    """The item's judged cell; pytest-benchmark gets the durations of its slices.

    JUnit files get the columns of the verdict table. A regression that fails nothing is an expected failure.
    """
    compared = next(each for each in run.comparison.cells if each.cell == request.param)
    request.node.user_properties.extend(wording.properties(compared).items())
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
    if (conclusion := config.stash.get(CONCLUSION, None)) is None:
        return
    if config.option.json:
        print(conclusion.json.decode())
    else:
        terminal.print_conclusion(
            terminal.console(sys.stdout),
            conclusion.comparison,
            conclusion.claims,
            conclusion.path,
            conclusion.page,
        )


def _preparing(step: str) -> None:
    print(f"preparing {step}", file=sys.stderr)


def _left_out(reason: str) -> None:
    print(f"shootout: left out: {reason}", file=sys.stderr)


def _uses(item: pytest.Item, fixture: str) -> bool:
    return fixture in getattr(item, "fixturenames", ())


def _has_claim(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and isinstance(callspec.params.get("claim"), Claim)


def _cell(item: pytest.Item) -> Cell | None:
    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("cell") if callspec else None
    return found if isinstance(found, Cell) else None


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
