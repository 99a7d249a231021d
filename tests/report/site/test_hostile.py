"""Names and messages that want to be more than text, through documents into everything that comes out."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser
from rich.console import Console

from shootout import cli
from shootout.analysis import compare
from shootout.document import journal
from shootout.model.run import FailureRecord, RunDocument, Warning
from shootout.report import characters, lines, terminal
from shootout.report.github import markdown
from shootout.report.site import downloads
from tests import builders
from tests.report.site.pages import Document, opened, with_samples

pytestmark = pytest.mark.slow

HOSTILE = (
    """</script><script>alert(1)</script><svg onload=alert(2)><img src=x onerror=alert(3)>'"`${7*7}{{7*7}}"""
    """<!--\x1b[31mred\x1b[0m\u202egnp.exe\u2066\x00&amp;%{x}%{fullData.name}|*md*"""
)
FORMULA = '=HYPERLINK("http://example.org";"x")'
LONG = "x" * 1_000_000
NASTY = f"{FORMULA}{HOSTILE}]]>\ufffe\u2028\u0085\n| a | b |\n# [x](http://example.org) @somebody"
ACTING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe]")


def hostile_result() -> RunDocument:
    base, head = f"a{HOSTILE}", f"b/../../etc#1?x:{HOSTILE}"
    plain = builders.a_header([base, head], workloads=[f"w{HOSTILE}"], threads=[1, 8], run=f"r{HOSTILE}")
    warning = Warning(code=HOSTILE, text=HOSTILE)
    servers = tuple(
        builders.a_server(
            label, reference=HOSTILE, version=HOSTILE, comment=HOSTILE, build=HOSTILE,
            settings_name=HOSTILE, checksum=HOSTILE, warnings=(warning,),
            settings=tuple(
                replace(
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
    profile = replace(plain.profile, description=HOSTILE)
    header = replace(
        plain, servers=servers, runner=runner, profile=profile, started=HOSTILE, shootout=HOSTILE
    )
    document = builders.a_run(header)
    document = with_samples(
        document,
        lambda s: replace(s, errors={HOSTILE: 1}, counters={HOSTILE: 7.0}, statements={HOSTILE: s.latencies}),
    )
    failures = tuple(replace(f, reason=f"{HOSTILE}\n{HOSTILE}") for f in document.failures)
    return replace(document, failures=failures)


def hostile_documents() -> list[RunDocument]:
    """Five runs with names of each kind, one of them endless; the last of them has measured nothing."""
    first = hostile_result()
    runner = replace(first.header.runner, fingerprint="5e7c0f2a91d4")  # a hostile one is refused: test_ledger
    documents = []
    for number in range(3):
        header = replace(first.header, run=f"2026112{number}-{HOSTILE}", profile_name=NASTY, runner=runner)
        documents.append(replace(first, header=header))
    plain = builders.a_header(
        [NASTY, LONG], workloads=["oltp_point_select", FORMULA], threads=[1], run="20261125T024100Z-7f3a"
    )
    documents.append(builders.a_run(replace(plain, profile_name=LONG)))
    failures = tuple(
        FailureRecord(cell=cell, start=1, reason=f"{NASTY}{LONG}")
        for block in plain.blocks
        for cell in block.cells
    )
    header = replace(plain, run="20261126T024100Z-7f3a")
    documents.append(RunDocument(header=header, starts=(), failures=failures, end=None))
    return documents


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for number, read in enumerate(hostile_documents()):
        (folder / f"{number}.jsonl").write_bytes(journal.encoded(read))
    return folder


@pytest.fixture(scope="module")
def built(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert cli.main(["site", "--results", str(results), "--out", str(out), "--json"]) == 0
    return out


def files(out: Path, ending: str) -> Iterator[Path]:
    paths = sorted(out.rglob(f"*.{ending}"))
    assert paths
    yield from paths


def of_hostile_run(out: Path) -> list[Path]:
    """The pages of a run whose every text is hostile: its own three, of workloads, servers, judged cells."""
    pages = [*out.glob("runs/20261120-*/*.html")]
    assert len(pages) == 3 + 1 + 2 + 2
    return pages


def test_pages_have_no_element_that_is_not_ours(built: Path) -> None:
    for page in files(built, "html"):
        assert page.stat().st_size < 2_000_000, page
        text = page.read_text("utf-8")
        read = Document(text)
        assert read.open == [], page
        assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
        assert {"img", "iframe", "object", "form", "base"}.isdisjoint(tag for tag, _ in read.tags)
        sources = [attributes for tag, attributes in read.tags if tag == "script"]
        assert all("src" in script or script.get("type") == "application/json" for script in sources)
        links = [value for _, attributes in read.tags if (value := attributes.get("href"))]
        assert not [link for link in links if link.startswith(("http", "javascript", "//"))]
        assert not ACTING.search(text), page


def test_hostile_text_stays_text(built: Path) -> None:
    for page in of_hostile_run(built):
        text = Document(page.read_text("utf-8")).text
        assert "<script>alert(1)</script>" in text  # shown, letter by letter
        assert "␛[31mred" in text


def test_data_can_be_read_and_calculates_nothing(built: Path) -> None:
    for path in files(built, "json"):
        json.loads(path.read_bytes())
    for path in files(built, "csv"):
        text = path.read_text("utf-8", errors="strict")
        assert not ACTING.search(text), path
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert {len(row) for row in rows} == {len(rows[0])}, path
        numbers = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
        for row in rows[1:]:
            for field in row:
                assert not field.startswith(downloads.FORMULA) or numbers.fullmatch(field), path


def test_feed_and_badges_are_whole_documents_of_xml(built: Path) -> None:
    for path in (built / "feed.xml", *files(built, "svg")):
        text = path.read_text("utf-8")
        assert not ACTING.search(text)
        root = ElementTree.fromstring(text)
        assert not [element for element in root.iter() if element.tag.endswith("script")]
        assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
        assert len(text) < 200_000 or path.name == "feed.xml"


# Code that its text cannot close, and what folds lines.
OURS = re.compile(
    r"^(`{3,})$.*?^\1$|(?<!`)(`+) [^\n]*? \2(?!`)|^</?details>|<summary>|</summary>$",
    re.MULTILINE | re.DOTALL,
)


def test_markdown_has_no_markup_but_ours(results: Path) -> None:
    for path in journal.find(results):
        text = markdown.summary(compare.compare(journal.read(path)))
        assert len(text) < 1_000_000
        assert not ACTING.search(text)
        lines_of = OURS.sub("", text).splitlines()
        for line in lines_of:
            assert not re.search(r"<|\]\(|@[a-z]|`|!\[", line.removeprefix("- ")), line[:200]
        # Of nine columns; one head has none for itself.
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines_of if line.startswith("|")}
        assert bars in ({9}, {10})


def test_the_terminal_obeys_nobody(results: Path) -> None:
    for path in journal.find(results):
        screen = io.StringIO()
        comparison = compare.compare(journal.read(path))
        terminal.show(Console(file=screen, width=200, force_terminal=True), lines.verdicts(comparison))
        # The colours are the console's own; nothing else of the kind is left.
        text = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
        assert not ACTING.search(text)
        assert "␛[31mred" in text or LONG[:50] in text


def test_an_endless_text_has_an_end() -> None:
    assert characters.visible(LONG).endswith("… and 980\u202f000 more characters")
    assert characters.visible("short") == "short"


@pytest.mark.browser
def test_nothing_runs_in_a_browser(built: Path, chromium: Browser) -> None:
    lists = (built / "history.html", built / "index.html", built / "runs/index.html")
    for page in (*lists, *of_hostile_run(built)):
        tab, faults = opened(chromium, page, width=390)
        assert faults == []
        assert tab.locator("svg[onload], img, main script:not([type])").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.close()
