"""Instances on their initialised directories, from start to stop."""

import os
import shlex
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.servers.processes import instances
from shootout.servers.sources.trees import Tree
from tests.support.runs import HEAD, a_tree, gone

SMALL = {
    "innodb-log-file-size": "8M",
    "innodb-buffer-pool-size": "64M",
    "skip-log-bin": "",
    "max-connections": "80",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tree, Path]:
    """A server and an initialised instance directory of it."""
    tree = a_tree(HEAD)
    directory = tmp_path_factory.mktemp("home") / "instance"
    instances.initialise(tree, directory, SMALL)
    return tree, directory


@pytest.fixture
def running(home: tuple[Tree, Path]) -> Iterator[instances.Instance]:
    tree, directory = home
    with instances.start(tree, directory, SMALL) as instance:
        yield instance


def test_a_server_starts_answers_and_stops(home: tuple[Tree, Path]) -> None:
    tree, directory = home
    cpu = max(os.sched_getaffinity(0))
    with instances.start(tree, directory, SMALL, cpus=[cpu]) as instance:
        assert instance.version == ".".join(map(str, tree.version))
        assert instance.alive()
        variables = instance.variables()
        assert variables["bind_address"] == "127.0.0.1"
        assert variables["port"] == str(instance.port)
        assert variables["max_connections"] == "80"
        assert instance.status()["Threads_connected"] == 1
        assert os.sched_getaffinity(instance.pid) == {cpu}
        assert os.getsid(instance.pid) == instance.pid != os.getsid(0)
        assert instance.query("SELECT @@character_set_connection, @@collation_connection") == (
            ("utf8mb4", "utf8mb4_general_ci"),
        )
    assert not instance.alive()
    assert gone(instance.pid)
    assert not instance.socket.exists()
    assert "Shutdown complete" in instance.error_log_tail()
    instance.stop()
    assert directory.stat().st_mode & 0o077 == 0
    assert (directory / "accounts.sql").stat().st_mode & 0o077 == 0


def test_a_busy_port_is_named(home: tuple[Tree, Path]) -> None:
    tree, directory = home
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = rf"port {port} on 127\.0\.0\.1 cannot be used \(Address already in"
        with pytest.raises(InputError, match=said):
            instances.start(tree, directory, SMALL, port=port)
    with instances.start(tree, directory, SMALL, port=port) as instance:
        assert instance.port == port


@pytest.mark.parametrize(
    ("how", "said"),
    [(signal.SIGKILL, r"died \(signal SIGKILL\)"), (signal.SIGSEGV, r"died \(exit code 2\).*stack_bottom")],
)
def test_a_server_that_dies_leaves_its_last_words(
    home: tuple[Tree, Path], running: instances.Instance, how: signal.Signals, said: str
) -> None:
    os.kill(running.pid, how)
    with pytest.raises(MeasureError, match=rf"(?s)SELECT 1: .*The server has {said}"):
        running.query("SELECT 1")
    assert not running.alive()
    assert running.error_log_tail(3).count("\n") == 2
    assert running.shut_down(1) == {signal.SIGKILL: -9, signal.SIGSEGV: 2}[how]
    with instances.start(*home, SMALL) as again:  # after recovery
        assert again.query("SELECT 1") == ((1,),)


def test_a_server_that_cannot_start_says_why(home: tuple[Tree, Path]) -> None:
    with pytest.raises(MeasureError, match=r"(?s)ended while starting \(exit code \d+\).*no-such-option"):
        instances.start(*home, SMALL | {"no-such-option": "1"})
    with instances.start(*home, SMALL):
        pass


def test_an_instance_directory_has_one_server(home: tuple[Tree, Path], running: instances.Instance) -> None:
    with pytest.raises(MeasureError, match="another process runs a server"):
        instances.start(*home, SMALL)
    assert running.alive()


def test_a_long_path_gets_a_short_socket(home: tuple[Tree, Path], tmp_path: Path) -> None:
    tree, directory = home
    deep = tmp_path / ("a long name, with a # and spaces in it " * 3)
    deep.mkdir()
    moved = directory.rename(deep / "instance")
    try:
        with instances.start(tree, moved, SMALL) as instance:
            assert len(str(instance.socket)) <= instances.SOCKET_PATH_MAX_BYTES
            assert instance.query("SELECT 1") == ((1,),)
        assert not instance.socket.parent.exists()
        assert (moved / "error.log").exists()
    finally:
        moved.rename(directory)


def test_a_failing_initialisation_says_why(home: tuple[Tree, Path], tmp_path: Path) -> None:
    said = r"initialising failed \(exit code \d+\): unknown setting no-such-option=1; its error"
    with pytest.raises(MeasureError, match=said):
        instances.initialise(home[0], tmp_path / "instance", SMALL | {"no-such-option": "1"})


def test_a_script_that_starts_its_server_without_exec_is_refused(
    home: tuple[Tree, Path], tmp_path: Path
) -> None:
    tree, directory = home
    (tmp_path / "bin").mkdir()
    (tmp_path / "share").symlink_to(tree.files.share)
    script = tmp_path / "bin" / "mysqld"
    command = [*tree.launch.before, str(tree.files.mysqld)]
    words = (f"export {name}={value}" for name, value in tree.launch.variables.items())
    script.write_text("\n".join(["#!/bin/sh", *words, f'{shlex.join(command)} "$@"', "exit $?"]))
    script.chmod(0o755)
    wrapped = Tree.inspect(tmp_path)
    with pytest.raises(InputError, match=r"bin/mysqld: it started the server as another process \(\d+\)"):
        instances.start(wrapped, directory, SMALL)
    with instances.start(tree, directory, SMALL):  # nothing holds its files
        pass
    script.write_text(script.read_text().replace(str(tree.files.mysqld), f"exec {tree.files.mysqld}"))
    with pytest.raises(MeasureError, match="bin/mysqld: the program was replaced during the measurement"):
        instances.start(wrapped, directory, SMALL)
    wrapped = Tree.inspect(tmp_path)
    os.utime(script)  # the same program as before
    with instances.start(wrapped, directory, SMALL) as instance:
        assert instance.query("SELECT 1") == ((1,),)
