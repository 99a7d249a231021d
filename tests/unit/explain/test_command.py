"""`shootout explain`, as far as it needs no server."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout import cli
from shootout.document import journal
from shootout.errors import InputError
from shootout.explain import changed_cells
from shootout.model.verdict import Verdict
from tests.support import builders
from tests.support.explain.builders import CELL, an_explanation, written


def test_what_is_explained_is_shown_and_not_measured_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, results = builders.a_run(), tmp_path / "results"
    results.mkdir()
    path = results / journal.new_name(document.header.run)
    path.write_bytes(journal.encoded(document))
    explained = written(results, an_explanation(document.header.run))
    before = explained.read_bytes()
    assert cli.main(["explain", str(path), CELL.name, "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "row_search_mvcc" in out
    assert f"{CELL.name} is explained already; --budget MIN measures it again" in err
    assert explained.read_bytes() == before


def test_no_failed_cell_is_proposed() -> None:
    comparison = builders.a_comparison(builders.a_run())
    first, second, *_ = (each for each in comparison.cells if each.cell != each.base)
    failed = structs.replace(first, verdict=Verdict.FAILED)
    well = structs.replace(second, verdict=Verdict.EQUIVALENT)
    with pytest.raises(InputError, match=f"name the one to explain: .* {well.cell.name}$"):
        changed_cells.worst(structs.replace(comparison, cells=(failed, well)))
    with pytest.raises(InputError, match="no cell was measured on two servers; none can be explained"):
        changed_cells.worst(structs.replace(comparison, cells=(failed,)))
