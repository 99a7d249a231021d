"""The commands that pages and issues print, as the command line reads them."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

import pytest
from msgspec.structs import replace

from shootout import cli
from shootout.inputs.options import Selection, renewed
from shootout.model.plan import Cell
from shootout.model.run import RunHeader
from shootout.paths import REPORTS
from shootout.report import commands
from tests.support import builders

GIVEN = {
    "--profile": "quick", "--scale": "small", "--servers": "x,y", "--threads": "1,2", "--seed": "7",
    "--option": "range_size=10, skip_trx=1", "--protocol": "prepared", "--reconnect": "", "--port": "2000",
    "--data": "/mnt/data", "--budget": "90", "--shard": "1/3",
}  # fmt: skip
READS, OWN = "oltp_read_only", "my own.toml"


@pytest.fixture(scope="module")
def header() -> RunHeader:
    """A shard of a run with many options; one of its workloads is a file."""
    records = (builders.a_record(READS, options={"range_size": 10}), builders.a_record("own", written=OWN))
    header = builders.a_header(workloads=(READS, "own"), given=GIVEN)
    return replace(header, workloads=records)


def parsed(command: str) -> Namespace:
    program, *arguments = shlex.split(command)
    assert program == "shootout"
    return cli.parser().parse_args(arguments)


def cell(header: RunHeader, workload: str, server: str) -> Cell:
    return next(block.cell(server) for block in header.blocks if block.workload == workload)


@pytest.mark.parametrize(
    ("workload", "server", "expected"),
    [
        (READS, builders.HEAD, {"--workloads": READS, "--set options.range_size": "10"}),
        ("own", builders.HEAD, {"--workloads": OWN}),
        ("own", builders.BASE, {"--workloads": OWN, "--servers": builders.BASE}),
    ],
)
def test_a_cell_is_measured_again_as_it_was(
    header: RunHeader, workload: str, server: str, expected: dict[str, str]
) -> None:
    """Without what concerns the whole run: a shard of a single block is refused."""
    command = commands.measure_again(header, builders.BASE, cell(header, workload, server))
    assert Selection.from_arguments(parsed(command)).written == {
        "--profile": "quick", "--servers": f"{builders.BASE},{builders.HEAD}", "--threads": "1",
        "--seed": "20261120", "--set scale": "small", "--set load.protocol": "prepared",
        "--set load.reconnect": "true", **expected,
    }  # fmt: skip


def test_a_server_keeps_the_name_that_its_user_gave_it(header: RunHeader) -> None:
    """A repetition joins the history of that name; `=` in settings names nobody."""
    label = "mysql-8.0.12@flush=1"
    servers = (f"mine = {builders.BASE}", label)
    records = (
        replace(header.servers[0], label="mine"),
        replace(header.servers[1], label=label, reference=label),
    )
    named = replace(header, servers=records, profile=replace(header.profile, servers=servers))
    command = commands.measure_again(
        named, "mine", Cell(workload=READS, dataset="d", server=label, threads=1)
    )
    assert parsed(command).servers == f"mine={builders.BASE},{label}"


def test_a_run_is_repeated_on_any_machine(header: RunHeader) -> None:
    written = Selection.from_arguments(parsed(commands.repeat(header))).written
    left_out = ("--set port", "--data", "--shard")
    assert written == {flag: text for flag, text in renewed(GIVEN).items() if flag not in left_out}


def test_a_run_goes_on_with_its_keys() -> None:
    given = {"--set dataset.rows": "10", "--set build.command": "make -j2"}
    assert commands.go_on(given) == (
        "shootout run --set dataset.rows=10 --set 'build.command=make -j2' --resume"
    )


def test_a_run_is_judged_with_another_base(header: RunHeader) -> None:
    args = parsed(commands.judge_with_base(header, "a b"))
    assert (args.documents, args.base) == ([f"{header.run}.jsonl"], "a b")


def test_a_command_names_the_folder_of_a_run_that_is_not_in_the_default_one(
    header: RunHeader, tmp_path: Path
) -> None:
    out, changed = tmp_path / "here", cell(header, READS, builders.HEAD)
    assert commands.out_of(out / "results") == out
    args = parsed(commands.look_further("run", changed, out))
    assert (args.document, args.cell, args.out) == ("run", changed.name, out)
    assert commands.out_of(REPORTS / "results") is commands.out_of(tmp_path) is None
    assert parsed(commands.look_further("run", changed)).out == REPORTS


def test_a_command_is_repeated_without_passwords() -> None:
    given = ["soak", "--servers", "a=dsn:mysql://root:s3:c@t@h:1,b=mysql-5.7.22", "--resume"]
    said = "shootout soak --servers a=dsn:mysql://root@h:1,b=mysql-5.7.22"
    assert commands.again(given) == said
    assert commands.again(given, resume=True) == f"{said} --resume"
