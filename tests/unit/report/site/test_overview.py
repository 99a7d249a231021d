"""The overview, all cells, and runs of every shape."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shootout.analysis import acknowledgements, compare
from shootout.errors import InputError
from shootout.model.history import ChangePoint
from shootout.model.run import FailureRecord, RunDocument
from shootout.model.verdict import Acknowledgement, Verdict
from shootout.report import judged_runs, next_steps, site
from shootout.report.judged_runs import JudgedRun
from shootout.report.site.overview import Finding, OverviewPage
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import (
    Document,
    a_site,
    compared,
    csv_rows,
    rendered,
)

GOLDEN = Path(__file__).parent / "golden"


def test_the_overview_is_as_it_was_approved(tmp_path: Path) -> None:
    index = a_site([builders.a_result()], tmp_path)
    text = index.read_text("utf-8")
    text = "\n".join(line for raw in text.splitlines() if (line := " ".join(raw.split(" ")).strip())) + "\n"
    actual = tmp_path / "overview.html"
    actual.write_text(text, "utf-8")
    golden = GOLDEN / "overview.html"
    assert golden.is_file()
    assert text == golden.read_text("utf-8"), f"If it is meant: cp {actual} {golden}"


def test_acknowledged_regressions_and_other_figures_are_marked_among_many_servers(
    known: Acknowledgement,
) -> None:
    document, found = compared(servers=[builders.BASE, "a", "b"])
    accepted = acknowledgements.applied(
        found, [replace(known, workload="*", server="b", threads=None, at_most=0.9)]
    )
    other = replace(found, cells=(*found.cells[:2], builders.decided_by(found.cells[2], "latency_p99", 1.3)))
    for comparison, sign, legend in (
        (accepted, 'class="regressed x3 accepted"', "dashed: acknowledged"),
        (other, "+30\u202f%*<i> regressed, 99 % latency</i>", "*: not throughput"),
    ):
        text = rendered(Run(document, comparison))["index.html"]
        assert (sign in text, legend in text) == (True, True)
        assert legend not in rendered(Run(document, found))["index.html"]


def test_an_interrupted_and_a_cut_run_say_so() -> None:
    stopped = builders.a_run(builders.a_header(threads=[1]), interrupted=True)
    cut = replace(stopped, end=None)
    for document, said in (
        (stopped, "This run was interrupted after 5 min 31 s"),
        (cut, "This run was cut short"),
    ):
        assert said in Document(rendered(Run(*builders.a_result(document)))["index.html"]).text


@pytest.mark.parametrize(
    "servers", [["mysql-5.7.22"], ["mysql-5.7.22", "mysql-8.0.12", "mysql-8.0.33", "a", "b"]]
)
def test_any_number_of_servers(servers: list[str]) -> None:
    header = builders.a_header(servers, workloads=["oltp_read_only"], threads=[1, 8])
    files = rendered(Run(*builders.a_result(builders.a_run(header, failing=False))))
    text = files["index.html"]
    assert text.count('<table class="matrix"') == (len(servers) == 2)
    assert text.count('<table class="heat"') == (len(servers) > 2)
    assert text.count('<td class="regressed') == (len(servers) - 1) * 2 * (len(servers) > 2)
    assert all(Document(page).open == [] for name, page in files.items() if name.endswith(".html"))


def of_profile(day: int, profile: str, *heads: str) -> JudgedRun:
    """A run of a day in November."""
    result = compared(
        servers=[builders.BASE, *heads], run=f"202611{day}T024100Z-{day}",
        started=f"2026-11-{day}T02:41:00+00:00", profile_name=profile,
    )  # fmt: skip
    return judged_runs.in_memory(*result)


def test_other_profiles_are_on_the_home_page(tmp_path: Path) -> None:
    slower = [(20, "quick"), (19, "nightly"), (18, "nightly"), (17, "quick"), (15, "weekly")]
    runs = [of_profile(day, profile, builders.HEAD) for day, profile in slower]
    index = site.build([*runs, of_profile(16, "weekly")], tmp_path)
    shown = index.read_text("utf-8").split('id="others"')[1].split("</section>")[0]
    # The newest run of each other profile, those with open regressions first.
    assert re.findall(r'href="runs/(\w+)-', shown) == ["20261119T024100Z", "20261116T024100Z"]
    assert shown.count("1 not acknowledged</small>") == 1
    assert "Open regressions in other profiles' newest runs (1)" in Document(index.read_text()).text
    assert shown.count("settings in-memory</small>") == 2
    older = index.parent / "runs" / "20261119T024100Z-19" / "index.html"
    assert 'id="others"' not in older.read_text("utf-8")


def test_a_profile_may_have_the_home_page_though_others_are_newer(tmp_path: Path) -> None:
    runs = [of_profile(20, "quick"), of_profile(19, "weekly"), of_profile(18, "weekly")]
    index = site.build(runs, tmp_path / "site", front="weekly").read_text("utf-8")
    assert "runs/20261119T024100Z-19/cells.html" in Document(index).links
    assert "Newest weekly" in Document(index).text
    listed = msgspec.json.decode((tmp_path / "site" / "index.json").read_bytes())
    assert (listed["front"], listed["newest"]) == (runs[1].id, runs[0].id)
    assert "<h1" in site.report(runs, front="weekly")
    with pytest.raises(InputError, match=r"no run of profile 'gate' .* expected one of quick, weekly"):
        site.build(runs, tmp_path / "other", front="gate")
    assert not (tmp_path / "other").exists()


def test_what_is_likely_is_drawn_as_such_with_the_p_that_it_lacks(tmp_path: Path) -> None:
    document, found = compared()
    base, head = found.cells
    likely = replace(
        head, verdict=Verdict.INCONCLUSIVE, leaning="slower", p_value=0.061, causes=(), judged=()
    )
    index = a_site([(document, replace(found, cells=(base, likely)))], tmp_path)
    text = Document(index.read_text("utf-8")).text
    assert "1 inconclusive ▽ 1 likely slower" in text
    assert "likely slower, unproven: corrected p = 0.061" in text
    run = index.parent / "runs" / found.header.run
    assert [row["leaning"] for row in csv_rows(run / "index.csv")] == ["", "slower"]


def test_a_run_in_which_nothing_was_measured(tmp_path: Path) -> None:
    header = builders.a_header(workloads=["oltp_read_only"], threads=[1])
    failures = tuple(
        FailureRecord(cell=cell, start=1, reason="no memory")
        for block in header.blocks
        for cell in block.cells
    )
    document = RunDocument(header=header, starts=(), failures=failures, end=None)
    index = a_site([builders.a_result(document)], tmp_path)
    text = Document(index.read_text("utf-8")).text
    assert "mysql-8.0.12 could not be measured" in text


def test_the_worst_regression_has_all_that_is_known() -> None:
    document = builders.a_run()
    comparison = compare.compare(document)
    since = ChangePoint(
        last_good="20261106T024100Z-0000", first_bad="20261113T024100Z-11aa", before=1.0, after=0.76,
        confirmed=False,
    )  # fmt: skip
    worst = next_steps.worst(comparison)
    assert worst is not None
    run = Run(document, comparison, {worst.cell: since})
    assert Finding(run, worst).since == since
    text = Document(rendered(run)["index.html"]).text
    step = (
        f"{worst.cell.server} −24.0 % in oltp_point_select, 1 thread: Suspected since run {since.first_bad}"
    )
    assert text.index(step) < text.index("Measure it again") < text.index("Verdicts")
    assert "✕ mysql-8.0.12: 1 cell failed" in text


def test_an_acknowledged_loss_does_not_lead(known: Acknowledgement) -> None:
    document, comparison = compared()
    base, head = comparison.cells
    step = ChangePoint(last_good="a", first_bad="b", before=1.0, after=0.76, confirmed=True)
    accepted = replace(head, acknowledged=replace(known, threads=None, at_most=0.5))
    for c, leads in ((head, True), (accepted, False)):
        run = Run(document, replace(comparison, cells=(base, c)), {head.cell: step})
        assert (OverviewPage(run).step is not None) is leads
