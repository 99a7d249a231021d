"""Which runs keep all their pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.report import judgement_cache, site
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site import publish
from shootout.report.site.overview import OverviewPage, SummaryPage
from shootout.report.site.run import Run
from tests import builders
from tests.report.site.pages import ATOM, check_figures, entries_of
from tests.report.site.weeks import a_week


def test_old_runs_are_archived_and_the_newest_of_each_runner_is_not(
    weeks: list[JudgedRun], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(publish, "CELLS_MAX", 2 * 8)
    other = a_week(-1, fingerprint="another")
    runs = [*weeks[-4:], other]
    assert publish.detailed([*weeks[:-5:-1], other]) == {weeks[-1].id, weeks[-2].id, other.id}
    out = site.build(runs, tmp_path).parent
    old = out / "runs" / weeks[-3].id
    assert sorted(path.name for path in old.iterdir()) == [
        "badge.svg", "index.csv", "index.html", "index.json",
    ]  # fmt: skip
    text = " ".join((old / "index.html").read_text("utf-8").split())
    assert "This run is archived" in text
    assert text.count('class="badge regressed"') == 2
    check_figures(text)
    assert "mysql-8.0.12 is slower than mysql-5.7.22 in 2 of 4 cells" in text
    for entry in entries_of(out / "feed.xml"):
        link = entry.find(f"{ATOM}link")
        assert link is not None
        place, _, anchor = str(link.get("href")).partition("#")
        assert anchor in (out / place).read_text("utf-8")


def test_an_archived_run_keeps_its_csv(weeks: list[JudgedRun]) -> None:
    document, comparison = builders.a_result()
    for judged in (weeks[0], weeks[-1], judgement_cache.in_memory(document, comparison)):
        whole = judged.whole()
        full = OverviewPage(Run(whole.document, whole.comparison))
        assert [*SummaryPage(Run.summary(judged)).rows] == [*full.rows]
