"""The site, as files and in Chromium."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from shootout.analysis import compare
from shootout.errors import InputError
from shootout.model.history import ChangePoint
from shootout.model.plan import Cell, Load, Policy
from shootout.model.run import FailureRecord, RunDocument, Samples, Warning
from shootout.model.verdict import Acknowledgement, Interval, Verdict
from shootout.report import site, wording
from shootout.report.site import publish, settings
from shootout.report.site.findings import Findings
from shootout.report.site.render import renderer
from shootout.report.site.run import Run
from tests import builders

GOLDEN = Path(__file__).parent / "golden"
VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}
HOSTILE = (
    """</script><script>alert(1)</script><svg onload=alert(2)><img src=x onerror=alert(3)>'"`${7*7}{{7*7}}"""
    """<!--\x1b[31mred\x1b[0m\u202egnp.exe\u2066\x00&amp;%{x}%{fullData.name}|*md*"""
)


class Document(HTMLParser):
    """A page's links, ids, tables and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two runs, the older one interrupted; returns its index page."""
    older = builders.a_header(run="20261113T024100Z-11aa", started="2026-11-13T02:41:00+00:00", seed=5)
    results = [builders.a_result(builders.a_run(older, interrupted=True)), builders.a_result()]
    return site.build(results, tmp_path_factory.mktemp("site"))


def pages(index: Path) -> list[Path]:
    return sorted(index.parent.rglob("*.html"))


def a_page(index: Path, start: str) -> Path:
    (page,) = (index.parent / "runs" / "20261120T024100Z-7f3a").glob(f"{start}*.html")
    return page


def tables(page: Path) -> dict[str, str]:
    """A page's tables, by their captions."""
    found = re.findall(r"<table.*?</table>", page.read_text("utf-8"), flags=re.DOTALL)
    captions = [re.search(r"<caption.*?</caption>", table, flags=re.DOTALL) for table in found]
    return {
        Document(caption[0]).text: table for caption, table in zip(captions, found, strict=True) if caption
    }


def rows_in(table: str) -> list[list[str]]:
    """The visible text of a table's body, row by row."""
    return [
        [Document(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.DOTALL)]
        for row in re.findall(r"<tr.*?</tr>", table, flags=re.DOTALL)[1:]
    ]


def check_links(out: Path) -> None:
    """Every link of every page leads to a place that is there, and inside the site."""
    documents = {page: Document(page.read_text("utf-8")) for page in sorted(out.rglob("*.html"))}
    for page, document in documents.items():
        assert len(document.ids) == len(set(document.ids)), page
        for link in document.links:
            if link.startswith("data:"):
                continue
            parts = urlsplit(link)
            assert (parts.scheme, parts.netloc) == ("", ""), (page, link)
            assert not parts.path.startswith("/"), (page, link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file(), (page, link)
            assert target.is_relative_to(out.resolve())
            assert not parts.fragment or parts.fragment in documents[target].ids, (page, link)


# --- files ----------------------------------------------------------------------------------------


def test_the_overview_is_as_it_was_approved(tmp_path: Path) -> None:
    index = site.build([builders.a_result()], tmp_path)
    text = re.sub(r"plotly-[\d.]+\.min\.js", "plotly.min.js", index.read_text("utf-8"))
    text = "\n".join(line for raw in text.splitlines() if (line := " ".join(raw.split(" ")).strip())) + "\n"
    actual = tmp_path / "overview.html"
    actual.write_text(text, "utf-8")
    golden = GOLDEN / "overview.html"
    assert golden.is_file()
    assert text == golden.read_text("utf-8"), f"If it is meant: cp {actual} {golden}"


def test_the_newest_run_is_the_overview(built: Path) -> None:
    text = Document(built.read_text("utf-8")).text
    assert "mysql-8.0.12 is slower than mysql-5.7.22 in 6 of 9 cells" in text
    assert "20 November 2026, 02:41 UTC" in text
    assert "13 November 2026, 02:41 UTC" in text  # listed, and said to be
    assert "interrupted" in text


def test_every_link_leads_somewhere_inside_the_site(built: Path) -> None:
    check_links(built.parent)


def test_every_cell_has_a_page_that_is_linked_from_the_overview(built: Path) -> None:
    document, _ = builders.a_result()
    links = Document(built.read_text("utf-8")).links
    for block in document.header.blocks:
        base, head = (f"runs/{document.header.run}/{site.cell_stem(cell)}.html" for cell in block.cells)
        assert head in links
        assert (built.parent / base).is_file()


def test_every_table_is_complete_and_described_without_scripts(built: Path) -> None:
    for page in pages(built):
        text = page.read_text("utf-8")
        for table in re.findall(r"<table.*?</table>", text, flags=re.DOTALL):
            assert "<caption" in table
            header = re.search(r"<thead>.*?</thead>", table, flags=re.DOTALL)
            assert header
            assert header[0].count("<th ") == header[0].count('scope="col"') > 0
            assert table.count("<tr") > 1, "a table without rows"
        for chart in re.findall(r'<div class="chart" .*?</div>', text, flags=re.DOTALL):
            assert '<svg class="sketch"' in chart
            assert 'aria-label="' in chart


def test_the_table_of_all_cells_has_every_judged_one_with_its_numbers(built: Path) -> None:
    (worst,) = tables(a_page(built, "cells")).values()
    rows = re.findall(r"<tr>.*?</tr>", worst, flags=re.DOTALL)[1:]
    verdicts = [found[0] for row in rows if (found := re.findall(r'class="badge (\w+)"', row))]
    assert verdicts == ["regressed"] * 6 + ["failed", "inconclusive", "equivalent"]
    assert "−24.2" in rows[0]
    assert "−25.5 to −22.8" in rows[0]
    assert "died during round 3" in rows[6]
    assert "18\u202f900" in rows[0]


def test_a_failed_cell_shows_the_servers_own_words(built: Path) -> None:
    text = Document(a_page(built, "oltp_read_write-t32-mysql-8").read_text("utf-8")).text
    assert "failed" in text
    assert "No space left on device" in text
    assert "mysql-8.0.12 (pid 4711) died during round 3" in Document(built.read_text("utf-8")).text


def test_what_changed_stands_first_with_all_that_is_known(tmp_path: Path) -> None:
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
    assert [each.comparison.acknowledged is not None for each in found.regressed] == sorted(
        each.comparison.acknowledged is not None for each in found.regressed
    )
    fresh = [each.certain for each in found.regressed if not each.comparison.acknowledged]
    assert fresh == sorted(fresh, reverse=True)
    assert found.regressed[0].since == since
    made = dict(publish.run_pages(run, renderer()))
    text = Document(str(made["index.html"])).text
    for words in (
        "▼ oltp_point_select, 1 thread 24.2 % fewer transactions per second than mysql-5.7.22",
        "seen once, not confirmed", "not acknowledged", "acknowledged by ann until 2027-01-01",
        "suspected since run 20261113T024100Z-11aa", "also buffer pool reads +140.00 %, fsyncs",
        "✕ mysql-8.0.12: 1 cell failed", "died during round 3",
    ):  # fmt: skip
        assert words in text, words
    assert text.index("acknowledged by ann") > text.index("not acknowledged")


def test_an_acknowledged_regression_is_told_apart_among_many_servers() -> None:
    document = builders.a_run(
        builders.a_header([builders.BASE, "a", "b"], ["oltp_point_select"], [1]), failing=False
    )
    known = Acknowledgement(
        workload="*", server="b", at_most=0.9, expires=date(2027, 1, 1), owner="ann", reason="known"
    )
    run = Run(document, compare.compare(document, acknowledged=[known]))
    text = str(dict(publish.run_pages(run, renderer()))["index.html"])
    (row,) = re.findall(r'<tr><th scope="row">1</th>(.*?)</tr>', text, flags=re.DOTALL)
    assert re.findall(r'<td class="(.*?)">', row) == ["regressed x2", "regressed x3 accepted"]
    assert "dashed: acknowledged" in text


def test_a_workload_sums_the_warnings_that_stand_with_all_cells() -> None:
    header = builders.a_header([builders.BASE, "a", "b"], ["oltp_point_select"], [1, 8])
    document = builders.a_run(header, failing=False)
    found = builders.a_comparison(document)
    cells = tuple(
        msgspec.structs.replace(cell, warnings=(Warning(code="wide", text=f"± {number} %"),))
        for number, cell in enumerate(found.cells)
    )
    run = Run(document, msgspec.structs.replace(found, cells=cells))
    made = {place: str(text) for place, text in publish.run_pages(run, renderer())}
    workload = made["workload-oltp_point_select.html"]
    assert workload.count("<code>wide</code>") == 1
    assert f"{len(cells)} cells,<wbr> for instance</strong> ± 0 %" in workload
    assert 'cells.html#warnings"' in workload
    assert made["cells.html"].count("<code>wide</code>") == len(cells)


def test_a_change_of_another_figure_is_marked_among_many_servers() -> None:
    header = builders.a_header([builders.BASE, "a", "b"], ["oltp_point_select"], [1])
    document = builders.a_run(header, failing=False)
    found = compare.compare(document)
    cells = [*found.cells[:2], builders.decided_by(found.cells[2], "latency_p99", 1.3)]
    for comparison, marked in ((found, False), (msgspec.structs.replace(found, cells=tuple(cells)), True)):
        text = str(dict(publish.run_pages(Run(document, comparison), renderer()))["index.html"])
        row = re.findall(r'<tr><th scope="row">1</th>(.*?)</tr>', text, flags=re.DOTALL)[0]
        assert ("+30\u202f%*<i> regressed, 99 % latency</i>" in row) is marked
        assert ("*: not of throughput" in text) is marked


def test_likely_causes_and_what_verdicts_are_worth_are_said() -> None:
    document = builders.a_run(builders.a_header(workloads=["oltp_point_select"], threads=[1]), failing=False)
    run = Run(document, compare.compare(document, policy=Policy(false_alarms_max=0.05)))
    (_, head) = run.comparison.cells
    causes = [wording.cause(each) for each in head.causes]
    assert causes
    made = publish.run_pages(run, renderer())
    pages_ = {name: Document(str(text)).text for name, text in made if name.endswith(".html")}
    overview, cell = pages_["index.html"], pages_[f"{site.cell_stem(head.cell)}.html"]

    def as_shown(text: str) -> str:
        return " ".join(text.split())

    assert as_shown(wording.advice(run.comparison)) in overview
    assert "These verdicts advise, and fail nothing" in overview
    assert f"likely cause: {as_shown(causes[0])}" in overview
    assert as_shown(f"Likely causes {' '.join(causes)}") in cell


def test_history_is_told_of_the_newest_run_only(tmp_path: Path) -> None:
    results = []
    for number in range(9):
        header = builders.a_header(
            workloads=["oltp_point_select"], threads=[1], seed=number,
            run=f"202611{number + 10}T024100Z-7f3a", started=f"2026-11-{number + 10}T02:41:00+00:00",
        )  # fmt: skip
        document, comparison = builders.a_result(builders.a_run(header, failing=False))
        base, head = comparison.cells
        level = 0.76 if number < 8 else 0.5
        ratio = Interval(estimate=level, low=level - 0.01, high=level + 0.01)
        cells = (base, msgspec.structs.replace(head, ratio=ratio))
        results.append((document, msgspec.structs.replace(comparison, cells=cells)))
    index = site.build(results, tmp_path)
    said = "suspected since run 20261118T024100Z-7f3a"
    assert said in Document(index.read_text("utf-8")).text
    telling = [
        page for page in tmp_path.glob("runs/*/index.html") if "suspected since" in page.read_text("utf-8")
    ]
    assert [page.parent.name for page in telling] == ["20261118T024100Z-7f3a"]


def test_a_workload_page_has_the_classic_tables(built: Path) -> None:
    found = tables(a_page(built, "workload-oltp_read_write"))
    tps = rows_in(found["Throughput in transactions per second"])
    assert [row[0] for row in tps] == ["1", "8", "32"]
    assert re.fullmatch(r"6\d\d ± \d+", tps[0][1])
    assert tps[2][2].startswith("error mysql-8.0.12 (pid 4711) died during round 3")
    peaks = rows_in(found["How fast one thread is, how far throughput goes, and at how many clients"])
    assert [(row[0], row[4]) for row in peaks] == [("mysql-5.7.22", "8"), ("mysql-8.0.12", "8")]
    quotient = (
        "Throughput of oltp_read_only over that of oltp_read_write, at the same threads and of the peaks"
    )
    (first, _) = rows_in(found[quotient])
    assert [float(value) for value in first[1:]] == pytest.approx(
        [1020 / 612, 2140 / 1310, 2060 / 1240, 2140 / 1310], abs=0.03
    )
    latency = rows_in(found["Latency of a transaction in milliseconds"])
    assert len(latency) == 6
    assert all(len(row) == 9 and "–" not in row for row in latency)
    kinds = rows_in(found["Statements per second while loaded, by what they do"])
    tps_, reads, writes, other, total = (float(text.replace(" ", "")) for text in kinds[0][2:])
    assert (reads / tps_, writes / tps_, other / tps_) == pytest.approx((14, 4, 2), rel=0.01)
    assert total == pytest.approx(reads + writes + other, rel=0.01)
    work = rows_in(found["Work for each transaction, and how busy the server was while it was loaded"])
    assert work[0][3] == wording.NOT_VISIBLE
    cpu_us, busy = (float(work[0][at].replace(" ", "")) for at in (2, 5))
    assert busy == pytest.approx(cpu_us * tps_ / 1e6, rel=0.02)


def test_a_scaling_law_is_shown_where_there_are_threads_enough(tmp_path: Path) -> None:
    header = builders.a_header(workloads=["oltp_read_only"], threads=[1, 2, 8, 32])
    index = site.build([builders.a_result(builders.a_run(header, failing=False))], tmp_path)
    page = a_page(index, "workload-")
    (law,) = (table for caption, table in tables(page).items() if caption.startswith("Fitted"))
    assert [row[0] for row in rows_in(law)] == ["mysql-5.7.22", "mysql-8.0.12"]
    assert "universal scalability law" in page.read_text("utf-8")


def test_a_server_page_has_its_cells_and_settings(built: Path) -> None:
    page = a_page(built, "server-mysql-8.0.12")
    found = tables(page)
    assert len(rows_in(found["Figures of each cell"])) == 9
    (settings_,) = (table for caption, table in found.items() if caption.startswith("Profile in-memory"))
    rows = {name: cells for name, *cells in rows_in(settings_)}
    assert rows["max_connections"] == ["1024", "214", "1024", "differs"]
    assert rows["performance_schema"] == ["OFF", "OFF", "OFF", "yes"]
    text = Document(page.read_text("utf-8")).text
    assert "mysql-8.0.12 is slower than mysql-5.7.22 in 6 of 9 cells" in text
    base = Document(a_page(built, "server-mysql-5.7.22").read_text("utf-8")).text
    assert "The base: the other servers are compared with it" in base


def test_a_cell_page_has_only_the_settings_that_matter(built: Path) -> None:
    page = a_page(built, "oltp_read_only-t1-mysql-8")
    (rows,) = (rows_in(table) for caption, table in tables(page).items() if caption.startswith("Profile"))
    names = [row[0].split()[0] for row in rows]
    assert set(names) == {"max_connections", "query_cache_bytes", "character_set"}


def test_a_cell_page_has_its_evidence(built: Path) -> None:
    text = Document(a_page(built, "oltp_read_write-t1-mysql-8").read_text("utf-8")).text
    for words in (
        "17.4 % fewer transactions per second than mysql-5.7.22",
        "All 75 rounds as a table", "99.9 %", "Innodb_buffer_pool_read_requests", "index_update",
        "--seed 20261120", "1213 deadlock", "max_connections", "differs", "AMD EPYC",
        "shootout run --profile quick --servers mysql-5.7.22,mysql-8.0.12",
        "--workloads oltp_read_write --threads 1 --seed 20261120",
    ):  # fmt: skip
        assert words in text, words


def rows_of(page: Path) -> dict[str, list[str]]:
    """The cells of the settings' tables, by the name in the first; each as its visible text."""
    rows = [row for table in tables(page).values() for row in rows_in(table)]
    return {name: cells for name, *cells in rows}


def test_the_settings_of_all_servers_stand_side_by_side(built: Path) -> None:
    page = a_page(built, "settings")
    text = page.read_text("utf-8")
    rows = rows_of(page)
    assert rows["buffer_pool_bytes innodb_buffer_pool_size"] == ["512M", "512M", "512M"]
    assert rows["redo_capacity_bytes innodb_log_file_size and innodb_log_files_in_group"] == ["256M"] * 3
    assert rows["max_connections"] == ["1024", "1024", "214 requested 1024"]
    assert rows["query_cache_bytes"] == [
        "1M", "1M query_cache_type and query_cache_size",
        "lacking no query cache since 8.0.3; it is empty in this load",
    ]  # fmt: skip
    assert rows["character_set character_set_server"] == ["–", "latin1", "utf8mb4"]
    assert rows["isolation"] == ["–", "REPEATABLE-READ tx_isolation", "REPEATABLE-READ transaction_isolation"]
    groups = re.findall(r'<tr class="group">.*?</tr>', text, flags=re.DOTALL)
    assert [Document(group).text for group in groups] == list(settings.GROUPS)
    order = list(rows)
    assert order.index("max_connections") < order.index("buffer_pool_bytes innodb_buffer_pool_size")
    assert text.count('class="differs">214') == 1
    assert text.count('<td class="lacking">lacking') == 1


def test_settings_of_different_profiles_are_told_apart(tmp_path: Path) -> None:
    header = builders.a_header(workloads=["oltp_read_only"], threads=[1])
    base, head = header.servers
    small = tuple(
        msgspec.structs.replace(s, requested="134217728", effective="134217728")
        if s.name == "buffer_pool_bytes"
        else s
        for s in head.settings
    )
    servers = (base, msgspec.structs.replace(head, settings_name="small", settings=small[:-1]))
    header = msgspec.structs.replace(header, servers=servers)
    page = a_page(
        site.build([builders.a_result(builders.a_run(header, failing=False))], tmp_path), "settings"
    )
    rows = rows_of(page)
    assert rows["buffer_pool_bytes innodb_buffer_pool_size"] == ["512M, 128M", "512M", "128M"]
    assert rows["default_storage_engine"] == ["–", "InnoDB", "–"]
    assert "mysql-8.0.12 small" in Document(page.read_text("utf-8")).text


def test_what_cannot_be_seen_is_said_and_not_zero(tmp_path: Path) -> None:
    document = builders.a_run(failing=False)
    hidden = ("context_switches", "write_bytes")

    def unseen(samples: Samples) -> Samples:
        if samples.server != builders.BASE:
            return samples
        left = {name: value for name, value in samples.counters.items() if name not in hidden}
        return msgspec.structs.replace(samples, server_cpu_s=None, counters=left)

    starts = tuple(
        msgspec.structs.replace(start, samples=tuple(map(unseen, start.samples))) for start in document.starts
    )
    document = msgspec.structs.replace(document, starts=starts)
    index = site.build([(document, compare.compare(document))], tmp_path)
    base = a_page(index, f"oltp_point_select-t1-{builders.BASE}").read_text()
    head = a_page(index, f"oltp_point_select-t1-{builders.HEAD}").read_text()
    assert "<dt>server CPU, µs / transaction</dt><dd>not visible</dd>" in base
    assert '<dd class="than">base not visible</dd>' in head
    (row,) = re.findall(r"<tr><th scope=\"row\">context_<wbr>switches</th>(.*?)</tr>", head, re.DOTALL)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert cells[0] == "not visible"
    assert cells[1] != "not visible"
    assert cells[2] == wording.NONE  # it is not new there


def test_counters_of_any_size_are_shown(tmp_path: Path) -> None:
    """Those of old documents may have gone back."""
    values = {builders.BASE: -0.5, builders.HEAD: 0.0}
    document = builders.a_run(failing=False)
    starts = tuple(
        msgspec.structs.replace(
            start,
            samples=tuple(
                msgspec.structs.replace(each, counters={"pending": values[each.server]})
                for each in start.samples
            ),
        )
        for start in document.starts
    )
    document = msgspec.structs.replace(document, starts=starts)
    site.build([(document, compare.compare(document))], tmp_path)


def test_an_interrupted_and_a_cut_run_say_so(tmp_path: Path) -> None:
    stopped = builders.a_run(interrupted=True)
    index = site.build([builders.a_result(stopped)], tmp_path / "stopped")
    assert "This run was interrupted after 5 min 31 s" in Document(index.read_text("utf-8")).text
    cut = msgspec.structs.replace(stopped, end=None)
    index = site.build([builders.a_result(cut)], tmp_path / "cut")
    assert "This run was cut short" in Document(index.read_text("utf-8")).text


@pytest.mark.parametrize(
    "servers", [["mysql-5.7.22"], ["mysql-5.7.22", "mysql-8.0.12", "mysql-8.0.33", "a", "b"]]
)
def test_any_number_of_servers(servers: list[str], tmp_path: Path) -> None:
    header = builders.a_header(servers, workloads=["oltp_read_only"], threads=[1, 8])
    index = site.build([builders.a_result(builders.a_run(header, failing=False))], tmp_path)
    text = index.read_text("utf-8")
    assert text.count('<table class="matrix"') == (len(servers) == 2)
    assert text.count('<table class="heat"') == (len(servers) > 2)
    assert text.count('<td class="regressed') == (len(servers) - 1) * 2 * (len(servers) > 2)
    assert all(Document(page.read_text("utf-8")).open == [] for page in pages(index))


def test_a_run_in_which_nothing_was_measured(tmp_path: Path) -> None:
    header = builders.a_header(workloads=["oltp_read_only"], threads=[1])
    failures = tuple(
        FailureRecord(cell=cell, start=1, reason="no memory")
        for block in header.blocks
        for cell in block.cells
    )
    document = RunDocument(header=header, starts=(), failures=failures, end=None)
    index = site.build([builders.a_result(document)], tmp_path)
    text = Document(index.read_text("utf-8")).text
    assert "mysql-8.0.12 could not be measured" in text


def hostile_result() -> RunDocument:
    base, head = f"a{HOSTILE}", f"b/../../etc#1?x:{HOSTILE}"
    plain = builders.a_header([base, head], workloads=[f"w{HOSTILE}"], threads=[1, 8], run=f"r{HOSTILE}")
    warning = Warning(code=HOSTILE, text=HOSTILE)
    servers = tuple(
        builders.a_server(
            label, reference=HOSTILE, version=HOSTILE, comment=HOSTILE, build=HOSTILE,
            settings_name=HOSTILE, checksum=HOSTILE, warnings=(warning,),
            settings=tuple(
                msgspec.structs.replace(
                    s, name=s.name + HOSTILE, requested=HOSTILE, effective=HOSTILE, note=HOSTILE,
                    variables=(HOSTILE, HOSTILE),
                )
                for s in builders.a_server().settings
            ),
        )
        for label in (base, head)
    )  # fmt: skip
    runner = builders.a_runner(
        fingerprint=HOSTILE, cpu=HOSTILE, kernel=HOSTILE, system=HOSTILE, virtual=HOSTILE, filesystem=HOSTILE,
        disk=HOSTILE, warnings=(warning,),
    )  # fmt: skip
    profile = msgspec.structs.replace(plain.profile, description=HOSTILE)
    header = msgspec.structs.replace(
        plain, servers=servers, runner=runner, profile=profile, started=HOSTILE, shootout=HOSTILE
    )
    document = builders.a_run(header)
    starts = tuple(
        msgspec.structs.replace(
            start,
            samples=tuple(
                msgspec.structs.replace(
                    s,
                    errors={HOSTILE: 1},
                    counters={HOSTILE: 7.0},
                    statements={HOSTILE: s.latencies},
                )
                for s in start.samples
            ),
        )
        for start in document.starts
    )
    failures = tuple(msgspec.structs.replace(f, reason=HOSTILE + "\n" + HOSTILE) for f in document.failures)
    return msgspec.structs.replace(document, starts=starts, failures=failures)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build([builders.a_result(hostile_result())], tmp_path_factory.mktemp("hostile"))


def test_hostile_text_stays_text(hostile: Path) -> None:
    # The site's, of its history, comparison and runner, the run's, of workloads, servers, cells.
    assert len(pages(hostile)) == 4 + 4 + 3 + 1 + 2 + 4
    for page in pages(hostile):
        text = page.read_text("utf-8")
        document = Document(text)
        assert document.open == []
        assert not any(name.startswith("on") for _, attributes in document.tags for name in attributes)
        assert {"img", "iframe", "object", "form"}.isdisjoint(tag for tag, _ in document.tags)
        sources = [attributes for tag, attributes in document.tags if tag == "script"]
        assert all("src" in script or script.get("type") == "application/json" for script in sources)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
        if page.name not in ("how-to-read.html", "history.html") and page.parent.name != "published":
            assert "<script>alert(1)</script>" in document.text  # shown, letter by letter
            assert "␛[31mred" in document.text


labels = st.text(min_size=1, max_size=120)
cells = st.builds(Cell, workload=labels, dataset=labels, server=labels, threads=st.integers(1, 65_535))


@given(st.lists(cells, min_size=2, max_size=6, unique=True))
def test_distinct_cells_have_distinct_and_safe_file_names(found: list[Cell]) -> None:
    stems = [site.cell_stem(cell) for cell in found]
    assert len({stem.lower() for stem in stems}) == len(found)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{1,100}", stem) for stem in stems)


@given(
    st.lists(
        labels | st.sampled_from(["..", ".", "a/b", "a-b", "a#b", "A:b@c"]),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_distinct_runs_have_distinct_and_safe_folders(found: list[str]) -> None:
    stems = [site.file_stem(run) for run in found]
    assert len(set(stems)) == len(found)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{1,101}", stem) and not stem.startswith(".") for stem in stems)


def test_names_that_only_look_alike_do_not_collide() -> None:
    def cell(server: str) -> Cell:
        return Cell(workload="w", dataset="d", server=server, threads=1)

    names = ["path:/opt/a@x", "path:/opt/a#x", "path:/opt/a/x", "path--opt-a-x"]
    assert len({site.cell_stem(cell(name)) for name in names}) == len(names)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for out in (tmp_path / "file", tmp_path / "file" / "site"):
        with pytest.raises(InputError, match=re.escape(str(out))):
            site.build([builders.a_result()], out)


def test_a_failed_build_changes_nothing(tmp_path: Path) -> None:
    index = site.build([builders.a_result()], tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    document, comparison = builders.a_result()
    first, *rest = document.starts
    broken = tuple(msgspec.structs.replace(s, latencies="no histogram") for s in first.samples)
    starts = (msgspec.structs.replace(first, samples=broken), *rest)
    with pytest.raises(ValueError, match=r".*"):
        site.build([(msgspec.structs.replace(document, starts=starts), comparison)], tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert index in before


def test_nothing_to_show_and_a_run_given_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="measure one first"):
        site.build([], tmp_path)
    with pytest.raises(InputError, match="20261120T024100Z-7f3a is given 2 times"):
        site.build([builders.a_result(), builders.a_result()], tmp_path)


# --- Chromium -------------------------------------------------------------------------------------


def test_the_load_is_said_and_measured_again(tmp_path: Path) -> None:
    header = builders.a_header(workloads=("oltp_read_only", "oltp_point_select"), threads=(1,))
    load = Load(protocol="prepared", reconnect=True)
    options = {"range_size": 10}
    profile = msgspec.structs.replace(header.profile, load=load, options=options)
    header = msgspec.structs.replace(
        header,
        profile=profile,
        given={
            "--profile": "quick",
            "--servers": "x,y",
            "--threads": "1,2",
            "--option": "range_size=10",
            "--protocol": "prepared",
            "--reconnect": "",
            "--port": "2000",
        },
        workloads=(
            builders.a_record("oltp_read_only", protocol="prepared", options={"range_size": 10}),
            builders.a_record(
                "oltp_point_select", protocol="prepared", written="my dir/oltp_point_select.toml"
            ),
        ),
    )
    site.build([builders.a_result(builders.a_run(header, failing=False))], tmp_path)
    said = "prepared statements, lost connections opened again"
    assert f"{said}, range_size = 10" in (tmp_path / "index.html").read_text()
    (reads,) = tmp_path.glob("runs/*/oltp_read_only-t1-mysql-8*.html")
    (points,) = tmp_path.glob("runs/*/oltp_point_select-t1-mysql-8*.html")
    assert f'<p class="eyebrow">{said}, range_size = 10</p>' in reads.read_text()
    assert f'<p class="eyebrow">{said}</p>' in points.read_text()
    command = "--workloads {} --threads 1 --seed 20261120{} --protocol prepared --reconnect</code>"
    assert command.format("oltp_read_only", " --option range_size=10") in reads.read_text()
    assert command.format("&#39;my dir/oltp_point_select.toml&#39;", "") in points.read_text()


def opened(browser: Browser, page: Path, width: int = 1440, scheme: str = "light") -> tuple[Page, list[str]]:
    """The page with all its charts drawn, and all that it complained of or asked of others."""
    tab = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    faults: list[str] = []
    tab.on("console", lambda message: faults.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: faults.append(f"error: {error}"))
    tab.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    tab.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:")) else faults.append(request.url)
        ),
    )
    tab.goto(page.as_uri())
    tab.wait_for_function(
        "scheme => [...document.querySelectorAll('.chart')].every(chart => chart.dataset.drawn === scheme)",
        arg=scheme,
    )
    return tab, faults


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with little on each page, and something of everything."""
    header = builders.a_header([builders.BASE, builders.HEAD, "mysql-9.7"], ["oltp_read_write"], [1, 8])
    document = builders.a_run(header)
    older = builders.a_header(run="20261113T024100Z-11aa", workloads=["oltp_read_write"], threads=[1])
    results = [(document, compare.compare(document)), builders.a_result(builders.a_run(older))]
    return site.build(results, tmp_path_factory.mktemp("small"))


def serious(tab: Page) -> list[str]:
    """What axe-core finds on the page that keeps people from using it, each with the first place."""
    options = {"preload": False, "resultTypes": ["violations"]}  # preloading fetches, which file: forbids
    charts = {"exclude": [[".canvas"]]}  # pictures to everybody who does not see them
    found = Axe().run(tab, context=charts, options=options).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html']} {each['nodes'][0]['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def kinds_of_pages(index: Path) -> dict[Path, int]:
    """One page of each kind, and how many charts it has."""
    return {
        index: 0,
        index.parent / "how-to-read.html": 0,
        index.parent / "runs" / "index.html": 0,
        index.parent / "published" / "index.html": 0,
        a_page(index, "cells"): 0,
        a_page(index, "settings"): 0,
        a_page(index, "workload-oltp_read_write"): 8,
        a_page(index, "server-mysql-8.0.12"): 1,
        a_page(index, "oltp_read_write-t1-mysql-8"): 3,
        a_page(index, "oltp_read_write-t8-mysql-8"): 2,
    }


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (768, "dark"), (390, "light")])
def test_pages_are_drawn_whole_at_every_width(
    small: Path, chromium: Browser, width: int, scheme: str
) -> None:
    for page, count in kinds_of_pages(small).items():
        tab, faults = opened(chromium, page, width, scheme)
        assert tab.locator(".chart .main-svg .trace").count() >= count
        assert tab.locator(".chart[data-drawn]").count() == count
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(251, 251, 250)"
        assert dark == (scheme == "dark")
        assert faults == []
        tab.close()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_kind_of_page_can_be_used_by_everybody(
    small: Path, chromium: Browser, width: int, scheme: str
) -> None:
    for page in kinds_of_pages(small):
        tab, _ = opened(chromium, page, width, scheme)
        assert serious(tab) == [], page
        tab.close()


@pytest.mark.browser
def test_what_keeps_people_from_using_a_page_is_found(small: Path, chromium: Browser) -> None:
    tab, _ = opened(chromium, small.parent / "how-to-read.html")
    tab.evaluate("document.querySelector('.lede').style.color = '#ccc'")
    (found,) = serious(tab)
    assert found.startswith("color-contrast")
    tab.close()


@pytest.mark.browser
def test_hostile_text_runs_nowhere(hostile: Path, chromium: Browser) -> None:
    for page in pages(hostile):
        tab, faults = opened(chromium, page, width=390)
        assert faults == []
        assert tab.locator("svg[onload], img, main script:not([type])").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.close()


@pytest.mark.browser
def test_tables_sort_by_value_both_ways(built: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, a_page(built, "cells"))
    worst = tab.locator("table.worst")

    def column(number: int) -> list[str]:
        return worst.locator(f"tbody tr > :nth-child({number})").all_inner_texts()

    header = worst.get_by_role("columnheader", name="threads")
    header.get_by_role("button").click()
    assert column(2) == ["1", "1", "1", "8", "8", "8", "32", "32", "32"]
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").press("Enter")
    assert column(2) == ["32", "32", "32", "8", "8", "8", "1", "1", "1"]
    worst.get_by_role("columnheader", name="base, tps").get_by_role("button").click()
    values = worst.locator("tbody td.num:nth-last-child(3)").evaluate_all(
        "cells => cells.map(c => +c.dataset.value)"
    )
    assert values == sorted(values)
    change = worst.get_by_role("columnheader", name="change, %").get_by_role("button")
    for _ in range(2):
        change.click()
        assert "failed" in worst.locator("tbody tr").last.inner_text()  # what has no figure stays last
    assert faults == []
    tab.close()


# As the compare page fills its tables.
MAKE_LONG = """table => {
    const row = table.tBodies[0].rows[0];
    row.before(...Array.from({ length: 9 }, () => row.cloneNode(true)));
    table.dispatchEvent(new Event("filled"));
}"""


@pytest.mark.browser
def test_a_table_is_filtered_by_words(built: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, a_page(built, "cells"))
    rows = tab.locator("table.worst tbody tr:visible")
    assert tab.locator(".filter").count() == 0  # with so few rows there is nothing to look for
    tab.locator("table.worst").evaluate(MAKE_LONG)
    box = tab.get_by_role("searchbox", name="Filter: All cells with a verdict")
    box.fill("READ_WRITE regressed")
    assert rows.count() == 1
    assert "oltp_read_write" in rows.inner_text()
    assert tab.locator(".filter output").inner_text() == "1 of 18"
    box.fill("no such cell")
    assert rows.count() == 0
    box.fill("")
    assert rows.count() == 18
    assert faults == []
    tab.close()


@pytest.mark.browser
def test_a_filtered_table_stays_beside_its_neighbour(built: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, a_page(built, "oltp_read_write-t1-mysql-8"))
    tables = tab.locator(".pair.even table")
    tables.first.evaluate(MAKE_LONG)
    first, second = (tables.nth(number).bounding_box() for number in (0, 1))
    assert tab.locator(".pair .filter").count() >= 1
    assert first is not None
    assert second is not None
    assert first["x"] + first["width"] <= second["x"]
    assert faults == []
    tab.close()


@pytest.mark.browser
def test_a_chart_says_what_is_pointed_at(built: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, a_page(built, "workload-oltp_read_write"))
    chart = tab.locator("#chart-throughput")
    chart.scroll_into_view_if_needed()
    chart.locator(".points path").first.hover(force=True)
    tab.wait_for_selector("#chart-throughput .hoverlayer text")
    said = chart.locator(".hoverlayer").text_content() or ""
    assert "mysql-5.7.22" in said
    assert "mysql-8.0.12" in said
    assert faults == []
    tab.close()


@pytest.mark.browser
def test_a_section_can_be_linked_to(built: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, a_page(built, "workload-oltp_read_write"))
    tab.get_by_role("link", name="Queries by kind").click()
    assert tab.url.endswith("#queries")
    assert tab.locator("#queries").evaluate("heading => heading.getBoundingClientRect().top < innerHeight")
    assert faults == []
    tab.close()


@pytest.mark.browser
def test_the_scheme_can_be_switched_and_the_charts_follow(built: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, a_page(built, "server-mysql-8.0.12"))
    tab.get_by_role("button", name="Switch between light and dark").click()
    tab.wait_for_function("[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn === 'dark')")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 25)"
    assert faults == []
    tab.close()


@pytest.mark.browser
def test_pages_are_complete_without_scripts(built: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.goto(a_page(built, "cells").as_uri())
    assert tab.locator("table.worst tbody tr").count() == 9
    assert tab.get_by_role("button").count() == 0
    tab.goto(a_page(built, "workload-oltp_read_write").as_uri())
    pictures = tab.locator(".chart .sketch")
    assert pictures.count() == 7
    assert pictures.first.locator("path").count() > 10
    assert all(box and box["height"] > 200 for box in (each.bounding_box() for each in pictures.all()))
    context.close()


@pytest.mark.browser
def test_the_keyboard_reaches_the_content_first(built: Path, chromium: Browser) -> None:
    tab, _ = opened(chromium, built)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "content"
    tab.close()
