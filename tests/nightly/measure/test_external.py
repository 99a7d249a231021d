"""Servers that already run: they are measured, and left as they were."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shootout.measure import dataset
from shootout.model.run import FLUSH_S, FLUSHES
from shootout.servers.processes.instances import Instance
from tests.real.measure.test_external import (
    POINT,
    SMALL,
    a_run,
    by_socket,
    by_tcp,
    codes,
    connected,
    measured,
)
from tests.support.runs import BASE, Lab, until

pytest_plugins = ["tests.support.runs"]


def test_a_server_that_runs_beside_one_that_is_started(lab: Lab, server: Instance, tmp_path: Path) -> None:
    servers = ("--servers", f"{by_socket(server)},{BASE}")
    found, printed = measured(lab, tmp_path, *servers, "--threads", "2", "--profile", str(lab.profile))
    assert found.failures == ()
    visited, own = found.header.servers
    assert (visited.label, own.label) == (f"{BASE} (dsn)", BASE)
    assert visited.reference == f"dsn:mysql://guest@localhost?unix_socket={server.socket}"
    assert visited.checksum == own.checksum != ""
    assert (visited.version, visited.family, visited.build) == ("5.7.22-log", "mysql", "")
    assert visited.settings_name == "as found"
    assert all(setting.requested is None for setting in visited.settings)
    assert codes(visited) == {"not-restarted", "not-placed", "not-stopped"}
    assert codes(own) == set()
    assert {record.start for record in found.starts} == {1, 2}
    for record in found.starts:
        for samples in record.samples:
            assert samples.server_cpu_s is not None  # found through its socket
            assert sum(samples.server_cpu_s) > 0
            assert {"context_switches", "disk_written_bytes", "Innodb_rows_read"} <= samples.counters.keys()
    assert "is not restarted" in printed


def test_the_same_server_several_times_and_by_two_ways(lab: Lab, server: Instance, tmp_path: Path) -> None:
    servers = f"{by_socket(server)},{by_socket(server)},{by_tcp(server)}"
    workloads = ("--workloads", "oltp_read_write,bulk_insert", "--set", "options.rows_per_insert=10")
    found, _ = measured(lab, tmp_path, "--servers", servers, *workloads, "--threads", "2")
    name = server.socket.name
    assert [each.label for each in found.header.servers] == [
        f"{BASE} ({name})",
        f"{BASE} ({name})#2",
        f"{BASE} (127.0.0.1:{server.port})",
    ]
    assert len({each.checksum for each in found.header.servers}) == 1
    assert found.failures == ()
    assert len(found.starts) == 2
    assert all(samples.writes > 0 for record in found.starts for samples in record.samples)


def test_what_a_killed_run_left_is_removed_and_meanwhile_no_other_run_is_let_in(
    lab: Lab, server: Instance, tmp_path: Path
) -> None:
    text = by_socket(server)
    long = tmp_path / "long.toml"
    long.write_text(lab.once.read_text().replace("measure_s = 0.3", "measure_s = 60.0"))
    options = ("--profile", str(long), "--servers", f"{text},{text}", "--workloads", "bulk_insert")
    with lab.running(*a_run(lab, tmp_path / "killed", *options), folder=tmp_path) as run:
        run.said("start 1: bulk_insert-t1 (1/2), round")  # amid it: the next makes schemas again
        second = lab.run(*a_run(lab, tmp_path / "second", "--servers", by_tcp(server), *POINT))
        assert second.returncode == 2
        assert "another run of shootout is measuring there" in second.stderr
        assert run.process.poll() is None, run.err.read_text()
        os.kill(run.process.pid, signal.SIGKILL)
        assert run.ended() != 0
    schemas = server.query("SHOW DATABASES LIKE 'shootout%'")
    left = {re.sub("_[0-9a-f]{12}", "", name) for (name,) in schemas}  # the workload's name
    assert left == {"shootout_own", "shootout_own_2"}
    assert lab.run(*a_run(lab, tmp_path / "next", "--servers", text, *POINT)).returncode == 0


def test_what_is_not_visible_is_reported(lab: Lab, server: Instance, tmp_path: Path) -> None:
    pid_file = server.directory / "mysqld.pid"
    pid_file.rename(hidden := pid_file.with_suffix(".hidden"))
    try:
        found, printed = measured(lab, tmp_path, "--servers", f"{by_tcp(server)},{BASE}", *POINT)
    finally:
        hidden.rename(pid_file)
    visited, _ = found.header.servers
    assert "not-visible" in codes(visited)
    expected = "Not visible from here: server CPU, context switches, bytes written to disks, waits for CPUs."
    assert expected in printed
    for record in found.starts:
        of_visited, of_own = record.samples
        assert of_visited.server_cpu_s is None
        assert of_own.server_cpu_s is not None
        # Waits are recorded by event, once one has happened.
        visible, own = ({n for n in each.counters if not n.startswith("wait/")} for each in record.samples)
        assert visible == own - {
            "context_switches", "disk_written_bytes", "run_queue_s", FLUSHES, FLUSH_S
        }  # fmt: skip
        assert of_visited.counters["Innodb_rows_read"] > 0
    pages = [page.read_text() for page in tmp_path.rglob(f"oltp_point_select-t1-{BASE}~*.html")]
    assert len(pages) == 1
    assert "base not visible" in pages[0]
    assert pages[0].count("not visible") >= 5  # the server's CPU in two places, and three counters
    assert expected in pages[0]


def test_a_server_that_demands_tls_is_reported(lab: Lab, server: Instance, tmp_path: Path) -> None:
    server.query("SET GLOBAL require_secure_transport = ON")
    try:
        done = lab.run(*a_run(lab, tmp_path, "--servers", by_tcp(server), *POINT))
        assert done.returncode == 2
        assert "error 3159" in done.stderr
        assert "The load engine does not support TLS" in done.stderr
        with connected(by_socket(server)) as external:
            assert external.query("SELECT 1") == ((1,),)
    finally:
        server.query("SET GLOBAL require_secure_transport = OFF")


@pytest.mark.parametrize("kind", ["sbtest", "tpcc"])
def test_rows_go_in_by_insert_where_files_are_not_taken(server: Instance, kind: Any) -> None:
    each = msgspec.structs.replace(SMALL, kind=kind)
    assert server.query("SELECT @@GLOBAL.local_infile") == ((0,),)
    until(lambda: server.status()["Threads_connected"] == 1)  # one that leaves may count twice
    files = server.status()["Com_load"]
    with connected(by_socket(server)) as external:
        dataset.load(external, each)
        found = dataset.verify(external, each)
        dataset.unload(external, each)
        dataset.unload(external, each)  # already gone
    assert server.status()["Com_load"] == files
    server.query("SET GLOBAL local_infile = 1")
    with connected(by_socket(server)) as external:
        dataset.load(external, each)
        assert dataset.verify(external, each) == found
        dataset.unload(external, each)
    assert server.status()["Com_load"] > files
    server.query("SET GLOBAL local_infile = 0")


def test_what_is_done_there_goes_into_the_binary_log(server: Instance) -> None:
    """Otherwise replicas would receive changes to tables that they do not have."""
    server.query("GRANT SUPER ON *.* TO guest@localhost")
    server.query("FLUSH BINARY LOGS")
    with connected(by_socket(server)) as external:
        dataset.load(external, SMALL)
        dataset.unload(external, SMALL)
    ((log, *_),) = server.query("SHOW MASTER STATUS")
    events = str(server.query(f"SHOW BINLOG EVENTS IN '{log}'"))
    server.query("REVOKE SUPER ON *.* FROM guest@localhost")
    assert "CREATE TABLE shootout.shootout_mark" in events
    assert "Write_rows" in events or "INSERT INTO" in events
    assert "DROP DATABASE IF EXISTS `shootout`" in events
