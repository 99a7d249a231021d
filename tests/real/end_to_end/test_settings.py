"""A run with settings that a server lacks, lowers or complains of."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.settings.profiles import compile, load
from tests.support.runs import HEAD, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


def test_what_is_lacking_and_not_declared_ends_a_run_before_it_begins(lab: Lab, tmp_path: Path) -> None:
    cached = tmp_path / "cached.toml"
    cached.write_text('[settings]\nquery_cache_bytes = "1M"\n')
    command = [SHOOTOUT, "run", "--profile", str(lab.profile), "--out", str(tmp_path / "out")]
    done = lab.run(*command, "--servers", f"{HEAD}@{cached}")
    assert done.returncode == 2
    with pytest.raises(InputError) as caught:
        compile(load(str(cached)), "mysql", (8, 0, 12))
    said = str(caught.value).replace("settings cached", "settings small + cached")  # it adds to the run's
    assert f"shootout: {said}\n" in done.stderr
    assert not (tmp_path / "out" / "results").exists() or not any((tmp_path / "out" / "results").iterdir())
