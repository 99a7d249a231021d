import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from shootout.measure.workplace import say_who_else_measures, workplace
from shootout.model.run import Progress
from shootout.runner import machine
from shootout.signals import interrupting
from tests.support import builders

ANOTHER = """
import sys
from pathlib import Path
from shootout.measure.workplace import workplace
with workplace("r2", Path(sys.argv[1]), loads=bool(sys.argv[2])):
    print("there", flush=True)
    sys.stdin.read()
"""


def test_signals_interrupt_inside_the_block_only() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt), interrupting(signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == before


@pytest.mark.parametrize("loads", [True, False])
def test_a_second_run_is_said_at_the_start_and_recorded(loads: bool, tmp_path: Path) -> None:
    (theirs := tmp_path / "theirs").mkdir()
    command = [sys.executable, "-c", ANOTHER, str(theirs), "loads" if loads else ""]
    said: list[Progress] = []
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        workplace("r1", tmp_path) as (directory, _),
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "there\n"
        runner = machine.inspect(directory)
        other.communicate()
    recorded = [each for each in runner.warnings if each.code == "second-run" and "r2 (pid" in each.text]
    assert bool(recorded) == loads
    say_who_else_measures(structs.replace(builders.a_runner(), warnings=tuple(recorded)), said.append)
    assert [(each.stage, each.detail) for each in said] == [
        ("note", f"warning: {each.text}") for each in recorded
    ]
