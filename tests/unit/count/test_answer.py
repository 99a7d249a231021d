"""The answer to a count, as it was approved, and its pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shootout import app
from shootout.answer import Answer, joined
from shootout.count import judge
from shootout.count.answer import answer, history
from shootout.count.documents import COUNTS
from shootout.count.values import CountDocument, CountFailure
from shootout.document import journal
from shootout.writers import markdown
from tests.support import builders, goldens
from tests.support.count.builders import BASE, by_version, document, times
from tests.support.report.site.pages import Document, check_figures, pages
from tests.support.screen import answered

GOLDEN = Path(__file__).parent / "golden" / "answer.txt"
FAILURES = (
    CountFailure(server="gone", workload="", reason="<b>it crashed</b>"),
    CountFailure(server="base", workload="w", kind="window", reason="near 'OVER'", lacks=True),
    CountFailure(server="base", workload="w", kind="update", reason="too long"),
    *(CountFailure(server="head", workload="w", kind=kind, reason="no", lacks=True) for kind in ("a", "b")),
)
TWO = document({"base": BASE, "head": times(1.1), "gone": {}}, FAILURES)
HALF = {kind: values[:2] for kind, values in BASE.items()}
ALONE = document({"alone": HALF}, run="20261123T100000Z-000002")

AGAIN = document({"base": times(2.0)}, run="20261122T100000Z-000003")
MANY = document({"base": BASE, **{f"head{number}": times(1.1) for number in range(3)}}, run="many")
UNCOUNTED = document({"base": {}, "head": BASE}, run="uncounted")


def test_it_is_as_it_was_approved(tmp_path: Path) -> None:
    judged = [judge.compare(each) for each in (TWO, ALONE, MANY, UNCOUNTED, by_version())]
    every = [answered(answer(each), 1000) for each in judged]
    again = judge.history(map(judge.compare, (TWO, AGAIN)))
    every.append(answered(Answer("", "history", joined([history(again)])), 1000))
    goldens.check("".join(every), GOLDEN, tmp_path)


def test_markdown_is_escaped() -> None:
    text = markdown.write(answer(judge.compare(TWO)))
    assert "\\<b>it crashed" in text


def built(counted: Sequence[CountDocument], folder: Path, *, run: bool = True) -> Path:
    """The index of a site of these counts, and of a run."""
    results = folder / "results"
    for each in counted:
        COUNTS.write(results, each.run, each)
    if run:
        (results / "run.jsonl").write_bytes(journal.encoded(builders.a_run()))
    return app.publish(results, folder / "site", (), pytest.fail)


def test_every_count_has_a_page_and_links_lead_somewhere(tmp_path: Path) -> None:
    run = builders.a_run()
    timed = document(
        dict.fromkeys((server.label for server in run.header.servers), BASE), run="timed",
        workload="oltp_read_write",
    )  # fmt: skip
    every = [TWO, ALONE, AGAIN, by_version("versions"), timed]
    index = built(every, tmp_path)
    of_counts = {path.name: path.read_text("utf-8") for path in pages(index) if path.parent.name == "count"}
    assert of_counts.keys() == {"index.html", *(f"{each.run}.html" for each in every)}
    for text in of_counts.values():
        page = Document(text)
        assert page.open == []
        for link in page.links:
            target = index.parent / "count" / link.partition("#")[0]
            assert target.exists() or link.startswith(("#", "data:")), link
    check_figures(of_counts[f"{TWO.run}.html"])
    assert "another plan" in of_counts["versions.html"]
    assert "Over time" in of_counts["index.html"]


def test_a_site_without_runs_has_counts_only(tmp_path: Path) -> None:
    index = built([TWO], tmp_path, run=False)
    found = {str(path.relative_to(index.parent)) for path in pages(index)}
    assert found == {"index.html", "count/index.html", f"count/{TWO.run}.html"}
    assert f"count/{TWO.run}.html" in Document(index.read_text("utf-8")).links
