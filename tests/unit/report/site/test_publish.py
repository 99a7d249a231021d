"""All pages together: complete, linked, updated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.report import judged_runs, site
from shootout.report.judged_runs import JudgedRun
from shootout.report.site import downloads, output, publish
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import (
    Document,
    a_site,
    check_entry_link,
    check_figures,
    check_links,
    entries_of,
    pages,
)
from tests.support.report.site.weeks import REGRESSED_AT, a_week


def test_every_link_leads_somewhere_inside_the_site(built: Path) -> None:
    check_links(built.parent)
    check_figures("".join(page.read_text("utf-8") for page in pages(built)))


def test_a_report_of_one_file_needs_no_other() -> None:
    document, comparison = builders.a_result()
    text = site.report([judged_runs.in_memory(document, comparison)])
    found = Document(text)
    assert [link for link in found.links if not link.startswith(("#", "data:image/svg+xml,"))] == []
    assert all(link[1:] in found.ids for link in found.links if link.startswith("#"))
    assert "--regressed" in text  # the style
    assert "addCopyButton" in text  # the script
    assert "mysql-8.0.12" in found.text
    with pytest.raises(InputError, match="no run document"):
        site.report([])


def test_every_cell_with_a_verdict_has_a_page_that_is_linked_from_the_overview(built: Path) -> None:
    document, _ = builders.a_result()
    links = Document(built.read_text("utf-8")).links
    for block in document.header.blocks:
        base, head = (f"runs/{document.header.run}/{site.cell_stem(cell)}.html" for cell in block.cells)
        assert head in links
        assert (built.parent / head).is_file()
        assert not (built.parent / base).exists()  # its figures stand beside the head's


def test_every_table_is_complete_and_described_without_scripts(built: Path) -> None:
    for page in pages(built):
        text = page.read_text("utf-8")
        for table in re.findall(r"<table.*?</table>", text, flags=re.DOTALL):
            assert "<caption" in table
            header = re.search(r"<thead>.*?</thead>", table, flags=re.DOTALL)
            assert header
            assert header[0].count("<th ") == header[0].count('scope="col"') > 0
            assert table.count("<tr") > 1, "a table without rows"
        for chart in re.findall(r'<div class="chart[^"]*" .*?</div>', text, flags=re.DOTALL):
            assert '<svg class="plot"' in chart
            assert 'aria-label="' in chart


def test_runs_history_and_the_index_have_a_json_and_a_csv_each(weekly: Path, weeks: list[JudgedRun]) -> None:
    stems = {"index", "history", *(f"runs/{run.id}/index" for run in weeks)}
    texts = {page: page.read_text("utf-8") for page in weekly.rglob("*.html")}
    links = {
        (page.parent / link).resolve()
        for page, text in texts.items()
        for link in re.findall(r'href="([^"#]+\.(?:json|csv))"', text)
    }
    for ending in (".json", ".csv"):
        expected = {weekly / f"{stem}{ending}" for stem in stems}
        assert {*weekly.rglob(f"*{ending}")} - {weekly / output.LIST} == expected
        assert {link for link in links if link.suffix == ending} == {path.resolve() for path in expected}


def test_a_folder_that_cannot_be_written_and_a_missing_run_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="create one with `shootout run`"):
        a_site([], tmp_path)
    (tmp_path / "file").write_text("not a folder")
    for out in (tmp_path / "file", tmp_path / "file" / "site"):
        with pytest.raises(InputError, match=re.escape(str(out))):
            a_site([builders.a_result()], out)


def test_a_runs_pages_say_what_history_knew_then(weekly: Path, weeks: list[JudgedRun]) -> None:
    first = f'run <a href="../../runs/{weeks[REGRESSED_AT].id}/index.html">'
    for week, since in ((REGRESSED_AT, "suspected since"), (19, "since")):
        (page,) = (weekly / "runs" / weeks[week].id).glob(f"oltp_read_only-t8-{builders.HEAD}*.html")
        assert f"<li>{since} {first}" in page.read_text("utf-8")


def test_a_page_of_an_older_run_stays_as_it_was(weeks: list[JudgedRun], tmp_path: Path) -> None:
    pages_of_first = tmp_path / "runs" / weeks[REGRESSED_AT].id
    site.build(weeks[REGRESSED_AT - 6 : REGRESSED_AT + 1], tmp_path)
    before = {path: path.read_bytes() for path in pages_of_first.iterdir()}
    site.build(weeks[REGRESSED_AT - 6 : REGRESSED_AT + 3], tmp_path)
    assert {path: path.read_bytes() for path in pages_of_first.iterdir()} == before


def test_old_runs_are_archived_and_the_newest_of_each_runner_is_not(
    weeks: list[JudgedRun], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(publish, "CELLS_MAX", 2 * 8)
    other = a_week(-1, fingerprint="another")
    runs = [*weeks[-4:], other]
    telling = {weeks[-2].id, weeks[-3].id}
    assert publish.detailed([*weeks[:-5:-1], other]) == {weeks[-1].id, other.id}
    assert publish.detailed([*weeks[:-5:-1], other], telling) == {weeks[-1].id, weeks[-2].id, other.id}
    out = site.build(runs, tmp_path).parent
    old = out / "runs" / weeks[-3].id
    assert sorted(path.name for path in old.iterdir()) == ["index.csv", "index.html", "index.json"]
    text = " ".join((old / "index.html").read_text("utf-8").split())
    assert "This run is archived" in text
    assert text.count('class="badge regressed"') == 2
    check_figures(text)
    assert "mysql-8.0.12 is slower than mysql-5.7.22 in 2 of 4 cells" in text
    for entry in entries_of(out / "feed.xml"):
        check_entry_link(entry, out)


def test_an_archived_run_keeps_its_csv(weeks: list[JudgedRun]) -> None:
    document, comparison = builders.a_result()
    for judged in (weeks[0], weeks[-1], judged_runs.in_memory(document, comparison)):
        whole = judged.whole()
        full = Run(whole.document, whole.comparison)
        assert [*downloads.of_run(Run.summary(judged))][1] == [*downloads.of_run(full)][1]
