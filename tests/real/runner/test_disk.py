"""The disk's speed: fio's figures, the findings made of them, and what happens without fio."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shootout.runner import disk


def test_this_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "SECONDS", 0.3)
    fio = shutil.which("fio")
    assert fio is not None, "fio is missing; install it with: apt-get install fio"
    speed = disk.measure(fio, tmp_path)
    assert 1e-7 < speed.flush_p50_s <= speed.flush_p99_s
    assert speed.writes_per_s is None or speed.writes_per_s > 10
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_may_be_written() -> None:
    (finding,) = disk.findings(Path("/proc"))
    assert not finding.fit
    assert finding.found.startswith("cannot be measured in /proc: ")
