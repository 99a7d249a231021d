"""Which CPUs servers get."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from shootout.measure.bench import Bench
from shootout.measure.dataset import Loaded
from shootout.measure.participants import Participant
from shootout.runner import machine
from tests import builders


class Server:
    """Notes the CPUs that it is started on."""

    def start(self, template: Loaded, home: Path, cpus: Sequence[int]) -> None:
        self.cpus = {*cpus}


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_a_server_starts_on_every_cpu_that_a_block_may_give_it(count: int, tmp_path: Path) -> None:
    placement = machine.placement(range(count))
    runner = structs.replace(builders.a_runner(), placement=placement)
    server = Server()
    bench = Bench(cast(Any, None), runner, cast(Any, None))
    bench.start(Participant("s", cast(Any, server), Loaded(checksum="", load_s=None), tmp_path))
    blocks = [placement.of(threads, writes=writes) for threads in (1, 8) for writes in (False, True)]
    assert server.cpus == {cpu for _, cpus in blocks for cpu in cpus}
