from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec import structs

from shootout import app, cli
from shootout.analysis import compare
from shootout.analysis import explained as evaluated
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.inputs.options import Selection
from shootout.measure import campaign, explain
from shootout.measure.plan import Plan
from shootout.model.plan import Cell
from shootout.model.run import ABSENT, EndRecord, RunDocument, Warning
from shootout.model.verdict import Verdict
from tests import explained
from tests.analysis.builders import READS, a_document, a_server, confirming, starts_of


class Clock:
    """Stands in for `time`; advances only by `advance`."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_run_names_the_command_that_decides_more_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    document = a_document(starts_of(-5, (-6, 6, -4, 4, 0)))
    end = EndRecord(finished="", elapsed_s=600.0, interrupted=False)

    def more_starts(document: RunDocument) -> str | None:
        found = app.Conclusion(document, compare.compare(document), (), Path(), Path())
        assert found.more_starts is None  # it answers no request as a whole
        request = app.Request(Selection.read(), Path("out"), Path("known.toml"))
        with monkeypatch.context() as patched:
            patched.setattr(app, "load_acknowledged", lambda path: ())
            return replace(found, request=request).more_starts

    over = structs.replace(document, end=end)
    command = more_starts(over)
    assert command is not None
    args = cli.parser().parse_args(shlex.split(command)[1:])
    given = Selection.of(args)
    assert (given.resume, args.out, args.acknowledged) == (True, Path("out"), Path("known.toml"))
    assert float(given.written["--budget"]) * 60 > document.header.profile.sampling.budget_s
    assert more_starts(structs.replace(over, end=None)) is None  # how long a start takes is not known
    told = a_document(starts_of(-20, (-0.1, 0.1)))
    assert more_starts(structs.replace(told, end=end)) is None
    confirmed = (*over.starts[:-1], *confirming(over.starts[-1:]))
    assert more_starts(structs.replace(over, starts=confirmed)) is None


def test_a_selected_cell_is_measured_beside_its_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Plan] = []

    def measure(plan: Plan, *_: object) -> NoReturn:
        measured.append(plan)
        raise MeasureError("enough")

    monkeypatch.setattr(campaign, "measure", measure)
    request = app.Request(Selection.read(), tmp_path)
    base, head, *_ = request.plan.cells
    with pytest.raises(MeasureError):
        app.run(request, lambda progress: None, lambda reason: None, [head])
    assert [plan.cells for plan in measured] == [(base, head)]


ABSENT_HERE = Warning(code=ABSENT, text="not here")


def three_servers(*labels: str, warnings: tuple[Warning, ...]) -> RunDocument:
    """A run of `a`, `b` and `gone`, which has these warnings and no starts."""
    servers = [a_server(label, *(warnings if label == "gone" else ())) for label in labels]
    return a_document(starts_of(-5), blocks=(structs.replace(READS, servers=labels),), servers=servers)


def test_a_cell_is_explained_beside_the_server_that_was_there() -> None:
    for warnings, base in ((), "gone"), ((ABSENT_HERE,), "a"):
        header = three_servers("gone", "a", "b", warnings=warnings).header
        assert explain.base_of(header, header.blocks[0].cell("b")) == base


@pytest.mark.parametrize(
    ("budget_s", "each_max_s", "takes_s", "given"),
    [
        (35.0, 20.0, 10.0, [20.0, 20.0, 15.0]),  # a fourth run does not fit
        (35.0, 20.0, 12.0, [20.0, 20.0]),
        (1.0, 600.0, 10.0, [1.0]),  # one at least
    ],
)
def test_runs_repeat_while_another_one_fits_the_budget(
    monkeypatch: pytest.MonkeyPatch, budget_s: float, each_max_s: float, takes_s: float, given: list[float]
) -> None:
    clock = Clock()
    monkeypatch.setattr(app, "time", clock)
    budgets: list[float] = []

    def run(budget: float) -> int:
        budgets.append(budget)
        clock.advance(takes_s)
        return len(budgets) % 2

    assert app.repeated(run, budget_s, each_max_s) == len(given) % 2
    assert budgets == given


def test_a_run_whose_undecided_cells_fail_is_not_the_last() -> None:
    codes = iter([4, 3])
    assert app.repeated(lambda _: next(codes), 60, 9) == 3


class PanicException(BaseException):
    """As the engine raises it."""


FAULTS = [
    (MeasureError("b failed while it was profiled: killed"), "b failed while it was profiled: killed"),
    (ValueError("read of closed file"), "ValueError: read of closed file"),
    (PanicException("index out of bounds"), "PanicException: index out of bounds"),
]


@pytest.fixture
def regressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[app.Request, Cell]:
    """A request for explanations and Markdown, whose run is there already, and the cell that regressed."""
    document = a_document(starts_of(-20, (-0.1, 0.1)))
    path = tmp_path / "out" / "results" / journal.new_name(document.header.run)
    path.parent.mkdir(parents=True)
    path.write_bytes(journal.encoded(document))
    monkeypatch.setattr(campaign, "measure", lambda *_: path)
    request = app.Request(
        Selection.read(), tmp_path / "out", markdown=tmp_path / "summary.md", explain_min=1.5
    )
    (cell,) = (each.cell for each in compare.compare(document).cells if each.verdict is Verdict.REGRESSED)
    return request, cell


def told(request: app.Request) -> tuple[app.Conclusion, str, list[str]]:
    """What a run ends with: its conclusion, its Markdown, and what is left out."""
    assert request.markdown is not None
    request.markdown.unlink(missing_ok=True)
    left_out: list[str] = []
    found = app.run(request, lambda progress: None, left_out.append)
    return found, request.markdown.read_text(), left_out


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_an_explanation_that_fails_costs_nothing_else(
    fault: BaseException, words: str, regressed: tuple[app.Request, Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    request, cell = regressed
    plain, summary, _ = told(replace(request, explain_min=None))

    def fail(*_: object) -> NoReturn:
        raise fault

    monkeypatch.setattr(explain, "plan", fail)
    found, its_summary, left_out = told(request)
    assert (found.exit_code, found.comparison, found.page) == (1, plain.comparison, plain.page)
    assert (found.page.is_file(), its_summary) == (True, summary)
    assert left_out == [f"explanation of {cell.name}: {words}"]


def test_an_explanation_that_cannot_be_evaluated_does_not_stay(
    regressed: tuple[app.Request, Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    request, cell = regressed

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError("division by zero")

    def made(question: explain.Question, *_: object) -> Path:
        run = question.document.header.run
        return explained.written(question.results, explained.an_explanation(run, question.cell))

    monkeypatch.setattr(explain, "plan", lambda *_: None)
    monkeypatch.setattr(explain, "explain", made)
    with monkeypatch.context() as patched:
        patched.setattr(evaluated, "evaluate", fail)
        found, _, left_out = told(request)
    assert (found.exit_code, found.explained) == (1, ())
    assert left_out == [f"explanation of {cell.name}: ZeroDivisionError: division by zero"]
    assert [each.explanation.cell for each in told(request)[0].explained] == [cell]


def test_an_interrupted_explanation_ends_the_command(
    regressed: tuple[app.Request, Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(explain, "plan", interrupt)
    with pytest.raises(KeyboardInterrupt):
        told(regressed[0])


@pytest.mark.parametrize("field", ["markdown", "junit_xml"])
def test_where_a_summary_goes_is_looked_at_before_anything_is_measured(field: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "summary"
    for path, reason in (
        (tmp_path, "Is a directory"),
        (Path(__file__) / "summary", "Not a directory"),
    ):
        request = app.Request(Selection.read(), tmp_path, **{field: path})  # type: ignore[arg-type]
        with pytest.raises(InputError, match=rf"^{path}: cannot be written: {reason}$"):
            assert request.plan
    assert app.Request(Selection.read(), tmp_path, **{field: missing}).plan  # type: ignore[arg-type]
    assert not missing.parent.exists()


def test_a_summary_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    left_out: list[str] = []
    request = app.Request(Selection.read(), tmp_path, markdown=tmp_path / "missing" / "summary.md")
    request.write_markdown("# Verdicts", left_out.append)
    assert (tmp_path / "missing" / "summary.md").read_text() == "# Verdicts"
    replace(request, markdown=tmp_path).write_markdown("# Verdicts", left_out.append)
    assert left_out == [f"{tmp_path}: cannot be written: Is a directory"]


def test_a_run_that_fails_is_the_last() -> None:
    codes = iter([0, 1, 3, 0])
    assert app.repeated(lambda _: next(codes), 60, 9) == 3
    assert next(codes) == 0
