"""A run's findings."""

from __future__ import annotations

from msgspec.structs import replace

from shootout.analysis import compare
from shootout.model.history import ChangePoint
from shootout.model.verdict import Acknowledgement, Verdict
from shootout.report import site
from shootout.report.site import findings
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import Document, compared, rendered


def test_what_changed_stands_first_with_all_that_is_known(known: Acknowledgement) -> None:
    document = builders.a_run()
    comparison = compare.compare(document)
    since = ChangePoint(
        last_good="20261106T024100Z-0000", first_bad="20261113T024100Z-11aa", before=1.0, after=0.76,
        confirmed=False,
    )  # fmt: skip
    accepted = replace(known, threads=None, at_most=0.5)
    worst = comparison.cells[1]
    cells = tuple(
        replace(c, acknowledged=accepted)
        if c.verdict is Verdict.REGRESSED and c.cell.workload == "oltp_read_only"
        else c
        for c in comparison.cells
    )
    run = Run(document, replace(comparison, cells=cells), {worst.cell: since})
    changes = findings.changes(run)
    ratios = [(c.acknowledged is not None, c.ratio) for c in (each.comparison for each in changes)]
    assert [acknowledged for acknowledged, _ in ratios] == [False] * 4 + [True] * 2
    fresh = [ratio.estimate for acknowledged, ratio in ratios if ratio and not acknowledged]
    assert fresh == sorted(fresh)
    assert changes[0].since == since
    made = rendered(run)
    text = Document(made["index.html"]).text
    for words in (
        "▼ oltp_point_select, 1 thread −24.1 % regressed −25.1 to −23.2 %", "acknowledged by ann",
        "suspected since run 20261113T024100Z-11aa", "✕ mysql-8.0.12: 1 cell failed", "died during round 3",
    ):  # fmt: skip
        assert words in text, words
    (page,) = (html for name, html in made.items() if name == f"{site.cell_stem(worst.cell)}.html")
    for words in ("measured once, not confirmed", "not acknowledged"):
        assert words in Document(page).text
    assert "latency +" not in "".join(each for change in changes for each in change.other_changes)


def test_regressions_stand_before_improvements_the_largest_first() -> None:
    run = Run(*compared([1, 8, 32], [builders.BASE, "a", "b"]))
    found = [each.comparison for each in findings.changes(run)]
    ratios = [c.ratio.estimate for c in found if c.ratio]
    assert ratios == sorted(ratios)
    text = rendered(run)["index.html"]
    assert text.index('id="verdicts"') < text.index('id="changed"')
