"""A run's findings."""

from __future__ import annotations

from msgspec.structs import replace

from shootout.analysis import compare
from shootout.model.history import ChangePoint
from shootout.model.verdict import Acknowledgement, Verdict
from shootout.report.site import findings
from shootout.report.site.run import Run
from tests import builders
from tests.report.site.pages import Document, compared, rendered


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
    (group,) = findings.groups(run)
    ratios = [(c.acknowledged is not None, c.ratio) for c in (each.comparison for each in group.findings)]
    assert [acknowledged for acknowledged, _ in ratios] == [False] * 4 + [True] * 2
    fresh = [ratio.estimate for acknowledged, ratio in ratios if ratio and not acknowledged]
    assert fresh == sorted(fresh)
    assert group.findings[0].since == since
    made = rendered(run)
    text = Document(made["index.html"]).text
    for words in (
        "▼ oltp_point_select, 1 thread 24.1 % fewer transactions per second than mysql-5.7.22",
        "measured once, not confirmed", "not acknowledged", "acknowledged by ann until 2027-01-01",
        "suspected since run 20261113T024100Z-11aa", "also median latency",
        "✕ mysql-8.0.12: 1 cell failed", "died during round 3",
    ):  # fmt: skip
        assert words in text, words
    assert text.index("acknowledged by ann") > text.index("not acknowledged")


def test_changes_are_grouped_by_server_and_sorted() -> None:
    run = Run(*compared([1, 8, 32], [builders.BASE, "a", "b"]))
    groups = findings.groups(run)
    assert [group.server for group in groups] == ["b", "a"]  # the slowest first
    for group in groups:
        ratios = [each.comparison.ratio.estimate for each in group.findings if each.comparison.ratio]
        assert ratios == sorted(ratios)
        assert group.size.startswith("−")
    text = rendered(run)["index.html"]
    assert text.index('id="verdicts"') < text.index('id="changed"')
    assert text.count("<summary>") == 2
