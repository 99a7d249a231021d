"""The answer to an upgrade, in words."""

from __future__ import annotations

from pathlib import Path

from lab.showcase import record as showcase
from shootout.upgrade import judge
from shootout.upgrade.documents import UPGRADES
from tests.unit.upgrade.test_answer import what_to_set


def test_recorded_upgrades_are_whole_and_say_what_to_set(tmp_path: Path) -> None:
    showcase.unpacked(tmp_path)
    for found in (judge.read(UPGRADES.read(path), tmp_path) for path in UPGRADES.find(tmp_path)):
        assert found.unreadable == ()
        useful = {line for each in found.restorations if each.restores for line in each.setting.split("+")}
        assert {*what_to_set(found).commands[1:]} >= useful
