"""The command that counts what a run's servers did, as the command line reads it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from shootout.count.evidence import count_command
from shootout.inputs.options import Selection
from shootout.model.plan import Build, DatasetSize
from shootout.model.run import RunHeader
from shootout.model.workload import Gaussian, Pareto, Special, Uniform, Zipfian
from tests.support import builders
from tests.unit.report.test_commands import parsed

READS = "oltp_read_only"


@pytest.fixture(scope="module")
def header() -> RunHeader:
    """A run of one workload with an option."""
    records = (builders.a_record(READS, options={"range_size": 10}),)
    return replace(builders.a_header(workloads=(READS,)), workloads=records)


def test_what_a_cell_did_is_counted_with_its_statements_and_settings(header: RunHeader) -> None:
    sent = builders.a_record(READS, options={"range_size": 10}, protocol="prepared")
    header = replace(header, workloads=(sent,))
    found = parsed(count_command(header) or "")
    assert (found.base, found.head, found.workloads) == (builders.BASE, builders.HEAD, READS)
    assert found.set == ["load.protocol=prepared"]
    profile = replace(
        header.profile, settings="production", options={"range_size": 10, "other": 1},
        distribution=Uniform(), dataset=DatasetSize(engine="MyISAM"), build=Build(command="make", tree="out"),
    )  # fmt: skip
    profile = replace(profile, servers=(f"mine={builders.BASE}", "git:/src#main"))
    own = "production + sync_binlog=0"
    other = replace(header.servers[1], reference="git:/src#main@sync_binlog=0", settings_name=own)
    base = replace(header.servers[0], label="mine", settings_name="production")
    changed = replace(header, profile=profile, servers=(base, other))
    found = parsed(count_command(changed) or "")
    assert (found.base, found.head) == (
        f"mine={builders.BASE}@production",
        "git:/src#main@production+sync_binlog=0",
    )
    sets = ["options.range_size=10", "distribution.type=uniform", "load.protocol=prepared"]
    sets += ["dataset.engine=MyISAM", "build.tree=out"]
    assert (found.build, found.set) == ("make", sets)
    for drawn in (Zipfian(exponent=1.1), Special(hot_percent=50), Gaussian(), Pareto()):
        skewed = replace(header, profile=replace(header.profile, distribution=drawn))
        given = Selection.from_arguments(parsed(count_command(skewed) or ""))
        assert (given.set or {})["distribution"] == msgspec.to_builtins(drawn)


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
        header, profile=replace(header.profile, settings="production"), servers=(header.servers[0], head),
    )  # fmt: skip
    assert parsed(count_command(changed) or "").head == counted


@pytest.mark.parametrize("reference", ["image:mysql:8.0", "dsn:mysql://u@localhost"])
def test_what_is_no_program_here_is_not_counted(reference: str, header: RunHeader) -> None:
    server = replace(header.servers[0], reference=reference)
    assert count_command(replace(header, servers=(server, *header.servers[1:]))) is None
