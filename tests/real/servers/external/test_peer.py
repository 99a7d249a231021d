"""The process behind a connection."""

from __future__ import annotations

import os
from functools import partial

from shootout.runner import machine
from shootout.servers.processes.instances import Instance
from tests.support.servers.external.external_server import by_socket, by_tcp, connected

pytest_plugins = ["tests.support.servers.external.external_server"]


def test_the_process_is_found_where_it_can_be_seen(server: Instance) -> None:
    with connected(server, by_socket(server)) as external:
        assert external.pid == server.pid
        assert external.local
    with connected(server, by_tcp(server)) as external:
        assert external.pid == server.pid
    pid_file = server.directory / "mysqld.pid"
    content = pid_file.read_text()
    try:
        for other in (str(os.getpid()), "1", "999999999", "none"):
            pid_file.write_text(other)
            with connected(server, by_tcp(server)) as external:
                assert external.pid is None
                assert machine.counters(external.pid) == {}
    finally:
        pid_file.write_text(content)


def test_a_file_that_never_ends_is_no_pid_file(server: Instance) -> None:
    """The server names the file, and so may name any."""
    pid_file = server.directory / "mysqld.pid"
    content = pid_file.read_text()
    try:
        for make in (partial(os.mkfifo, pid_file), partial(pid_file.symlink_to, "/dev/zero")):
            pid_file.unlink()
            make()
            with connected(server, by_tcp(server)) as external:
                assert external.pid is None
        pid_file.unlink()
        pid_file.write_text(f"{content.strip():>1000}")
        with connected(server, by_tcp(server)) as external:
            assert external.pid is None
    finally:
        pid_file.unlink()
        pid_file.write_text(content)
