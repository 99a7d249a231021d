"""A run's findings."""

from __future__ import annotations

from msgspec.structs import replace

from shootout.analysis import compare
from shootout.model.history import ChangePoint
from shootout.model.verdict import Acknowledgement
from shootout.report import next_steps, site
from shootout.report.site.findings import Finding
from shootout.report.site.overview import OverviewPage
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import Document, compared, rendered


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
    made = rendered(run)
    text = Document(made["index.html"]).text
    for words in (
        f"{worst.cell.server} −24.0 % in oltp_point_select, 1 thread: Suspected since run {since.first_bad}",
        "suspected since run 20261113T024100Z-11aa", "✕ mysql-8.0.12: 1 cell failed", "died during round 3",
    ):  # fmt: skip
        assert words in text, words
    assert text.index("Suspected since") < text.index("Measure it again") < text.index("Verdicts")
    (page,) = (html for name, html in made.items() if name == f"{site.cell_stem(worst.cell)}.html")
    for words in ("measured once, not confirmed", "not acknowledged"):
        assert words in Document(page).text


def test_an_acknowledged_loss_does_not_lead(known: Acknowledgement) -> None:
    document, comparison = compared()
    base, head = comparison.cells
    step = ChangePoint(last_good="a", first_bad="b", before=1.0, after=0.76, confirmed=True)
    accepted = replace(head, acknowledged=replace(known, threads=None, at_most=0.5))
    for c, leads in ((head, True), (accepted, False)):
        run = Run(document, replace(comparison, cells=(base, c)), {head.cell: step})
        assert (OverviewPage(run).step is not None) is leads
