"""The recorded runs in the repository, and the site that `make demo-site` makes of them."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import record

from shootout import cli, document

SIZE_MAX = 2_500_000  # bytes of all of them


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "results"
    record.unpacked(folder)
    return folder


def test_the_recorded_runs_are_whole_and_small(results: Path) -> None:
    paths = document.find(results)
    assert paths
    for path in paths:
        read = document.read(path)
        assert read.end is not None
        assert len(read.starts) >= len(read.header.blocks)
    assert sum(path.stat().st_size for path in record.SHOWCASE.iterdir()) < SIZE_MAX


def test_no_recorded_run_tells_where_it_was_made(results: Path) -> None:
    for path in document.find(results):
        assert not re.search(rb'"[^"]*/(tmp|home|root|work|usr/local|opt)/[^"]*"', path.read_bytes()), path


def test_the_demo_is_there_in_seconds(results: Path, tmp_path: Path) -> None:
    began_s = time.process_time()
    assert cli.main(["site", "--results", str(results), "--out", str(tmp_path)]) == 0
    assert time.process_time() - began_s < 10
    listed = (tmp_path / "runs" / "index.html").read_text("utf-8")
    assert all(f"runs/{path.stem}/index.html" in listed.replace("../", "") for path in document.find(results))


def test_a_run_is_recorded_without_its_folders(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "SHOWCASE", tmp_path)
    path = document.find(results)[0]
    packed = record.record(path, starts=1, statements=False)
    (unpacked,) = record.unpacked(tmp_path / "again")
    assert packed == tmp_path / f"{path.name}.gz"
    short, whole = document.read(unpacked), document.read(path)
    assert {start.start for start in short.starts if not start.confirming} == {1}
    assert not any(sample.statements for start in short.starts for sample in start.samples)
    assert short.header.servers == whole.header.servers
