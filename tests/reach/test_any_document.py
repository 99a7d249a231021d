"""Whatever a document of this kind contains, it is judged or refused with one line."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from shootout.reach.command import CAPABILITY
from tests.documents import changed, require_judged, seldom
from tests.reach.builders import a_map

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the document lies."""
    folder = tmp_path_factory.mktemp("results") / "reach"
    folder.mkdir()
    return folder / "map.json.xz"


@seldom
@given(document=changed(a_map()))
def test_a_map(path: Path, document: Any) -> None:
    path.write_bytes(lzma.compress(json.dumps(document).encode()))
    require_judged(CAPABILITY, path)
