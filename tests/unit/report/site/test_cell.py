"""The page of a cell."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from shootout import figures
from shootout.analysis import compare
from shootout.answer import text as text_of
from shootout.model.plan import Load
from shootout.model.run import Samples
from shootout.report import run_answer, site
from shootout.report.site import cell_answer
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import (
    Document,
    a_page,
    a_site,
    check_figures,
    compared,
    csv_rows,
    rendered,
    rows_in,
    tables,
    with_samples,
)

METRICS = "Latencies, and cost per transaction; p is corrected for the number of metrics"


def test_a_failed_cell_shows_the_servers_own_words(built: Path) -> None:
    text = Document(a_page(built, "oltp_read_write-t32-mysql-8").read_text("utf-8")).text
    assert "failed" in text
    assert "No space left on device" in text
    assert "mysql-8.0.12 (pid 4711) died during round 3" in Document(built.read_text("utf-8")).text


def test_intervals_of_metrics_sort_by_number(small: Path) -> None:
    found = tables(a_page(small, "oltp_read_write-t1-mysql-8"))
    check_figures(found[METRICS])


def test_all_of_a_cells_page_says_the_same_of_the_same_starts(tmp_path: Path) -> None:
    """In the first start the head was not steady, and both were a hundred times slower than later."""
    document, _ = compared()
    slow = builders.a_samples(tps=100.0)
    first, *others = document.starts
    samples = tuple(
        replace(slow, server=each.server, steady=each.server == builders.BASE) for each in first.samples
    )
    document = replace(document, starts=(replace(first, samples=samples), *others))
    comparison = compare.compare(document)
    index = a_site([(document, comparison)], tmp_path)
    page = a_page(index, f"oltp_point_select-t1-{builders.HEAD}")
    key = re.search(r'<dl class="key">(.*?)</dl>', page.read_text("utf-8"), re.DOTALL)
    assert key is not None
    box = re.findall(r'<dd>([^<]*).*?"than">(?:base )?([^<]*)', key[1])
    found = {row[0]: row[1:] for row in rows_in(tables(page)[METRICS])}
    base, head = (
        [each[at] for each in (found["95 % latency, ms"], found["server CPU, µs"])] for at in (0, 1)
    )
    assert [each[0] for each in box[1:3]] == head
    assert [each[1] for each in box[1:3]] == base
    assert any("starts, also those that all other figures leave out" in caption for caption in tables(page))
    latency = {row[0]: row[1:3] for row in rows_in(tables(page)["Transaction latency, milliseconds"])}
    assert [*latency["95 %"]] == [base[0], head[0]]
    assert box[3][0].split()[0] == str(len(comparison.cells[1].per_start)) == "4"
    row = [*map(text_of, run_answer.table(comparison.cells[1:]).rows[0])]
    _, fields = csv_rows(page.with_name("index.csv"))
    assert [row[2], row[3]] == [box[0][1], box[0][0]]
    assert [figures.throughput(float(fields[name])) for name in ("base_tps", "tps")] == [*row[2:4]]
    assert Document(page.read_text("utf-8")).text.count("excluded from the verdict and its figures") == 1


def test_what_cannot_be_seen_is_said_and_not_zero(tmp_path: Path) -> None:
    hidden = ("context_switches", "write_bytes")

    def unseen(samples: Samples) -> Samples:
        if samples.server != builders.BASE:
            return samples
        left = {name: value for name, value in samples.counters.items() if name not in hidden}
        return replace(samples, server_cpu_s=None, counters=left)

    document = with_samples(compared()[0], unseen)
    index = a_site([(document, compare.compare(document))], tmp_path)
    head = a_page(index, f"oltp_point_select-t1-{builders.HEAD}").read_text()
    assert '<dd class="than">base not visible</dd>' in head
    (row,) = re.findall(r"<tr><th scope=\"row\">context_<wbr>switches</th>(.*?)</tr>", head, re.DOTALL)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert cells[0] == "not visible"
    assert cells[1] != "not visible"
    assert cells[2] == figures.NONE  # it is not new there


def test_counters_of_any_size_are_shown() -> None:
    """Counters of old documents may have gone back."""
    values = {builders.BASE: -0.5, builders.HEAD: 0.0}
    document = with_samples(compared()[0], lambda s: replace(s, counters={"pending": values[s.server]}))
    pages = rendered(Run(document, compare.compare(document)))
    assert sum("pending" in text for name, text in pages.items() if name.endswith(".html")) == 1


def test_the_load_is_said_and_measured_again(tmp_path: Path) -> None:
    header = builders.a_header(workloads=("oltp_read_only", "oltp_point_select"), threads=(1,))
    load = Load(protocol="prepared", reconnect=True)
    options = {"range_size": 10}
    profile = replace(header.profile, load=load, options=options)
    header = replace(
        header,
        profile=profile,
        given={
            "--profile": "quick", "--servers": "x,y", "--threads": "1,2", "--option": "range_size=10",
            "--protocol": "prepared", "--reconnect": "", "--port": "2000",
        },
        workloads=(
            builders.a_record("oltp_read_only", protocol="prepared", options=options),
            builders.a_record("oltp_point_select", protocol="prepared", written="my dir/points.toml"),
        ),
    )  # fmt: skip
    a_site([builders.a_result(builders.a_run(header, failing=False))], tmp_path)
    said = "prepared statements, lost connections reopened"
    assert f"{said}, range_size = 10" in (tmp_path / "index.html").read_text()
    (reads,) = tmp_path.glob("runs/*/oltp_read_only-t1-mysql-8*.html")
    (points,) = tmp_path.glob("runs/*/oltp_point_select-t1-mysql-8*.html")
    assert f'<p class="eyebrow">{said}, range_size = 10</p>' in reads.read_text()
    assert f'<p class="eyebrow">{said}</p>' in points.read_text()
    sets = " --set load.protocol=prepared --set load.reconnect=true"
    command = "--workloads {} --threads 1 --seed 20261120{}" + sets
    assert (
        command.format("oltp_read_only", " --set options.range_size=10") in Document(reads.read_text()).text
    )
    assert command.format("'my dir/points.toml'", "") in Document(points.read_text()).text


def test_warnings_of_the_machine_stand_on_the_overview_only(built: Path) -> None:
    words = "of CPU time was stolen"
    cell = a_page(built, "oltp_read_write-t1-mysql-8").read_text("utf-8")
    assert words not in cell
    assert 'index.html#warnings">1 more about the machine' in cell
    assert words in built.read_text("utf-8")


def test_a_drift_that_noise_hides_is_not_called_steady() -> None:
    steady = replace(builders.a_samples(), steady=True, drift=0.02)
    ends = [replace(steady, drift=0.237), replace(steady, drift=-0.237), replace(steady, steady=False)]
    assert [cell_answer.settled(each) for each in (steady, *ends)] == [
        "steady", "too noisy to tell", "too noisy to tell", "not steady",
    ]  # fmt: skip


def test_starts_that_are_missing_or_confirm_are_explained() -> None:
    """Two starts of one cell, and two of twenty later ones that confirm its change."""
    document, _ = compared()
    later = {3: 20, 4: 21}
    starts = tuple(
        replace(start, start=later.get(start.start, start.start), confirming=start.start in later)
        for start in document.starts
        if start.start <= 4
    )
    for made, said in ((starts, True), (document.starts, False)):
        run = Run(run_of := replace(document, starts=made), compare.compare(run_of))
        text = Document(rendered(run)[f"{site.cell_stem(run.comparison.cells[1].cell)}.html"]).text
        assert ("Made to confirm the change: 20, 21." in text) is said
        assert ("those not listed measured other cells" in text) is said
