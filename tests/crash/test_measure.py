"""Faults before a crash: in the load beside, and in the commits whose syncs are counted."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn, cast

import pytest

from shootout.crash import measure
from shootout.crash.documents import CRASHES
from shootout.crash.values import CrashFailure
from shootout.errors import MeasureError
from shootout.measure.dataset import Template
from shootout.measure.long_load import LongLoad
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.model.run import Placement
from shootout.servers import instances
from shootout.servers.instances import Instance
from tests.runs import BASE, HEAD, a_tree

pytest_plugins = ["tests.runs", "tests.measure.long_loads"]

PLACE = Placement(client=(0,), servers=(0,), single=0)


class Broken:
    """Stands in for a LongLoad with a defect."""

    def connected(self, *_: object) -> NoReturn:
        raise ValueError("not a workload program")


def test_whatever_ends_the_load_beside_is_told() -> None:
    beside = measure._Workload(cast(LongLoad, Broken()), cast(Instance, None), PLACE, "1")
    beside.start()
    beside.join()
    assert beside.begun.is_set()
    assert beside.reason == "ValueError('not a workload program')"


@pytest.mark.real
def test_a_server_that_refuses_a_commit_has_failed(tmp_path: Path) -> None:
    tree, home = a_tree(BASE), tmp_path / "instance"
    instances.initialise(tree, home, {})
    load, server, template = (cast(LongLoad, None), cast(ManagedServer, None), cast(Template, None))
    with instances.start(tree, home, {}) as instance:
        subject = measure._Subject(load, server, template, home, PLACE)
        with pytest.raises(MeasureError, match=r"^commits before the load: .*shootout_crash"):  # not created
            subject._syncs(instance)


def test_a_server_that_cannot_be_loaded_is_not_crashed(unloadable: Plan, tmp_path: Path) -> None:
    document = CRASHES.read(measure.measure(unloadable, tmp_path, 0, lambda progress: None))
    assert document.failures == (CrashFailure(server=HEAD, reason="disk full"),)
