"""No folder loses a test unseen, and no folder of tests is left out."""

from __future__ import annotations

import pytest

from shootout import capability
from shootout.paths import ROOT
from tests import collected


def test_a_folder_that_lost_a_test_is_named(request: pytest.FixtureRequest) -> None:
    learned = ROOT / "tests" / "learn"
    (lost,) = collected.differences([learned], [request.node])
    assert lost.startswith("tests/learn: 0 tests are collected, ")
    assert "python -m tests.collected" in lost
    assert collected.differences([learned / "test_shapes.py"], []) == []  # part of a folder


def test_every_folder_is_recorded() -> None:
    recorded = {line.split()[1] for line in collected.RECORDED.read_text().splitlines()}
    folders = {str(file.parent.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")}
    assert recorded == folders
    assert {f"tests/{name}" for name in capability.NAMES} <= recorded
