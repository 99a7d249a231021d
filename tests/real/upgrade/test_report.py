"""The answer to an upgrade, in words."""

from __future__ import annotations

from pathlib import Path

from lab.showcase import record as showcase
from shootout.upgrade import judge
from shootout.upgrade.documents import UPGRADES
from tests.unit.upgrade.test_answer import what_to_set


def test_recorded_upgrades_recommend_what_was_counted_for_a_loss(tmp_path: Path) -> None:
    showcase.unpacked(tmp_path)
    topics = {
        answer.new: what_to_set(answer)
        for answer in (judge.read(UPGRADES.read(path), tmp_path) for path in UPGRADES.find(tmp_path))
    }
    assert {new: topic.commands[1:] for new, topic in topics.items()} == {
        "mysql-8.0.33": (), "mysql-9.7": ("innodb_adaptive_hash_index=ON",), "mariadb-11.8": (),
    }  # fmt: skip
    for topic in topics.values():
        assert topic.lines[0].startswith("Throughput −")
        assert ": not tested (no setting was tried with oltp_" in topic.lines[0]
        assert not any(line.startswith("Settings explain") for line in topic.lines)
    assert (
        "instructions: innodb_log_writer_threads, innodb_max_dirty_pages_pct; "
        in (topics["mysql-8.0.33"].lines[0])
    )
