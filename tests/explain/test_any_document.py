"""Whatever an explanation contains, it is evaluated or refused with one line."""

from __future__ import annotations

import json
import shutil
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shootout import capability
from shootout.document import journal
from shootout.report import lines, terminal
from shootout.report.github import markdown
from tests.documents import (
    ANYTHING,
    COMPARED,
    RUN,
    TEXTS,
    accepted,
    changed,
    left_out,
    nowhere,
    plain,
    publish,
    records,
    sealed,
    seldom,
)  # fmt: skip
from tests.explain import builders
from tests.mutations import mutations

pytestmark = pytest.mark.slow

EXPLAINED = builders.an_explanation(RUN.header.run, RUN.header.blocks[0].cells[1])
PROFILED = records(builders.profiled())


@seldom
@given(
    explanation=changed(EXPLAINED) | st.just(plain(EXPLAINED)),
    profiled=st.just(PROFILED) | mutations([PROFILED], TEXTS, ANYTHING),
)
@example(explanation=plain(EXPLAINED), profiled=[PROFILED[0] | {"servers": [], "blocks": []}])
def test_an_explanation(
    tmp_path_factory: pytest.TempPathFactory, explanation: Any, profiled: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("results")
    (folder / "run.jsonl").write_bytes(journal.encoded(RUN))
    path = folder / "explained" / RUN.header.run / f"{EXPLAINED.cell.name}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(json.dumps(explanation).encode())
    (path.parent / EXPLAINED.document).write_bytes(sealed(profiled))

    def read() -> None:
        sections = capability.sections(folder, RUN.header.run, [EXPLAINED.cell], left_out)
        for section in sections.get(EXPLAINED.cell, ()):
            msgspec.json.encode(section.value)
        terminal.show(nowhere(), lines.sections(sections))
        markdown.summary(COMPARED, sections)

    if accepted(read):
        accepted(lambda: publish(folder))
    shutil.rmtree(folder)
