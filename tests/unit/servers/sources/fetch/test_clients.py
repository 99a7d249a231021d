"""How package clients are found and run."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.servers.sources.fetch import clients


def test_a_missing_client_comes_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clients.missing("sh", "dash") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = clients.missing("sh", "dash")
    assert missing is not None
    assert (missing.what, missing.install) == ("sh", "apt-get install dash")


def test_a_client_speaks_english_and_reads_nothing(tmp_path: Path) -> None:
    script = "cat; pwd; echo $LC_ALL $MORE >&2; exit 3"
    code, output = clients.run(["sh", "-c", script], tmp_path, {"MORE": "more"})
    assert (code, output) == (3, f"{tmp_path}\nC.UTF-8 more\n")
