"""Servers that already run: they are measured, and left as they were."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from shootout.servers.processes.instances import Instance
from tests.real.measure.test_external import (
    POINT,
    a_run,
    by_socket,
    by_tcp,
    codes,
    measured,
)
from tests.support.runs import BASE, Lab

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
        run.said("start 1: bulk_insert-t1 (1/2), round")  # amid it: the next makes schemas anew
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
