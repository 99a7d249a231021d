"""A profile and the options given with it: options win."""

from __future__ import annotations

from pathlib import Path

from shootout.model.plan import Block, Container, Load
from shootout.model.program import Open
from shootout.model.workload import Gaussian, Special
from tests.builders import HEAD
from tests.plans import planned, slots

DATASET = "sbtest-4x25000-innodb"


def test_options_win_over_the_profile() -> None:
    asked = {"servers": f"{HEAD}, {HEAD}@defaults", "workloads": "oltp_read_only", "threads": "16, 2"}
    made = planned(**asked, seed="5", port="20000")
    labels = (HEAD, f"{HEAD}@defaults")
    assert tuple(made.servers) == labels
    assert made.blocks == tuple(
        Block(workload="oltp_read_only", dataset=DATASET, threads=threads, servers=labels)
        for threads in (16, 2)
    )
    assert (made.seed, made.place.port) == (5, 20000)
    assert made.profile.servers == (HEAD, f"{HEAD}@defaults")
    assert made.profile.workloads == ("oltp_read_only",)
    assert made.profile.threads == (16, 2)
    assert made.profile.sampling == planned().profile.sampling


def test_the_load_and_the_scale_win_over_the_profile_too(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(
        f"description = 'd'\nworkloads = ['oltp_read_only']\nthreads = [1]\nservers = ['{HEAD}']\n"
        "options = { range_size = 9, point_selects = 2 }\ndistribution = { type = 'gaussian' }\n"
        "[load]\nrate = 50\nreconnect = true\n[dataset]\nrows = 7\n"
    )
    as_written = planned(profile=str(profile))
    assert as_written.profile.load == Load(rate=50, reconnect=True)
    assert as_written.workloads["oltp_read_only"].program.pace == Open(rate=50)
    assert as_written.workloads["oltp_read_only"].workload.options["point_selects"] == 2
    assert as_written.workloads["oltp_read_only"].workload.distribution == Gaussian()
    given = {
        "profile": str(profile),
        "tables": "3",
        "engine": "MyISAM",
        "option": "range_size=5",
        "rand_type": "special:hot_percent=50,iterations=3",
        "protocol": "prepared",
        "rate": "0",
        "think": "exponential:0.25",
    }
    made = planned(**given)
    assert made.profile.load == Load(protocol="prepared", think="exponential", think_s=0.25, reconnect=True)
    assert made.workloads["oltp_read_only"].dataset.key == "sbtest-3x7-myisam"
    (record,) = made.records
    assert (record.name, record.written, record.protocol) == ("oltp_read_only",) * 2 + ("prepared",)
    assert (record.options["range_size"], record.options["point_selects"]) == (5, 2)
    assert record.distribution == Special(hot_percent=50, iterations=3)
    assert made.given == {f"--{name.replace('_', '-')}": text for name, text in given.items()}


def test_a_scale_is_recorded_and_options_win_over_it(tmp_path: Path) -> None:
    made = planned(profile=slots(tmp_path), scale="small")
    assert (made.profile.threads, made.profile.dataset.rows) == ((1,), 10)
    assert made.given["--scale"] == "small"
    assert made.profile.scales == {}
    made = planned(profile=slots(tmp_path), scale="small", threads="8", table_size="20")
    assert (made.profile.threads, made.profile.dataset.rows) == ((8,), 20)


def test_where_data_lies_and_what_is_around_containers(tmp_path: Path) -> None:
    as_shipped = planned()
    assert (as_shipped.place.data, as_shipped.profile.container) == (None, Container())
    profile = tmp_path / "mine.toml"
    profile.write_text(
        "description = 'd'\nworkloads = ['oltp_read_only']\nthreads = [1]\nservers = ['image:mysql:8.4']\n"
        "[container]\nnetwork = 'bridge'\nmemory = '512M'\n"
    )
    written = planned(profile=str(profile), data=str(tmp_path))
    assert written.place.data == tmp_path
    assert written.profile.container == Container(network="bridge", memory="512M")
    assert written.profile.container.memory_bytes == 512 * 2**20
    assert written.given["--data"] == str(tmp_path)
    given = planned(profile=str(profile), container_network="host", container_memory="8g")
    assert given.profile.container == Container(network="host", memory="8G")
    assert Container(memory="1000").memory_bytes == 1000
    assert Container().memory_bytes is None
