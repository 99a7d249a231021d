"""The recorded runs in the repository, and the site that `make demo-site` makes of them."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from msgspec import structs

from benchmarks.showcase import record, tables
from shootout import cli, numbers
from shootout.analysis import compare
from shootout.document import journal
from shootout.model.verdict import Interval
from shootout.paths import ROOT
from shootout.report import families, figures, judgement_cache
from shootout.report.judgement_cache import Whole

pytestmark = pytest.mark.slow

SIZE_MAX = 5_200_000  # bytes of all of them
REMEDY = "If it is meant: python -m benchmarks.showcase.tables"
FINDING = re.compile(r"([+−]?[\d.]+) % \(([+−]?[\d.]+ to [+−]?[\d.]+ %)\)")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "results"
    record.unpacked(folder)
    return folder


@pytest.fixture(scope="module")
def demo(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert cli.main(["site", "--results", str(results), "--out", str(out)]) == 0
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


def test_the_demo_lists_every_recorded_run(results: Path, demo: Path) -> None:
    listed = (demo / "runs" / "index.html").read_text("utf-8")
    assert all(f"runs/{path.stem}/index.html" in listed.replace("../", "") for path in journal.find(results))


def test_what_the_readme_shows_is_what_a_recorded_run_says(results: Path, demo: Path) -> None:
    assert demo.is_dir()
    readme = (ROOT / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"^ {4}(mysql-8\.0\.12 is slower than .*), …$", readme, flags=re.MULTILINE)
    said = [families.overall(judgement_cache.run(path).comparison).text for path in journal.find(results)]
    assert [each for each in said if each.replace(numbers.SPACE, " ").startswith(shown)], said


def test_the_tables_of_the_findings_are_the_runs_own(whole: Whole) -> None:
    text = tables.FINDINGS.read_text("utf-8")
    for picture in tables.PICTURES.values():
        assert f"]({picture})" in text
    for title, lines in tables.tables(whole).items():
        assert "\n".join(lines) in text, f"{title}. {REMEDY}"


def test_every_figure_of_the_findings_is_what_the_run_says(whole: Whole) -> None:
    """Of any two servers in a cell, either way round."""
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
