"""The recorded runs in the repository, and the site that `make demo-site` makes of them."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from msgspec import structs
from playwright.sync_api import Browser

from lab.showcase import record, tables
from shootout import cli, figures, numbers
from shootout.analysis import compare
from shootout.document import journal
from shootout.model.verdict import Comparison, Interval, Verdict
from shootout.paths import ROOT
from shootout.report import headlines, judged_runs, wording
from shootout.report.judged_runs import Whole
from tests.support.browser import opened
from tests.support.end_to_end import printed
from tests.support.report import audit
from tests.support.report.site.pages import check_links

SIZE_MAX = 6_100_000  # bytes of all of them
REMEDY = "If it is meant: python -m lab.showcase.tables"
AMOUNT = re.compile(rf"[+−][\d.]+{numbers.SPACE}[µm]s")
WHOLES = re.compile(
    r"<li>((?:Response|Server CPU) time per transaction.*?)\s*<ul>(.*?)</ul>", flags=re.DOTALL
)
FINDING = re.compile(r"([+−]?[\d.]+) % \(([+−]?[\d.]+ to [+−]?[\d.]+ %)\)")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "results"
    record.unpacked(folder)
    return folder


@pytest.fixture(scope="module")
def demo(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert cli.main(["site", "--results", str(results), "--out", str(out), "--front", "showcase"]) == 0
    return out


@pytest.fixture(scope="module")
def whole(results: Path, demo: Path) -> Whole:
    """The showcase's run; the demo has judged it."""
    assert demo.is_dir()
    return tables.find(results)


def test_the_recorded_runs_are_whole_and_small(results: Path) -> None:
    paths = journal.find(results)
    assert paths
    for path in paths:
        read = journal.read(path)
        assert read.end is not None
        assert len(read.starts) >= len(read.header.blocks)
    assert sum(path.stat().st_size for path in record.SHOWCASE.rglob("*") if path.is_file()) < SIZE_MAX


def test_no_recorded_run_tells_where_it_was_made(results: Path) -> None:
    for path in filter(Path.is_file, results.rglob("*")):
        content = path.read_bytes()
        text = lzma.decompress(content) if path.suffix == journal.PACKED else content
        assert not re.search(rb'"[^"]*/(tmp|home|root|work|usr/local|opt)/[^"]*"', text), path


@pytest.fixture(scope="module")
def runs(results: Path) -> dict[str, Comparison]:
    paths = journal.find(results)
    return {journal.stem(path): judged_runs.whole(path).comparison for path in paths}


def test_every_change_on_every_page_is_head_over_base(demo: Path) -> None:
    pages = sorted(demo.rglob("*.html"))
    assert len(pages) > 100
    found = {page.name: wrong for page in pages if (wrong := list(printed.contradictions(page)))}
    assert found == {}


def test_nothing_that_is_said_of_a_recorded_run_contradicts(results: Path) -> None:
    """In terminal, Markdown, test report, JSON, CSV, badge and cells' pages."""
    wholes = {path.name: judged_runs.whole(path) for path in journal.find(results)}
    found = {name: wrong for name, each in wholes.items() if (wrong := [*audit.contradictions(*each)])}
    assert found == {}


def test_counts_are_of_cells_that_were_measured(demo: Path, runs: dict[str, Comparison]) -> None:
    """As the tiles show them: those with a verdict, or undecided."""
    ((_, _, listed),) = printed.every_table(demo / "runs" / "index.html")
    for run, row in zip(sorted(runs, reverse=True), listed, strict=True):
        comparison = runs[run]
        measured = [c for c in comparison.cells if wording.needs_verdict(c) and c.figures]
        failed = [c for c in comparison.cells if c.verdict is Verdict.FAILED and not c.figures]
        assert row[4] == str(len(measured) + len(failed)), row
        of, *_ = re.findall(r" in \d+ of (\d+) cells?", row[1])
        assert of == row[4], row


def test_durations_agree(demo: Path) -> None:
    """No page says how long its run was to take beside how long it took."""
    for page in demo.glob("runs/*/index.html"):
        (eyebrow,) = re.findall(r'<p class="eyebrow">(.*?)</p>', page.read_text("utf-8"), flags=re.DOTALL)
        assert not re.search(r"minutes|hour", printed.text_of(eyebrow)), eyebrow


def test_parts_never_exceed_their_whole_without_a_word(demo: Path) -> None:
    explained = [page for page in demo.rglob("*.html") if 'id="waits"' in page.read_text("utf-8")]
    assert explained
    for page in explained:
        (spent,) = [
            rows for caption, _, rows in printed.every_table(page) if "Time per transaction" in caption
        ]
        parts = [row for row in spent[1:] if not row[0].startswith("at the same time")]
        for column in (1, 2):
            whole, *of = (printed.number(row[column]) for row in (spent[0], *parts))
            assert whole is not None
            assert all(part and part.high >= 0 and part.low <= whole.high for part in of), parts
            assert sum(part.low for part in of if part) <= whole.high
            assert sum(part.high for part in of if part) >= whole.low
        for whole_text, items in WHOLES.findall(page.read_text("utf-8")):
            total = printed.amount(printed.text_of(whole_text).rpartition(", ")[2])
            for item in map(printed.text_of, re.findall(r"<li>(.*?)</li>", items, flags=re.DOTALL)):
                size = printed.amount(AMOUNT.findall(item)[0])
                beyond = abs(size.low + size.high) > abs(total.low + total.high)
                assert beyond == ("more than the whole" in item), (whole_text, item)


def test_the_demo_lists_every_recorded_run(results: Path, demo: Path) -> None:
    listed = (demo / "runs" / "index.html").read_text("utf-8")
    pages = [f"runs/{journal.stem(path)}/index.html" for path in journal.find(results)]
    assert all(page in listed.replace("../", "") for page in pages)


@pytest.mark.parametrize(("width", "height"), [(1440, 4300), (390, 8400)])
def test_the_first_page_is_short(demo: Path, chromium: Browser, width: int, height: int) -> None:
    tab, faults = opened(chromium, demo / "index.html", width)
    assert tab.evaluate("document.documentElement.scrollHeight") <= height
    assert faults == []
    tab.close()


def test_the_demo_has_every_kind_of_page(demo: Path) -> None:
    for kind in ("soaks", "bisections", "count"):
        assert [page for page in demo.glob(f"{kind}/*.html") if page.name != "index.html"]
    check_links(demo)


def test_what_the_readme_shows_is_what_a_recorded_run_says(results: Path, demo: Path) -> None:
    assert demo.is_dir()
    readme = (ROOT / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"^ {4}(mysql-8\.0\.12 is slower than .*), …$", readme, flags=re.MULTILINE)
    said = [headlines.overall(judged_runs.whole(path).comparison).text for path in journal.find(results)]
    assert [each for each in said if each.replace(numbers.SPACE, " ").startswith(shown)], said


def test_the_tables_of_the_findings_are_the_runs_own(whole: Whole) -> None:
    text = tables.FINDINGS.read_text("utf-8")
    for picture in tables.PICTURES.values():
        assert f"]({picture})" in text
    for title, lines in tables.tables(whole).items():
        assert "\n".join(lines) in text, f"{title}. {REMEDY}"


def test_every_figure_of_the_findings_is_what_the_run_says(whole: Whole) -> None:
    """The figures compare any two servers in a cell, either way round."""
    prose = [line for line in tables.FINDINGS.read_text("utf-8").splitlines() if not line.startswith("|")]
    quoted = FINDING.findall("\n".join(prose))
    assert len(quoted) > 3
    unknown = set(quoted)
    for server in whole.document.header.servers:
        if unknown:
            cells = compare.compare(whole.document, base=server.label).cells
            unknown -= {said(c.ratio) for c in cells if c.ratio}
    assert unknown == set()


def said(ratio: Interval) -> tuple[str, str]:
    """A change and its interval as the findings write them."""
    change, range_ = (
        text.replace(numbers.SPACE, " ") for text in (figures.change(ratio), figures.change_range(ratio))
    )
    return change.removesuffix(" %"), range_


def test_a_run_is_recorded_without_its_folders(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "SHOWCASE", tmp_path)
    path = journal.find(results)[0]
    document = journal.read(path)
    server = structs.replace(document.header.servers[0], reference="path:/home/me/mysql")
    header = structs.replace(document.header, servers=(server, *document.header.servers[1:]))
    mine = tmp_path / "mine" / journal.new_name(header.run)
    mine.parent.mkdir()
    mine.write_bytes(journal.encoded(structs.replace(document, header=header)))
    assert record.record(mine) == tmp_path / path.name
    (unpacked,) = record.unpacked(tmp_path / "again")
    recorded = journal.read(unpacked)
    assert recorded.header.servers[0].reference == "path:mysql"
    assert recorded.starts == document.starts
