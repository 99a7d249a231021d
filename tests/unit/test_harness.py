from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout import app, harness
from shootout.conclusion import Conclusion, Request
from shootout.document import journal
from shootout.inputs.options import Selection
from tests.support import builders


@pytest.fixture
def reporter() -> harness._Reporter:
    return harness._Reporter(app.prepare(Request(Selection.read(), Path("out"))))


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        (pytest.ExitCode.OK, 0),
        (pytest.ExitCode.TESTS_FAILED, 1),
        (pytest.ExitCode.USAGE_ERROR, 2),
        (pytest.ExitCode.INTERNAL_ERROR, 3),
        (pytest.ExitCode.NO_TESTS_COLLECTED, 3),
        (2, 2),  # what pytest.exit was given
    ],
)
def test_pytests_exit_code_gets_our_meaning(reporter: harness._Reporter, code: int, ours: int) -> None:
    assert reporter.exit_code(code) == ours


def test_an_undecided_run_that_fails_is_no_wrong_usage(reporter: harness._Reporter) -> None:
    assert reporter.exit_code(4) == 2
    document, comparison = builders.a_result()
    reporter.conclusion = Conclusion(document, comparison, (), Path())
    assert reporter.exit_code(4) == 4


def test_the_reason_of_an_exit_is_told(
    reporter: harness._Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pytest.exit.Exception) as stopped:
        pytest.exit("it died")
    reporter.pytest_keyboard_interrupt(stopped)
    assert (reporter.exit_code(3), capsys.readouterr().err) == (3, "shootout: it died\n")
    with pytest.raises(KeyboardInterrupt) as interrupted:
        raise KeyboardInterrupt
    reporter.pytest_keyboard_interrupt(interrupted)
    assert (reporter.interrupted, capsys.readouterr().err) == (True, "")


@pytest.mark.parametrize(
    ("started", "resume", "told"),
    [("2026-01-01", False, False), ("9999-01-01", False, True), ("2026-01-01", True, True)],
)
def test_only_this_run_is_said_so_far(started: str, resume: bool, told: bool, tmp_path: Path) -> None:
    run = builders.a_run()
    header = structs.replace(run.header, started=started)
    writer = journal.Writer(tmp_path / "results", header.run)
    writer.append(header)
    for start in run.starts:
        writer.append(start)
    reporter = harness._Reporter(app.prepare(Request(Selection.read(resume=resume), tmp_path)))
    if not told:
        assert reporter.so_far() == ()
        return
    found, page = reporter.so_far()
    assert " is slower than " in found
    assert page == f"its page: {(tmp_path / 'site' / 'index.html').as_uri()}"
    assert (tmp_path / "site" / "index.html").exists()


def test_only_what_is_no_failed_cell_is_shown_and_means_that_measuring_failed(
    reporter: harness._Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(when: str) -> pytest.TestReport:
        return pytest.TestReport("a", ("f", 1, "a"), {}, "failed", f"why {when}", when)  # type: ignore[arg-type]

    reporter.pytest_runtest_logreport(report("call"))
    assert (reporter.exit_code(1), capsys.readouterr().err) == (1, "")
    reporter.pytest_runtest_logreport(report("setup"))
    assert (reporter.exit_code(1), capsys.readouterr().err) == (3, "why setup\n")


def test_what_cannot_be_collected_is_shown(
    reporter: harness._Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    reporter.pytest_collectreport(pytest.CollectReport("a", "passed", None, []))
    assert (reporter.exit_code(0), capsys.readouterr().err) == (0, "")
    reporter.pytest_collectreport(pytest.CollectReport("a", "failed", "no such fixture", []))
    assert (reporter.exit_code(0), capsys.readouterr().err) == (3, "no such fixture\n")
