"""Faults in the load beside crashes."""

from __future__ import annotations

from typing import NoReturn, cast

from shootout.measure import crash
from shootout.measure.soak import LongLoad
from shootout.model.run import Placement
from shootout.servers.instances import Instance


class Broken:
    """Stands in for a LongLoad with a defect."""

    def connected(self, *_: object) -> NoReturn:
        raise ValueError("not a workload program")


def test_whatever_ends_the_load_beside_is_told() -> None:
    place = Placement(client=(0,), servers=(0,), single=0)
    beside = crash._Beside(cast(LongLoad, Broken()), cast(Instance, None), place, "1")
    beside.start()
    beside.join()
    assert beside.begun.is_set()
    assert beside.reason == "ValueError('not a workload program')"
