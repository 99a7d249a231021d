"""The site of a run measured in shards: each runner has a page with its part of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.analysis import compare
from shootout.document import journal
from shootout.inputs import matrix
from shootout.model.run import RunDocument, Warning
from shootout.report import judged_runs, site
from shootout.report.judged_runs import JudgedRun
from shootout.report.site import runner
from tests.support import builders
from tests.support.report.site.pages import Document, check_links, csv_rows
from tests.unit.document.test_merge import BLOCKS, HEAD, merged, saved

OWN = Warning(code="turbo", text="The clock of this one goes up and down.")
RUNNERS = (
    builders.a_runner(fingerprint="runner0"),
    builders.a_runner(fingerprint="runner1", cpu="Intel Xeon E5-2680", cpus=4, warnings=(OWN,)),
)


def of_shards(folder: Path, *numbers: int) -> RunDocument:
    """These of three shards; number 1 is the other runner's."""
    paths = [
        saved(folder / str(number), number, matrix.shard(BLOCKS, number + 1, 3), runner=RUNNERS[number % 2])
        for number in numbers
    ]
    return journal.read(merged(paths, folder / "out"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    return of_shards(tmp_path_factory.mktemp("merged"), 0, 1, 2)


@pytest.fixture(scope="module")
def judged(whole: RunDocument) -> JudgedRun:
    return judged_runs.in_memory(whole, compare.compare(whole))


@pytest.fixture(scope="module")
def built(judged: JudgedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build([judged], tmp_path_factory.mktemp("site")).parent


def text_of(page: Path) -> str:
    return Document(page.read_text("utf-8")).text


def test_each_runner_has_what_it_measured(judged: JudgedRun, whole: RunDocument) -> None:
    first, second = runner.pages([judged])
    assert [page.runner for page in (first, second)] == list(RUNNERS)
    ((mine,), (theirs,)) = first.shares, second.shares
    second_shard = matrix.shard(BLOCKS, 2, 3)
    assert {*theirs.machine.cells} == {cell for block in second_shard for cell in block.cells}
    assert len(mine.machine.cells) + len(theirs.machine.cells) == sum(len(block.cells) for block in BLOCKS)
    assert (mine.others, theirs.others) == ((theirs.machine,), (mine.machine,))
    assert [len(page.entries) for page in (first, second)] == [1, 0]  # the A/A cell of the first block
    assert second.runner.warnings == (OWN,)


def test_a_run_names_every_machine_and_its_part(built: Path, whole: RunDocument) -> None:
    for page in (built / "index.html", built / "runs" / whole.header.run / "index.html"):
        text = text_of(page)
        assert "Intel Xeon E5-2680 4 cells" in text
        assert f"{RUNNERS[0].cpu} 8 cells" in text
    assert "runner0, runner1" in text_of(built / "runs" / "index.html")
    assert "8 cells on runner0" in text_of(built / "runner-runner1.html")
    check_links(built)


def test_a_cell_has_the_machine_that_measured_it(built: Path, whole: RunDocument) -> None:
    folder = built / "runs" / whole.header.run
    for block in BLOCKS:
        mine = block in matrix.shard(BLOCKS, 2, 3)
        text = text_of(folder / f"{site.cell_stem(block.cell(HEAD))}.html")
        assert (f"Fingerprintrunner{int(mine)}" in text, RUNNERS[mine].cpu in text) == (True, True)
        assert RUNNERS[not mine].cpu not in text
    theirs = matrix.shard(BLOCKS, 2, 3)
    rows = csv_rows(folder / "index.csv")
    measured_by = {(row["workload"], int(row["threads"])): row["runner"] for row in rows}
    assert measured_by == {
        (block.workload, block.threads): f"runner{int(block in theirs)}" for block in BLOCKS
    }


def test_cells_of_a_lost_shard_are_no_runners(tmp_path: Path) -> None:
    document = of_shards(tmp_path, 0, 1)
    judged = judged_runs.in_memory(document, compare.compare(document))
    lost = [cell for block in matrix.shard(BLOCKS, 3, 3) for cell in block.cells]
    shares = [share for page in runner.pages([judged]) for share in page.shares]
    assert [len(share.machine.cells) for share in shares] == [4, 4]
    folder = site.build([judged], tmp_path / "site").parent / "runs" / document.header.run
    assert sum(not row["runner"] for row in csv_rows(folder / "index.csv")) == len(lost)
    assert not [cell for cell in lost if (folder / f"{site.cell_stem(cell)}.html").exists()]
