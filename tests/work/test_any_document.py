"""Whatever a document of this kind contains, it is judged or refused with one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from shootout.work.command import CAPABILITY
from tests.documents import changed, require_judged, seldom
from tests.work import builders

pytestmark = pytest.mark.slow

COUNTED = builders.document({"a": builders.BASE, "b": builders.times(1.1)})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the document lies."""
    folder = tmp_path_factory.mktemp("results") / "work"
    folder.mkdir()
    return folder / "work.json"


@seldom
@given(document=changed(COUNTED))
def test_a_count(path: Path, document: Any) -> None:
    path.write_bytes(json.dumps(document).encode())
    require_judged(CAPABILITY, path)
