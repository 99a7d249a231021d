"""Child processes, started and killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shootout.servers.processes import children
from shootout.signals import interrupting
from tests.support.runs import BASE, a_tree


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_between_fork_and_exec_leaves_no_process(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = children._prepared
    pid_file = tmp_path / "pid"

    def signalling(cpus: Sequence[int]) -> Callable[[], None]:
        prepare, parent = prepared(cpus), os.getpid()

        def then() -> None:
            prepare()
            pid_file.write_text(str(os.getpid()))
            os.kill(parent, number)

        return then

    monkeypatch.setattr(children, "_prepared", signalling)
    tree = a_tree(BASE)
    sleeping = replace(tree, files=replace(tree.files, mysqld=Path("/bin/sleep")))
    with interrupting(signal.SIGINT, signal.SIGTERM, signal.SIGHUP), pytest.raises(KeyboardInterrupt):
        sleeping.spawn(["600"], tmp_path, ())
    pid = int(pid_file.read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_process_that_the_kernel_holds_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "ENDING_S", 0.1)
    with subprocess.Popen(["sleep", "60"]) as process:
        with monkeypatch.context() as held:
            held.setattr(process, "kill", lambda: None)
            assert children.kill(process) is None
        assert children.kill(process) == -signal.SIGKILL
