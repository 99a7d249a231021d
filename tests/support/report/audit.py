"""Contradictions of a run: between its answer, Markdown, test report, JSON, CSV, badge and cells' pages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

import msgspec

from shootout.answer import Figure, Table, factor, text, throughput
from shootout.figures import counted
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, Comparison, Interval, Verdict
from shootout.numbers import SPACE
from shootout.report import headlines, run_answer, wording
from shootout.report.site import cell_answer, downloads, feeds
from shootout.report.site.cell import CellPage
from shootout.report.site.cell_answer import MEANS, Evidence
from shootout.report.site.run import Run
from shootout.writers import junit, markdown
from tests.support.end_to_end import printed

SAME = (  # of the box on a cell's page, and of the table below it
    ("95 % latency, ms", "95 % latency, ms"),
    ("server CPU, µs / transaction", "server CPU, µs"),
)


def contradictions(document: RunDocument, comparison: Comparison) -> Iterator[str]:
    """Contradictions in everything printed about a run."""
    run = Run(document, comparison)
    compared = [c for c in comparison.cells if c.cell != c.base and c.ratio and c.figures]
    yield from _quotients(comparison)
    yield from _files(run, compared)
    yield from _counts(run)
    for c in compared:
        yield from _starts(c)
        if c.causes:
            yield from printed.causes(wording.causes(c))
        if run.has_page(c):
            yield from _page(CellPage(run, c))


def _quotients(comparison: Comparison) -> Iterator[str]:
    """Throughputs that do not divide to their change, without a word of it; and the word without a need."""
    answer = run_answer.answer(comparison)
    said = any(run_answer.APART in topic.lines for topic in answer.topics)
    (table,) = [table for topic in answer.topics for table in topic.tables]
    apart = False
    for row in map(dict, ([*zip(table.columns, map(text, row), strict=True)] for row in table.rows)):
        if row.get("metric", "–") == "–":
            base, head, shown = (printed.number(row.get(name, "")) for name in ("base, tps", "tps", "change"))
            if base and head and shown and "×" not in row["change"]:
                apart = apart or not printed.quotient(head, base).agrees(shown)
    if apart and not said:
        yield "throughputs do not divide to the change, and nothing says why"


def _files(run: Run, compared: Sequence[CellComparison]) -> Iterator[str]:
    """Figures of CSV, JSON and Markdown that are not those of the answer's table."""
    files = {path.rpartition(".")[2]: content for path, content in downloads.of_run(run)}
    rows = {
        (row["workload"], row["threads"], row["server"]): row
        for row in csv.DictReader(io.StringIO(str(files["csv"])))
    }
    cells = {_key(c["cell"]): c for c in msgspec.json.decode(files["json"])["cells"]}
    lines = markdown.write(run_answer.answer(run.comparison)).splitlines()
    for c in compared:
        table = run_answer.table([c])
        expected = [text(value) for value in table.rows[0]]
        row, cell = rows[c.cell.workload, str(c.cell.threads), c.cell.server], cells[_key(_plain(c))]
        _, ratio = wording.decisive(c) or ("", None)
        assert ratio is not None
        for name, shown in _of(row, cell, ratio).items():
            if name in table.columns and expected[table.columns.index(name)] != shown:
                yield f"{c.cell.name}: {name} is {expected[table.columns.index(name)]} and {shown}"
        change = expected[table.columns.index("change")].replace(SPACE, " ")
        if not any(f"| {change} |" in line for line in lines):
            yield f"{c.cell.name}: {change} is not in Markdown"


def _plain(c: CellComparison) -> dict[str, object]:
    return {"workload": c.cell.workload, "threads": c.cell.threads, "server": c.cell.server}


def _key(cell: Mapping[str, object]) -> tuple[object, ...]:
    return (cell["workload"], cell["threads"], cell["server"])


def _of(row: Mapping[str, str], cell: Mapping[str, dict], ratio: Interval) -> dict[str, str]:  # type: ignore[type-arg]
    """The table's fields, written again from a line of CSV and a cell of JSON; empty where these differ."""
    numbers = {name: float(row[name]) for name in ("base_tps", "tps", "ratio", "ratio_low", "ratio_high")}
    same = numbers["tps"] == cell["figures"]["tps"]["estimate"] and numbers["ratio"] == ratio.estimate
    again = Interval(estimate=numbers["ratio"], low=numbers["ratio_low"], high=numbers["ratio_high"])
    return {
        "base, tps": str(throughput(numbers["base_tps"])),
        "tps": str(throughput(numbers["tps"])) if same else "other in JSON",
        "change": str(factor(again)),
        "interval": factor(again).range,
    }


def _counts(run: Run) -> Iterator[str]:
    """Numbers of cells that differ between headline, badge and test report."""
    comparison = run.comparison
    regressed = run.verdicts[Verdict.REGRESSED]
    if regressed and run.heads:
        expected = f"{regressed} of {counted(run.measured, 'cell')}"
        if expected not in headlines.overall(comparison).text:
            yield f"the headline does not say {expected}"
        if not feeds.badge(comparison)[0].endswith(f"{regressed} of {run.measured} regressed"):
            yield f"the badge does not say {regressed} of {run.measured}"
    report = ElementTree.fromstring(junit.write(run_answer.suite(run.document, comparison)))
    failed = {case.get("name") for case in report.iter("testcase") if case.find("failure") is not None}
    if len([*report.iter("testcase")]) != len(run.judged):
        yield "the test report has other cells than the run"
    if failed and not regressed + run.verdicts[Verdict.FAILED]:
        yield "the test report has failures that the run has not"


def _starts(c: CellComparison) -> Iterator[str]:
    """Figures of a cell that are of other starts than its verdict, or from another estimator."""
    assert c.figures is not None
    if c.per_start and not c.figures.starts == len(c.per_start) == (c.base_figures or c.figures).starts:
        yield f"{c.cell.name}: figures of {c.figures.starts} starts, a verdict of {len(c.per_start)}"
    if (told := re.search(r", in (\d+) starts?", c.reason)) and int(told[1]) != c.figures.starts:
        yield f"{c.cell.name}: {told[0]}, and figures of {c.figures.starts} starts"


def _page(page: CellPage) -> Iterator[str]:
    """Tables of a cell's page that do not divide, and figures of its box that are others below."""
    answer = cell_answer.answer(Evidence(page.run, page.comparison))
    tables = {table.caption: table for topic in answer.topics for table in topic.tables}
    said = {table.caption for topic in answer.topics if MEANS in topic.lines for table in topic.tables}
    for table in tables.values():
        columns, rows = table.columns, [[*map(text, row)] for row in table.rows]
        wrong = [*printed.divided(table.caption, columns, rows), *_invisible(table)]
        if table.caption not in said:
            yield from (f"{page.cell.name}: {each}" for each in wrong)
    box = {name: (value, than.removeprefix("base ")) for name, value, than in page.key}
    below = {row[0]: tuple(map(text, row[1:3])) for table in tables.values() for row in table.rows}
    for name, place in SAME:
        if place in below and box[name] != below[place][::-1]:
            yield f"{page.cell.name}: {name} is {box[name]} above, {below[place]} below"


def _invisible(table: Table) -> Iterator[str]:
    """Rows whose change is printed, beside figures that are printed alike."""
    for name, *fields in table.rows:
        for base, head, by in zip(fields, fields[1:], fields[2:], strict=False):
            if not (isinstance(base, Figure) and isinstance(head, Figure) and isinstance(by, Figure)):
                continue
            compared = by.form == "change" and base.form == head.form == "number"
            if compared and str(base) == str(head) and not str(by).startswith("0"):
                yield f"{table.caption}: {name} {base} → {head}, {by}"
