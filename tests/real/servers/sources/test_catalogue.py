from __future__ import annotations

import json
from pathlib import Path

import pytest

from shootout import cli


def test_fetch_prints_where_servers_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["servers", "fetch", "mysql-5.7.22", "mysql-8.0.12"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    rows = [line.split("  ") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [["mysql-5.7.22", "mysql 5.7.22"], ["mysql-8.0.12", "mysql 8.0.12"]]
    directory = Path(rows[0][2])
    assert (directory / "share").is_dir()
    assert cli.main(["servers", "fetch", f"path:{directory}", "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert said == {
        "reference": f"path:{directory}",
        "family": "mysql",
        "version": "5.7.22",
        "directory": str(directory),
    }
