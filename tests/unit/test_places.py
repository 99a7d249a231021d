"""A place that is out of reach is named in a line, by every command that meets it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from shootout import cli
from shootout.document import journal
from tests.support import builders

OF_THE_CACHE = (
    "cache list",
    "cache clear",
    "servers list",
    "servers fetch mysql-8.0.12",
    "servers start mysql-8.0.12",
    "run --servers mysql-5.7.22,mysql-8.0.12 --threads 1 --budget 1 --out {out}",
    "gate --base mysql-5.7.22 --head mysql-8.0.12 --budget 1 --out {out}",
    "doctor --out {out}",
    "soak --servers mysql-5.7.22 --out {out}",
    "count --base mysql-5.7.22 --head mysql-8.0.12 --out {out}",
    "bisect --over mysql-5.7.22,mysql-8.0.12 --out {out}",
    "upgrade mysql-5.7.22 mysql-8.0.12 --out {out}",
)
OF_RESULTS = (
    "explain --out {shut}",
    "history --results {shut}/results",
    "site --results {shut}/results --out {out}",
    "site --results {results} --out {shut}/site",
    "merge {document} --out {shut}",
    "baseline accept {document} --to {shut}/baselines",
    "run --out {shut}",
    "count --base mysql-5.7.22 --head mysql-8.0.12 --out {shut}",
    "soak --servers mysql-5.7.22 --out {shut}",
    "upgrade mysql-5.7.22 mysql-8.0.12 --out {shut}",
)


@pytest.fixture
def shut(tmp_path: Path) -> Path:
    """A folder that even a superuser cannot reach."""
    return tmp_path / ("x" * 300)


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that cannot do its work; returns its one line."""
    assert cli.main(shlex.split(command)) == 2
    told = [each for each in capsys.readouterr().err.splitlines() if each.startswith("shootout: ")]
    assert len(told) == 1
    return told[0]


@pytest.mark.parametrize("command", OF_THE_CACHE)
def test_a_cache_that_cannot_be_read_is_named(
    command: str,
    shut: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(shut))
    assert refused(command.format(out=tmp_path / "out"), capsys) == (
        f"shootout: {shut}/shootout: cannot be read: File name too long; "
        "choose another place with XDG_CACHE_HOME"
    )


@pytest.mark.parametrize("command", OF_RESULTS)
def test_results_that_are_out_of_reach_are_named_before_anything_is_measured(
    command: str, shut: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = builders.a_run()
    path = tmp_path / "results" / journal.new_name(document.header.run)
    path.parent.mkdir()
    path.write_bytes(journal.encoded(document))
    said = refused(
        command.format(shut=shut, out=tmp_path / "out", results=path.parent, document=path), capsys
    )
    assert str(shut) in said
    assert said.endswith("File name too long")


def test_an_unexpected_fault_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each cell needs the run, and does not tell again why there is none."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("shootout.measure.campaign.measure", fail)
    assert cli.main(["run", f"--out={tmp_path}"]) == 3
    assert capfd.readouterr().err.count("Traceback") == 1
