"""The disk's speed: fio's figures, the findings made of them, and what happens without fio."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.model.run import Finding
from shootout.runner import disk
from shootout.runner.disk import Speed


def fitness(
    flush_p50_s: float = 0.0004, flush_p99_s: float = 0.002, writes_per_s: float | None = 9000.0
) -> dict[str, Finding]:
    speed = Speed(flush_p50_s=flush_p50_s, flush_p99_s=flush_p99_s, writes_per_s=writes_per_s)
    return {each.code: each for each in disk.assess(speed)}


def test_the_figures_are_held_against_limits() -> None:
    good = fitness()
    assert all(each.fit for each in good.values())
    assert good["flush"].found == "median 0.4 ms, p99 2 ms"
    assert good["random-writes"].found == "9000/s at depth 8"
    assert not fitness(flush_p50_s=0.004)["flush"].fit
    assert not fitness(flush_p99_s=0.05)["flush"].fit
    assert not fitness(writes_per_s=200.0)["random-writes"].fit
    assert "random-writes" not in fitness(writes_per_s=None)
    memory = fitness(flush_p50_s=0.000002)["flush"]
    assert not memory.fit
    assert "stays in memory" in memory.why


def test_without_fio_the_disk_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (finding,) = disk.findings(tmp_path)
    assert not finding.fit
    assert finding.found == "not measured: install fio"


def test_a_fio_that_fails_says_why(tmp_path: Path) -> None:
    fio = tmp_path / "fio"
    fio.write_text("#!/bin/sh\necho 'fio: engine libaio not loadable' >&2\nexit 1\n")
    fio.chmod(0o755)
    with pytest.raises(MeasureError, match="engine libaio not loadable"):
        disk.measure(str(fio), tmp_path)
