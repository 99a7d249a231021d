"""Pages for tests to read, as files and in Chromium."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from shootout.analysis import compare
from shootout.model.run import RunDocument
from shootout.model.verdict import Comparison
from shootout.report import judged_runs, site
from shootout.report.site import publish
from shootout.report.site.render import renderer
from shootout.report.site.run import Run
from tests.support import builders

VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}


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


def compared(
    threads: Sequence[int] = (1,),
    servers: Sequence[str] = (builders.BASE, builders.HEAD),
    workload: str = "oltp_point_select",
    **changes: object,
) -> tuple[RunDocument, Comparison]:
    """A run of one workload without failures, as it is judged; `changes` of its header."""
    document = builders.a_run(builders.a_header(servers, [workload], threads, **changes), failing=False)
    return document, compare.compare(document)


def a_site(results: Sequence[tuple[RunDocument, Comparison]], out: Path) -> Path:
    """The index page of a site of these runs."""
    return site.build([judged_runs.in_memory(*result) for result in results], out)


def pages(index: Path) -> list[Path]:
    return sorted(index.parent.rglob("*.html"))


def a_page(index: Path, start: str) -> Path:
    (page,) = (index.parent / "runs" / "20261120T024100Z-7f3a").glob(f"{start}*.html")
    return page


def tables(page: Path) -> dict[str, str]:
    """A page's tables, by their captions."""
    every = re.findall(r"<table.*?</table>", page.read_text("utf-8"), flags=re.DOTALL)
    captions = [re.search(r"<caption.*?</caption>", table, flags=re.DOTALL) for table in every]
    return {
        Document(caption[0]).text: table for caption, table in zip(captions, every, strict=True) if caption
    }


def rows_in(table: str) -> list[list[str]]:
    """The visible text of a table's body, row by row."""
    return [
        [Document(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.DOTALL)]
        for row in re.findall(r"<tr.*?</tr>", table, flags=re.DOTALL)[1:]
    ]


FIELD = re.compile(r'<td class="num"([^>]*)>(.*?)</td>', re.DOTALL)


def check_figures(text: str) -> None:
    """Check that fields of tables that sort carry a number if they have a figure, and none otherwise."""
    tables = "".join(re.findall(r'<table class="sortable.*?</table>', text, re.DOTALL))
    fields = [(attributes, Document(shown).text) for attributes, shown in FIELD.findall(tables)]
    assert fields
    for attributes, shown in fields:
        if not shown.startswith(("error", "new")):
            assert ("data-value" in attributes) == bool(re.search(r"\d", shown)), (attributes, shown)


def check_links(out: Path) -> None:
    """Check that every link of every page leads to a place that is there, and inside the site."""
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


def rendered(run: Run) -> dict[str, str]:
    """The pages of a run, by their places in its folder."""
    files = (file for page in publish.run_pages(run) for file in page.files(renderer()))
    return {path.removeprefix(f"{run.folder}/"): str(text) for path, text in files}


def csv_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


ATOM = "{http://www.w3.org/2005/Atom}"


def entries_of(path: Path) -> list[ElementTree.Element]:
    return ElementTree.parse(path).getroot().findall(f"{ATOM}entry")


def check_entry_link(entry: ElementTree.Element, out: Path) -> None:
    """Check that it leads to a place that is there."""
    link = entry.find(f"{ATOM}link")
    assert link is not None
    place, _, anchor = str(link.get("href")).partition("#")
    text = (out / place).read_text("utf-8")
    assert not anchor or f'id="{anchor}"' in text
