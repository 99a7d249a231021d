"""How fast a disk is: both ways to measure it, and what is made of the figures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shootout.model.run import Finding
from shootout.runner import disk
from shootout.runner.disk import Speed, StorageError


def found(**changes: object) -> dict[str, Finding]:
    values: dict[str, object] = {
        "by": "fio",
        "flush_p50_s": 0.0004,
        "flush_p99_s": 0.002,
        "writes_per_s": 9000.0,
    }
    return {each.code: each for each in disk.judged(Speed(**(values | changes)))}  # type: ignore[arg-type]


def test_what_the_figures_say() -> None:
    good = found()
    assert all(each.fit for each in good.values())
    assert good["flush"].found == "0.4 ms, one in a hundred 2 ms (fio)"
    assert good["random-writes"].found == "9000/s, 8 at a time (fio)"
    assert not found(flush_p50_s=0.004)["flush"].fit
    assert not found(flush_p99_s=0.05)["flush"].fit
    assert not found(writes_per_s=200.0)["random-writes"].fit
    assert "random-writes" not in found(writes_per_s=None)
    memory = found(flush_p50_s=0.000002)["flush"]
    assert not memory.fit
    assert "stays in memory" in memory.why


@pytest.mark.parametrize("by", ["fio", "own probe"])
def test_this_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(disk, "SECONDS", 0.3)
    if by == "fio":
        fio = shutil.which("fio")
        assert fio is not None, "fio is missing; install it with: apt-get install fio"
        speed = disk.by_fio(fio, tmp_path)
    else:
        speed = disk.by_probe(tmp_path)
    assert speed.by == by
    assert 1e-7 < speed.flush_p50_s <= speed.flush_p99_s < 1
    assert speed.writes_per_s is None or speed.writes_per_s > 10


def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "SECONDS", 0.1)
    assert {"flush"} <= {each.code for each in disk.findings(tmp_path)}
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_may_be_written() -> None:
    with pytest.raises(StorageError):
        disk.measure(Path("/proc"))
    (finding,) = disk.findings(Path("/proc"))
    assert not finding.fit
    assert finding.found.startswith("cannot be measured: ")


def test_a_fio_that_fails_says_why(tmp_path: Path) -> None:
    fio = tmp_path / "fio"
    fio.write_text("#!/bin/sh\necho 'fio: engine libaio not loadable' >&2\nexit 1\n")
    fio.chmod(0o755)
    with pytest.raises(StorageError, match="engine libaio not loadable"):
        disk.by_fio(str(fio), tmp_path)
