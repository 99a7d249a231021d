"""The answer of a cell, as it was approved, and its page."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from shootout.analysis import compare
from shootout.document import journal
from shootout.report.site import cell_answer
from shootout.report.site.cell import CellPage
from shootout.report.site.cell_answer import Evidence
from shootout.report.site.render import renderer
from shootout.report.site.run import Run
from tests.support import builders, goldens
from tests.support.report import audit
from tests.support.report.site.pages import Document, compared
from tests.support.screen import answered
from tests.unit.report.test_run_answer import RECORDED


def unsteady() -> Run:
    """In the first start the head was not steady, and both were a hundred times slower than later."""
    document, _ = compared()
    slow = builders.a_samples(tps=100.0)
    first, *others = document.starts
    samples = tuple(
        replace(slow, server=each.server, steady=each.server == builders.BASE) for each in first.samples
    )
    document = replace(document, starts=(replace(first, samples=samples), *others))
    return Run(document, compare.compare(document))


def every() -> dict[str, Evidence]:
    whole, recorded = builders.a_run(), journal.read(RECORDED)
    runs = {"a recorded regression": Run(recorded, compare.compare(recorded)), "a start left out": unsteady()}
    alone = builders.a_run(builders.a_header([builders.BASE], ["oltp_read_only"], [1]), failing=False)
    runs["a server alone"] = Run(alone, compare.compare(alone))
    found = {name: Evidence(run, run.comparison.cells[-1]) for name, run in runs.items()}
    run = Run(whole, compare.compare(whole))
    cells = {c.cell.name: c for c in run.comparison.cells}
    return found | {
        "errors and settings": Evidence(run, cells[f"oltp_read_write-t1-{builders.HEAD}"]),
        "a failure": Evidence(run, cells[f"oltp_read_write-t32-{builders.HEAD}"]),
        "equivalent": Evidence(run, cells[f"oltp_read_only-t32-{builders.HEAD}"]),
    }


def test_each_kind_is_as_it_was_approved(tmp_path: Path) -> None:
    text = "".join(f"== {name}\n{answered(cell_answer.answer(of), 1000)}\n" for name, of in every().items())
    goldens.check(text, Path(__file__).parent / "golden" / "cell.txt", tmp_path)


def test_its_page_has_every_topic_and_one_command_that_repeats_it() -> None:
    render = renderer()
    for name, of in every().items():
        page = CellPage(of.run, of.c)
        text = Document(page.html(render)).text
        assert [topic.title for _, topic in page.topics if topic.title not in text] == [], name
        assert text.count("shootout run --profile") == 1, name
        assert text.count(f"--seed {of.run.document.header.seed}") == 1, name


def test_a_cell_of_which_a_start_is_left_out_says_the_same_everywhere() -> None:
    run = unsteady()
    assert [*audit.contradictions(run.document, run.comparison)] == []
