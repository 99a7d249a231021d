"""File names of the site's pages."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from shootout.model.plan import Cell
from shootout.report.site.names import cell_stem

labels = st.text(min_size=1, max_size=120) | st.text("a/@#-.", min_size=1, max_size=4)  # some look alike
cells = st.builds(Cell, workload=labels, dataset=labels, server=labels, threads=st.integers(1, 65_535))


@given(st.lists(cells, min_size=2, max_size=6, unique=True))
def test_distinct_cells_have_distinct_and_safe_file_names(found: list[Cell]) -> None:
    stems = [cell_stem(cell) for cell in found]
    assert len({stem.lower() for stem in stems}) == len(found)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{1,100}", stem) for stem in stems)
