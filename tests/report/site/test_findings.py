"""A run's findings."""

from __future__ import annotations

from datetime import date

import msgspec

from shootout.analysis import compare
from shootout.model.history import ChangePoint
from shootout.model.verdict import Acknowledgement, Verdict
from shootout.report.site.findings import Findings
from shootout.report.site.run import Run
from tests import builders
from tests.report.site.pages import (
    Document,
    rendered,
)


def test_what_changed_stands_first_with_all_that_is_known() -> None:
    document = builders.a_run()
    comparison = compare.compare(document)
    since = ChangePoint(
        last_good="20261106T024100Z-0000", first_bad="20261113T024100Z-11aa", before=1.0, after=0.76,
        confirmed=False,
    )  # fmt: skip
    acknowledged = Acknowledgement(
        workload="oltp_read_only",
        server="*",
        at_most=0.5,
        expires=date(2027, 1, 1),
        owner="ann",
        reason="known",
    )
    worst = comparison.cells[1]
    cells = tuple(
        msgspec.structs.replace(c, acknowledged=acknowledged)
        if c.verdict is Verdict.REGRESSED and c.cell.workload == "oltp_read_only"
        else c
        for c in comparison.cells
    )
    run = Run(document, msgspec.structs.replace(comparison, cells=cells), {worst.cell: since})
    found = Findings(run)
    (group,) = found.groups
    ratios = [(c.acknowledged is not None, c.ratio) for c in (each.comparison for each in group.found)]
    assert [acknowledged for acknowledged, _ in ratios] == [False] * 4 + [True] * 2
    fresh = [ratio.estimate for acknowledged, ratio in ratios if ratio and not acknowledged]
    assert fresh == sorted(fresh)
    assert group.found[0].since == since
    made = rendered(run)
    text = Document(made["index.html"]).text
    for words in (
        "▼ oltp_point_select, 1 thread 24.1 % fewer transactions per second than mysql-5.7.22",
        "measured once, not confirmed", "not acknowledged", "acknowledged by ann until 2027-01-01",
        "suspected since run 20261113T024100Z-11aa", "also buffer pool reads +140.00 %, fsyncs",
        "✕ mysql-8.0.12: 1 cell failed", "died during round 3",
    ):  # fmt: skip
        assert words in text, words
    assert text.index("acknowledged by ann") > text.index("not acknowledged")


def test_changes_are_grouped_by_server_and_sorted() -> None:
    header = builders.a_header([builders.BASE, "a", "b"], ["oltp_point_select"], [1, 8, 32])
    document = builders.a_run(header, failing=False)
    run = Run(document, compare.compare(document))
    groups = Findings(run).groups
    assert [group.server for group in groups] == ["b", "a"]  # the slowest first
    for group in groups:
        ratios = [each.comparison.ratio.estimate for each in group.found if each.comparison.ratio]
        assert ratios == sorted(ratios)
        assert group.size.startswith("−")
    text = rendered(run)["index.html"]
    assert text.index('id="verdicts"') < text.index('id="changed"')
    assert text.count("<summary>") == 2
