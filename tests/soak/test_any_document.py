"""Whatever a document of this kind contains, it is judged or refused with one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from shootout.soak.command import CAPABILITY
from tests.documents import ANYTHING, TEXTS, often, plain, require_judged
from tests.mutations import mutations
from tests.soak import builders

pytestmark = pytest.mark.slow

WHOLE = builders.document(
    ["a", "b"],
    [each for label in "ab" for each in builders.slices(label, 90 * [9.0, 11.0])],
    ends={"a": {"memory": 1e6}, "b": {"memory": 0.0}},
)
RECORDS = [plain(each) for each in (WHOLE.header, *WHOLE.servers, *WHOLE.slices, *WHOLE.ends)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the document lies."""
    folder = tmp_path_factory.mktemp("results") / "soaks"
    folder.mkdir()
    return folder / "soak.jsonl"


@often
@given(document=mutations([RECORDS], TEXTS, ANYTHING))
def test_a_soak(path: Path, document: Any) -> None:
    lines = document if isinstance(document, list) else [document]
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in lines))
    require_judged(CAPABILITY, path)
