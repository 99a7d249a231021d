"""InnoDB's status as a soak reads it, which versions word in their own ways, and the load of a soak."""

from __future__ import annotations

import json
from pathlib import Path

from shootout.soak.documents import SOAKS
from tests.support.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs", "tests.support.measure.long_loads"]


def test_a_learned_workload_is_soaked(lab: Lab, learned: tuple[str, ...]) -> None:
    command = (SHOOTOUT, "soak", "--profile", str(lab.profile), "--servers", BASE, "--minutes", "0.05")
    done = lab.run(*command, "--json", *learned)
    assert done.returncode == 0, done.stderr
    document = SOAKS.read(Path(json.loads(done.stdout)["document"]))
    assert sum(each.completed for each in document.slices) > 0
