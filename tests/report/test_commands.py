"""The commands that pages and issues print, as the command line reads them."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

import pytest
from msgspec.structs import replace

from shootout import cli
from shootout.inputs.options import Selection
from shootout.model.plan import Build, Cell, DatasetSize
from shootout.model.run import RunHeader
from shootout.model.workload import Gaussian, Pareto, Special, Uniform, Zipfian
from shootout.paths import REPORTS
from shootout.report import commands
from tests import builders

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
        (READS, builders.HEAD, {"--workloads": READS, "--option": "range_size=10"}),
        ("own", builders.HEAD, {"--workloads": OWN}),
        ("own", builders.BASE, {"--workloads": OWN, "--servers": builders.BASE}),
    ],
)
def test_a_cell_is_measured_again_as_it_was(
    header: RunHeader, workload: str, server: str, expected: dict[str, str]
) -> None:
    """Without what concerns the whole run: a shard of a single block is refused."""
    command = commands.measure_again(header, builders.BASE, cell(header, workload, server))
    assert Selection.of(parsed(command)).written == {
        "--profile": "quick", "--servers": f"{builders.BASE},{builders.HEAD}", "--threads": "1",
        "--seed": "20261120", "--scale": "small", "--protocol": "prepared", "--reconnect": "", **expected,
    }  # fmt: skip


def test_a_run_is_repeated_on_any_machine(header: RunHeader) -> None:
    written = Selection.of(parsed(commands.repeat(header))).written
    left_out = ("--port", "--data", "--shard")
    assert written == {flag: text for flag, text in GIVEN.items() if flag not in left_out}


def test_a_run_is_judged_with_another_base(header: RunHeader) -> None:
    found = parsed(commands.judge_with_base(header, "a b"))
    assert (found.documents, found.base) == ([Path(f"{header.run}.jsonl")], "a b")


def test_a_setting_is_tried_on_a_server_of_any_name() -> None:
    cell = Cell(workload="w", dataset="d", server="mysql-8.0.33 (path)", threads=8)
    found = parsed(commands.explain("r1", cell, "sql_mode=A B", Path("my out")))
    assert (found.document, found.cell, found.try_) == ("r1", "w-t8-mysql-8.0.33 (path)", ["sql_mode=A B"])
    assert found.out == Path("my out")
    assert parsed(commands.explain("r1", cell, "a=1", None)).out == REPORTS


def test_what_a_cell_did_is_counted_with_its_statements_and_settings(header: RunHeader) -> None:
    sent = builders.a_record(READS, options={"range_size": 10}, protocol="prepared")
    header = replace(header, workloads=(sent,))
    found = parsed(commands.count(header) or "")
    assert (found.base, found.head, found.workloads) == (builders.BASE, builders.HEAD, READS)
    assert found.protocol == "prepared"
    profile = replace(
        header.profile, settings="production", options={"range_size": 10, "other": 1},
        distribution=Uniform(), dataset=DatasetSize(engine="MyISAM"), build=Build(command="make", tree="out"),
    )  # fmt: skip
    own = "production + sync_binlog=0"
    other = replace(header.servers[1], reference="git:/src#main@sync_binlog=0", settings_name=own)
    base = replace(header.servers[0], settings_name="production")
    changed = replace(header, profile=profile, servers=(base, other))
    found = parsed(commands.count(changed) or "")
    assert (found.base, found.head) == (
        f"{builders.BASE}@production",
        "git:/src#main@production+sync_binlog=0",
    )
    assert (found.option, found.rand_type, found.engine) == ("range_size=10", "uniform", "MyISAM")
    assert (found.build, found.tree) == ("make", "out")
    for drawn in (Zipfian(exponent=1.1), Special(hot_percent=50), Gaussian(), Pareto()):
        skewed = replace(header, profile=replace(header.profile, distribution=drawn))
        given = Selection.of(parsed(commands.count(skewed) or ""))
        assert given.load.rand_type == drawn


@pytest.mark.parametrize(
    ("reference", "settings", "counted"),
    [
        ("path:/home/ann@corp/build", "production", "path:/home/ann@corp/build@production"),
        ("path:/home/ann@corp/build@production", "production", "path:/home/ann@corp/build@production"),
        ("path:/home/ann@corp/build@a=1", "production + a=1", "path:/home/ann@corp/build@production+a=1"),
        ("mysql-8.0.12@a=b@c", "production + a=b@c", "mysql-8.0.12@production+a=b@c"),
        ("mysql-8.0.12@defaults", "defaults", "mysql-8.0.12@defaults"),
    ],
)
def test_an_at_sign_may_be_part_of_a_place(
    reference: str, settings: str, counted: str, header: RunHeader
) -> None:
    head = replace(header.servers[1], reference=reference, settings_name=settings)
    changed = replace(
        header,
        profile=replace(header.profile, settings="production"),
        servers=(header.servers[0], head),
    )
    assert parsed(commands.count(changed) or "").head == counted


@pytest.mark.parametrize("reference", ["image:mysql:8.0", "dsn:mysql://u@localhost"])
def test_what_is_no_program_here_is_not_counted(reference: str, header: RunHeader) -> None:
    server = replace(header.servers[0], reference=reference)
    assert commands.count(replace(header, servers=(server, *header.servers[1:]))) is None
