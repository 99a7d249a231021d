"""The site of many runs: history, feeds, badges, runners, the archive; and what is made again."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace

from shootout.analysis import history
from shootout.model.history import LedgerEntry
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, Interval, JudgedMetric, Verdict
from shootout.report import judgement_cache, site
from shootout.report.judgement_cache import Judged
from shootout.report.site import archive, feeds, incremental, runner
from shootout.report.site import compare as compare_page
from shootout.report.site import history as history_pages
from tests import builders

ATOM = "{http://www.w3.org/2005/Atom}"
FIRST = datetime(2026, 1, 3, 2, 41, tzinfo=UTC)
REGRESSED_AT = 14  # the week from which on the second workload is slower


@cache
def a_document() -> RunDocument:
    header = builders.a_header(workloads=("oltp_point_select", "oltp_read_only"), threads=(1, 8))
    return builders.a_run(header, failing=False)


def a_week(number: int, drop: float = 0.08, fingerprint: str = "5e7c0f2a91d4") -> Judged:
    """A run whose second workload is slower from REGRESSED_AT on, and whose A/A cells say so once."""
    document = a_document()
    started = FIRST + timedelta(weeks=number)
    header = replace(
        document.header,
        run=f"{started:%Y%m%dT%H%M%SZ}-{number:04x}",
        started=started.isoformat(),
        runner=replace(document.header.runner, fingerprint=fingerprint),
    )
    document = replace(document, header=header)
    comparison = builders.a_comparison(document)
    dice = random.Random(number)
    cells = []
    for cell in comparison.cells:
        if cell.cell == cell.base:
            cells.append(cell)
            continue
        slower = number >= REGRESSED_AT and cell.cell.workload == "oltp_read_only"
        level = (1 - drop if slower else 1.0) * (1 + dice.gauss(0, 0.003))
        ratio = Interval(estimate=level, low=level - 0.01, high=level + 0.01)
        verdict = Verdict.REGRESSED if slower else Verdict.EQUIVALENT
        judged = JudgedMetric(
            metric="throughput", verdict=verdict, ratio=ratio, p_value=0.001, margin=0.02, spread=0.004,
            floor=None, detectable=0.02, confirmed=None,
        )  # fmt: skip
        cells.append(replace(cell, ratio=ratio, verdict=verdict, judged=(judged,), reason="as measured"))
    aa_control = replace(
        cells[1], cell=replace(cells[1].cell, server=f"{builders.BASE} again"), per_start=(1.0, 1.004),
        verdict=Verdict.REGRESSED if number == 3 else Verdict.EQUIVALENT,
    )  # fmt: skip
    return judgement_cache.held(document, replace(comparison, cells=tuple(cells), aa_controls=(aa_control,)))


@pytest.fixture(scope="module")
def weeks() -> list[Judged]:
    return [a_week(number) for number in range(20)]


@pytest.fixture(scope="module")
def known() -> Acknowledgement:
    return Acknowledgement(
        workload="oltp_read_only", server="*", threads=8, at_most=0.1, expires=date(2027, 1, 1), owner="ann",
        reason="the safer default",
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(weeks: list[Judged], known: Acknowledgement, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.update(weeks, tmp_path_factory.mktemp("weeks"), [known]).parent


def bytes_of(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def entries_of(path: Path) -> list[ElementTree.Element]:
    return ElementTree.parse(path).getroot().findall(f"{ATOM}entry")


# --- history --------------------------------------------------------------------------------------


def test_history_says_what_changed_when_and_who_knows(built: Path, weeks: list[Judged]) -> None:
    text = " ".join((built / "history.html").read_text("utf-8").split())
    assert "2 changes of level in 20 runs: 2 for the worse, 1 of them acknowledged" in text
    assert text.count('<tr class="regressed">') == 2
    assert f'href="runs/{weeks[REGRESSED_AT].id}/index.html">11 Apr 2026</a>' in text
    assert f'href="runs/{weeks[REGRESSED_AT - 1].id}/index.html"' in text
    assert "by ann until 2027-01-01 <small>the safer default</small>" in text
    (page,) = built.glob("history/oltp_read_only*.html")
    series = page.read_text("utf-8")
    assert series.count("confirmed; acknowledged by ann until 2027-01-01: the safer default") == 1
    assert series.count("since <a") == 2
    assert series.count("All 20 runs as a table") == 2


def test_an_acknowledgement_that_is_over_or_too_small_marks_no_change(
    weeks: list[Judged], known: Acknowledgement
) -> None:
    series = history.series(run.gist for run in weeks)
    newest = weeks[-1].gist.header.started
    for changed, marked in (
        (known, 1),
        (replace(known, threads=None), 2),
        (replace(known, at_most=0.05), 0),
        (replace(known, expires=date(2026, 1, 1)), 0),
        (replace(known, server="mariadb-*"), 0),
    ):
        found = history_pages.changes(series, [changed], newest)
        assert sum(change.acknowledged is not None for change in found) == marked


def test_every_point_is_in_the_files_for_machines(built: Path, weeks: list[Judged]) -> None:
    pages = list(built.glob("history/*.csv"))
    rows = [row for page in pages for row in rows_of(page)]
    assert len(rows) == 20 * 4
    assert {row["run"] for row in rows} == {run.id for run in weeks}
    found = rows_of(built / "history.csv")
    assert [row["first_bad"] for row in found] == [weeks[REGRESSED_AT].id] * 2
    assert sorted(row["acknowledged"] for row in found) == ["False", "True"]
    index = msgspec.json.decode((built / "history.json").read_bytes())
    assert len(index["changes"]) == 2
    assert {str(Path(page).stem) for page in index["pages"]} == {page.stem for page in pages}


def test_a_runs_pages_say_what_history_knew_then(built: Path, weeks: list[Judged]) -> None:
    first = f'run <a href="../../runs/{weeks[REGRESSED_AT].id}/index.html">'
    for week, since in ((REGRESSED_AT, "suspected since"), (19, "since")):
        (page,) = (built / "runs" / weeks[week].id).glob(f"oltp_read_only-t8-{builders.HEAD}*.html")
        assert f"<li>{since} {first}" in page.read_text("utf-8")


# --- feed, badges, index --------------------------------------------------------------------------


def test_a_regression_is_one_entry_however_many_runs_have_it(built: Path, weeks: list[Judged]) -> None:
    entries = entries_of(built / "feed.xml")
    kinds = [str(entry.find(f"{ATOM}category").get("term")) for entry in entries]  # type: ignore[union-attr]
    assert sorted(kinds) == ["change", "change", "verdict", "verdict"]
    for entry in entries:
        assert entry.findtext(f"{ATOM}updated") == weeks[REGRESSED_AT].gist.header.started
        link = entry.find(f"{ATOM}link")
        assert link is not None
        place, _, anchor = str(link.get("href")).partition("#")
        assert (built / place).is_file()
        assert not anchor or f'id="{anchor}"' in (built / place).read_text("utf-8")


def test_entries_keep_their_ids_when_runs_are_added(weeks: list[Judged]) -> None:
    def ids(runs: Sequence[Judged]) -> set[str]:
        changes = history_pages.changes(history.series(run.gist for run in runs), (), FIRST.isoformat())
        found = feeds.entries(runs, changes, archive.whole(runs))
        assert len({entry.id for entry in found}) == len(found)
        return {entry.id for entry in found}

    assert ids(weeks[:18]) == ids(weeks)


def test_a_regression_that_was_mended_and_comes_back_is_news(weeks: list[Judged]) -> None:
    def verdicts(*drops: float) -> list[Judged]:
        return [a_week(REGRESSED_AT + number, drop) for number, drop in enumerate(drops)]

    def mended(run: Judged, verdict: Verdict) -> Judged:
        verdicts = tuple(verdict if each is Verdict.REGRESSED else each for each in run.outline.said.verdicts)
        said = replace(run.outline.said, verdicts=verdicts, regressed={})
        return dataclasses.replace(run, outline=replace(run.outline, said=said))

    first, second, third = verdicts(0.08, 0.08, 0.08)
    for verdict, count in ((Verdict.EQUIVALENT, 4), (Verdict.INCONCLUSIVE, 2), (Verdict.FAILED, 2)):
        assert len(feeds.entries([first, mended(second, verdict), third], (), frozenset())) == count


@pytest.mark.parametrize(("week", "said"), [(2, "no regression"), (REGRESSED_AT, "▼ 2 of 4 regressed")])
def test_a_badge_says_the_worst(week: int, said: str) -> None:
    run = a_week(week)
    assert feeds.badge(run.gist).said == said
    assert feeds.badge(run.gist, builders.HEAD).subject == builders.HEAD


def test_badges_are_pictures_that_can_be_read_aloud(built: Path) -> None:
    for path in (built / "badge.svg", built / f"badge-{builders.HEAD}.svg"):
        root = ElementTree.parse(path).getroot()
        assert root.get("role") == "img"
        assert "▼ 2 of 4 regressed" in str(root.get("aria-label"))


def test_the_index_leads_to_everything(built: Path, weeks: list[Judged]) -> None:
    index = msgspec.json.decode((built / "index.json").read_bytes())
    assert index["newest"] == weeks[-1].id
    assert [run["run"] for run in index["runs"]] == [run.id for run in reversed(weeks)]
    places = [index[name] for name in ("history", "feed", "badge", "published")]
    places += [each["page"] for each in index["runners"]]
    places += [run[name] for run in index["runs"] for name in ("page", "cells", "csv", "badge")]
    assert all((built / place).is_file() for place in places)
    assert index["runs"][0]["verdicts"]["regressed"] == 2
    assert [row["run"] for row in rows_of(built / "runs" / "index.csv")] == [
        run["run"] for run in index["runs"]
    ]


def test_every_page_has_its_json_and_csv(built: Path) -> None:
    for page in built.rglob("*.html"):
        if page.name not in ("how-to-read.html", "cells.html"):
            assert page.with_suffix(".csv").is_file(), page
            msgspec.json.decode(page.with_suffix(".json").read_bytes())


# --- runners --------------------------------------------------------------------------------------


def test_a_runners_page_has_its_noise_and_its_false_alarms(built: Path) -> None:
    text = " ".join((built / "runner-5e7c0f2a91d4.html").read_text("utf-8").split())
    assert "it called 1 of 20 A/A cells changed: a false alarm in 0.9 % to 23.6 % of cells" in text
    assert "4.2 % of CPU time was stolen by other guests while measuring." in text
    assert "What it measured" in text
    assert "noise floor" in text
    rows = rows_of(built / "runner-5e7c0f2a91d4.csv")
    assert [row["verdict"] for row in rows].count("regressed") == 1
    assert len(rows) == 20


@pytest.mark.parametrize(
    ("threads", "said"),
    [
        ([], []),
        ([1], ["quietest: w, 1 thread"]),
        ([1, 8], ["quietest: w, 1 thread", "noisiest: w, 8 threads"]),
        (
            [1, 2, 4, 8, 16],
            ["quietest: w, 1 thread", "middle: w, 4 threads", "noisiest: w, 16 threads"],
        ),
    ],
)
def test_power_is_drawn_of_kinds_that_differ(
    weeks: list[Judged], threads: list[int], said: list[str]
) -> None:
    entries = tuple(
        LedgerEntry(
            run=str(start), runner="5e7c0f2a91d4", workload="w", dataset="d", threads=count, starts=6,
            verdict=Verdict.EQUIVALENT, spreads={"throughput": count / 1000},
        )
        for count in threads
        for start in (1, 2)
    )  # fmt: skip
    run = dataclasses.replace(weeks[0], outline=replace(weeks[0].outline, entries=entries))
    (page,) = runner.pages([run])
    assert [look.label for look in page.looks] == said
    assert (page.power is None) == (not threads)
    for kind in page.kinds:  # two thirds of what a change must rise above, by the rule of judge.py
        bar = 1.96 * kind.noise.spread / math.sqrt(6)
        assert kind.floor == pytest.approx(1 - math.exp(-bar), rel=1e-3)


def test_runners_are_apart(weeks: list[Judged], tmp_path: Path) -> None:
    other = a_week(30, fingerprint="another")
    assert [page.path for page in runner.pages([other, *weeks[::-1]])] == [
        "runner-another.html", "runner-5e7c0f2a91d4.html",
    ]  # fmt: skip
    page = compare_page.ComparePage(runs=(other, *weeks[::-1]), whole=frozenset(), others=())
    assert page.before is None
    assert page.steps == ()


# --- the archive ----------------------------------------------------------------------------------


def test_old_runs_are_in_the_archive_and_the_newest_of_each_runner_is_not(
    weeks: list[Judged], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(archive, "CELLS_MAX", 2 * 8)
    other = a_week(-1, fingerprint="another")
    runs = [*weeks[-4:], other]
    assert archive.whole([*weeks[:-5:-1], other]) == {weeks[-1].id, weeks[-2].id, other.id}
    out = site.update(runs, tmp_path).parent
    old = out / "runs" / weeks[-3].id
    assert sorted(path.name for path in old.iterdir()) == [
        "badge.svg", "index.csv", "index.html", "index.json", "ratios.js",
    ]  # fmt: skip
    text = " ".join((old / "index.html").read_text("utf-8").split())
    assert "This run is in the archive" in text
    assert text.count('class="badge regressed"') == 2
    assert "mysql-8.0.12 is slower than mysql-5.7.22 in 2 of 4 cells" in text
    for entry in entries_of(out / "feed.xml"):
        link = entry.find(f"{ATOM}link")
        assert link is not None
        place, _, anchor = str(link.get("href")).partition("#")
        assert anchor in (out / place).read_text("utf-8")


def test_an_update_gives_the_same_as_a_whole_build(
    weeks: list[Judged], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(archive, "CELLS_MAX", 2 * 8)
    for count in (16, 17, 20):
        site.update(weeks[:count], tmp_path / "updated")
    site.update(weeks[:20], tmp_path / "whole")
    assert bytes_of(tmp_path / "updated") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("count", [12, REGRESSED_AT + 1, REGRESSED_AT + 3])
def test_only_what_is_new_is_written(weeks: list[Judged], count: int, tmp_path: Path) -> None:
    site.update(weeks[:count], tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    site.update(weeks[:count], tmp_path)
    site.update(weeks[: count + 1], tmp_path)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    changed = {str(path.relative_to(tmp_path)) for path in before if before[path] != after[path]}
    # Nothing of an old run; what is about all runs, and only that.
    assert not [place for place in changed if place.startswith("runs/20")]
    assert {"index.html", "history.html", "runs/index.html", incremental.RECORD} <= changed
    assert "how-to-read.html" not in changed


def test_a_removed_run_leaves_nothing_behind(weeks: list[Judged], tmp_path: Path) -> None:
    site.update(weeks[:3], tmp_path)
    site.update(weeks[1:3], tmp_path)
    assert not (tmp_path / "runs" / weeks[0].id).exists()
    assert weeks[0].id not in (tmp_path / "runs" / "index.html").read_text("utf-8")
