"""No folder loses a test unseen, and every test and room of the library has a tier."""

from __future__ import annotations

import pytest

from shootout.paths import PACKAGE, ROOT
from tests import collected

TIERS = ("unit", "real", "nightly")


def test_a_folder_that_lost_a_test_is_named(request: pytest.FixtureRequest) -> None:
    learned = ROOT / "tests" / "unit" / "learn"
    (lost,) = collected.differences([learned], [request.node])
    assert lost.startswith("tests/unit/learn: 0 tests are collected, ")
    assert "python -m tests.collected" in lost
    assert collected.differences([learned / "test_shapes.py"], []) == []  # part of a folder


def test_every_folder_is_recorded() -> None:
    recorded = {line.split()[1] for line in collected.RECORDED.read_text().splitlines()}
    assert recorded == {str(file.parent.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")}


def test_every_test_is_in_a_tier() -> None:
    lost = [
        file
        for file in ROOT.glob("tests/**/test_*.py")
        if file.relative_to(ROOT / "tests").parts[0] not in TIERS
    ]
    assert lost == []


def test_every_room_of_the_library_has_tests() -> None:
    rooms = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    tested = {
        folder.name for tier in TIERS for folder in (ROOT / "tests" / tier).iterdir() if folder.is_dir()
    }
    assert rooms - tested == {"commands"}  # by test_cli.py, at the top
