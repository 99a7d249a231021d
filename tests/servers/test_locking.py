"""Directories that several processes build, use and remove."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shootout.servers import locking

BUILDER = """
import sys, time
from pathlib import Path
from shootout.servers import locking

def build(directory):
    (directory / "half").touch()
    print("building", flush=True)
    sys.stdin.readline()
    (directory / "whole").touch()

print(locking.build_once(Path(sys.argv[1]), build, lambda found: (found / "whole").exists()), flush=True)
"""


@contextmanager
def a_builder(target: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", BUILDER, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_of_several_processes_one_builds(tmp_path: Path) -> None:
    target = tmp_path / "shared"
    with a_builder(target) as first:
        assert said(first) == "building"
        assert locking.is_held(locking.lock_of(target))
        assert not locking.remove(target)
        with a_builder(target) as second:
            go_on(first)
            assert said(first) == "True"
            assert said(second) == "False"  # it waited, and found it whole


def test_what_a_killed_build_left_is_built_anew(tmp_path: Path) -> None:
    target = tmp_path / "shared"
    with a_builder(target) as killed:
        assert said(killed) == "building"
    assert locking.partial_of(target).exists()
    assert not target.exists()
    with a_builder(target) as next_one:
        assert said(next_one) == "building"
        go_on(next_one)
        assert said(next_one) == "True"
    assert {path.name for path in target.iterdir()} == {"half", "whole"}
    assert not locking.partial_of(target).exists()


def test_a_directory_in_use_is_shared_and_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "shared"
    with ExitStack() as first, ExitStack() as second:
        assert locking.build_once(target, lambda _: None, Path.is_dir, first)
        assert not locking.build_once(target, lambda _: None, Path.is_dir, second)
        first.close()
        assert not locking.remove(target)
    assert locking.remove(target)
    assert not target.exists()
