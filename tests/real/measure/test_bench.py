"""CPUs of servers, and the end of one that dies."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from shootout import steps
from shootout.inputs.options import Selection
from shootout.measure import bench
from shootout.measure.bench import Bench
from shootout.measure.managed import ManagedServer, connect
from shootout.measure.participants import Participant
from shootout.runner import machine
from shootout.servers.running import Running
from tests.support.runs import BASE, HEAD, Lab
from tests.unit.measure.test_bench import Failures

pytest_plugins = ["tests.support.runs"]


def test_a_server_that_dies_while_others_are_set_up_fails_alone(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(lab.folder))
    plan, failures = steps.plan(Selection.read(profile=str(lab.once))), Failures()
    with ExitStack() as held:
        instances: dict[Participant, Running] = {}
        for label in (BASE, HEAD):
            server = ManagedServer.find(plan, label)
            participant = Participant(label, server, server.load(), tmp_path / label)
            instances[participant] = held.enter_context(participant.start(()))
        first, last = instances.values()

        def connect_and_die(engine: Any, instance: Running, *rest: Any) -> None:
            connect(engine, instance, *rest)
            if instance is last:
                first.kill()

        monkeypatch.setattr(bench, "connect", connect_and_die)
        runner = machine.inspect(tmp_path)
        measuring = Bench(plan, runner, cast(Any, failures))
        found = measuring.measure(plan.blocks[0], 1, instances, random.Random(1), lambda *_: None)
    assert found is not None
    assert [each.server for each in found.samples] == [HEAD]
    assert [*failures.found] == [BASE]
    assert "The server has died (signal SIGKILL)" in failures.found[BASE]
