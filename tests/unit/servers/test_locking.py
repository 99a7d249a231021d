"""Directories that several processes build, use and remove."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from shootout.servers import locking
from tests.support.runs import PATIENCE_S, until

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


def test_a_lock_that_was_removed_before_it_was_had_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with locking.locked(path):
            held.set()
            go.wait(PATIENCE_S)

    with path.open("w") as sweeper:
        fcntl.flock(sweeper, fcntl.LOCK_EX)
        other = threading.Thread(target=hold)
        other.start()
        # It has opened the file, and waits for our lock.
        until(lambda: f":{path.stat().st_ino} " in waiting())
        path.unlink()
    try:
        assert held.wait(PATIENCE_S)
        assert locking.is_held(path)
    finally:
        go.set()
        other.join()


def waiting() -> str:
    """The locks that somebody waits for: marked by an arrow in proc(5)'s locks."""
    lines = Path("/proc/locks").read_text().splitlines()
    return "\n".join(line for line in lines if "->" in line)


def test_a_lock_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locking.locked(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_directory_is_on_the_disk_before_it_counts_as_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "shared"
    libc, seen = locking._libc, []

    class Watched:
        def syncfs(self, descriptor: int) -> int:
            seen.append(
                (Path(f"/proc/self/fd/{descriptor}").resolve(), os.listdir(descriptor), target.exists())
            )
            return int(libc.syncfs(descriptor))

    def build(directory: Path) -> None:
        (directory / "mysqld").write_text("x")

    monkeypatch.setattr(locking, "_libc", Watched())
    assert locking.build_once(target, build, Path.is_dir)
    assert seen == [(locking.partial_of(target), ["mysqld"], False)]
    assert (target / "mysqld").exists()
