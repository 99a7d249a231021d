import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from shootout import paths
from shootout.errors import InputError, MeasureError
from shootout.servers import catalogue, instances, libraries
from shootout.servers import running as running_server
from shootout.servers.accounts import LOAD_USER
from shootout.servers.fetch import packages
from shootout.servers.native import Tree
from tests.still import standing_still

pytestmark = pytest.mark.real

SMALL = {
    "innodb-log-file-size": "8M",
    "innodb-buffer-pool-size": "64M",
    "skip-log-bin": "",
    "max-connections": "80",
}
NAMES = ("mysql-5.7.22", "mysql-8.0.12")


@pytest.fixture(scope="module", params=NAMES)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tree, Path]:
    """A server and an initialised instance directory of it."""
    name = request.param
    tree = Tree.inspect(packages.fetch(name, catalogue.load()[name], paths.cache_folder()))
    directory = tmp_path_factory.mktemp(name) / "instance"
    instances.initialise(tree, directory, SMALL)
    return tree, directory


@pytest.fixture
def running(home: tuple[Tree, Path]) -> Iterator[instances.Instance]:
    tree, directory = home
    with instances.start(tree, directory, SMALL) as instance:
        yield instance


def exists(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def select_one(descriptor: int) -> bytes:
    """Send SELECT 1 over a bare connection; gives the first packet of the answer."""
    statement = b"\x03SELECT 1"
    os.write(descriptor, struct.pack("<I", len(statement)) + statement)
    return os.read(descriptor, 4096)


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
        listening = subprocess.run(["cat", f"/proc/{instance.pid}/net/tcp"], capture_output=True, check=True)
        assert f"0100007F:{instance.port:04X}".encode() in listening.stdout
    assert not instance.alive()
    assert not exists(instance.pid)
    assert not instance.socket.exists()
    assert "Shutdown complete" in instance.error_log_tail()
    instance.stop()
    assert directory.stat().st_mode & 0o077 == 0
    assert (directory / "accounts.sql").stat().st_mode & 0o077 == 0


def test_a_server_that_stands_still_is_not_waited_for(
    running: instances.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.status()  # over a connection that is open by then
    monkeypatch.setattr(running_server, "QUERY_TIMEOUT_S", 0.5)
    with standing_still(running.pid):
        for _ in range(2):  # the second one has to log in first
            began_s = time.monotonic()
            with pytest.raises(MeasureError, match=r"^SHOW .*STATUS: .*timed out"):
                running.status()
            assert time.monotonic() - began_s < 5
    assert running.query("SELECT SLEEP(1)", timeout_s=30) == ((0,),)
    assert running.status()["Uptime"] > 0


def test_nobody_gets_in_without_the_password(running: instances.Instance) -> None:
    for user in ("root", LOAD_USER):
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            running.connect(user=user, password="")


def test_a_busy_port_is_named(home: tuple[Tree, Path]) -> None:
    tree, directory = home
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=rf"port {port} on 127\.0\.0\.1 cannot be used \(Address already in"
        ):
            instances.start(tree, directory, SMALL, port=port)
    with instances.start(tree, directory, SMALL, port=port) as instance:
        assert instance.port == port


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_what_is_no_port_is_refused(home: tuple[Tree, Path], port: int) -> None:
    tree, directory = home
    with pytest.raises(InputError, match="expected 1 to 65535"):
        instances.start(tree, directory, SMALL, port=port)


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
    running.stop()
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


def test_no_server_outlives_a_killed_parent(home: tuple[Tree, Path]) -> None:
    tree, directory = home
    script = f"""
import time
from pathlib import Path
from shootout.servers import instances
from shootout.servers.accounts import LOAD_USER
from shootout.servers.native import Tree
tree = Tree.inspect(Path({str(tree.files.top)!r}))
instance = instances.start(tree, Path({str(directory)!r}), {SMALL!r})
print(instance.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        assert exists(server)
        parent.kill()
    deadline = time.monotonic() + 5
    while exists(server) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not exists(server)


def test_a_failing_initialisation_says_why(home: tuple[Tree, Path], tmp_path: Path) -> None:
    said = r"initialising failed \(exit code \d+\): unknown setting no-such-option=1; its error"
    with pytest.raises(MeasureError, match=said):
        instances.initialise(home[0], tmp_path / "instance", SMALL | {"no-such-option": "1"})


def test_a_tree_is_found_out(home: tuple[Tree, Path], tmp_path: Path) -> None:
    tree, _ = home
    (tmp_path / "libexec").symlink_to(tree.files.mysqld.parent)
    (tmp_path / "share").mkdir()
    (tmp_path / "share" / "mysql").symlink_to(tree.files.share)
    found = Tree.inspect(tmp_path)
    assert found.files.mysqld == tmp_path / "libexec" / "mysqld"
    assert found.files.share == tmp_path / "share" / "mysql"
    assert (found.version, found.family, found.digest) == (tree.version, tree.family, tree.digest)


def test_what_is_no_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    with pytest.raises(InputError, match="no server found"):
        Tree.inspect(tmp_path)
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    server = tmp_path / "bin" / "mysqld"
    server.write_text("#!/bin/sh\necho I am a teapot >&2\nexit 1\n")
    server.chmod(0o755)
    with pytest.raises(InputError, match="does not report a version: I am a teapot"):
        Tree.inspect(tmp_path)


def test_missing_libraries_are_named_with_what_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = packages.fetch(NAMES[1], catalogue.load()[NAMES[1]], paths.cache_folder())
    torn = shutil.copytree(whole, tmp_path / "torn", symlinks=True)
    for library in torn.rglob("libssl.so*"):
        library.unlink()
    with pytest.raises(InputError, match=r"missing shared libraries: libssl\.so\.1\.0\.0$"):
        Tree.inspect(torn)
    monkeypatch.setitem(libraries.DEBIAN_PACKAGES, "libssl.so.1.0.0", "libssl-of-old")
    with pytest.raises(InputError, match="apt-get install libssl-of-old"):
        Tree.inspect(torn)


def test_libraries_beside_the_server_are_used_where_the_system_lacks_them(tmp_path: Path) -> None:
    whole = packages.fetch(NAMES[1], catalogue.load()[NAMES[1]], paths.cache_folder())
    moved = shutil.copytree(whole, tmp_path / "moved", symlinks=True)
    (moved / "libs").mkdir()
    for library in ("libssl.so.1.0.0", "libcrypto.so.1.0.0"):
        (moved / "bin" / library).unlink()
        (moved / "lib" / library).rename(moved / "libs" / library)
    tree = Tree.inspect(moved)
    assert tree.launch.variables == {"LD_LIBRARY_PATH": str(moved / "libs")}
    assert tree.version == (8, 0, 12)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\x7fELF\x01\x01\x01", "a 32-bit binary, and this system has no loader for it"),
        (b"\x7fELF\x02\x02\x01", "built for another architecture"),
        (b"#!/no/such/shell\n", "its loader is not on this system"),
    ],
)
def test_what_this_system_cannot_run_says_why(head: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    (tmp_path / "mysqld").write_bytes(head.ljust(100, b"\0"))
    (tmp_path / "mysqld").chmod(0o755)
    with pytest.raises(InputError, match=rf"{tmp_path}/mysqld: cannot be run: {said}"):
        Tree.inspect(tmp_path)
