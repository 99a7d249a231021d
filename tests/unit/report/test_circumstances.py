"""The circumstances of a run, as people read them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from shootout.analysis import compare
from shootout.model.plan import Load
from shootout.model.run import COMPARES, NOT_COMPARED, OTHER_ROWS, ServerRecord, SettingRecord, Warning
from shootout.model.workload import Uniform, Zipfian
from shootout.report import circumstances
from tests.support import builders

OPTIONS = {"range_size": 10, "delta": 2}


@pytest.mark.parametrize(
    ("changes", "workload", "expected"),
    [
        ({}, None, ""),
        ({}, "oltp_read_only", ""),
        ({"load": Load(protocol="prepared")}, None, "prepared statements"),
        ({"load": Load(protocol="prepared")}, "oltp_read_only", "prepared statements"),
        ({"load": Load(protocol="prepared")}, "bulk_insert", ""),
        ({"load": Load(rate=250)}, None, "250 transactions/s with poisson arrivals"),
        ({"load": Load(think_s=0.5, think="exponential")}, None, "exponential think time of 0.5 s"),
        ({"load": Load(reconnect=True)}, None, "lost connections reopened"),
        ({"options": OPTIONS}, None, "range_size = 10, delta = 2"),
        ({"options": OPTIONS}, "oltp_read_only", "range_size = 10"),
        ({"distribution": Uniform()}, None, "uniform rows"),
        ({"distribution": Zipfian(exponent=1.5)}, None, "zipfian rows exponent = 1.5"),
    ],
)
def test_conditions_are_said_where_they_are_not_the_usual(
    changes: dict[str, object], workload: str | None, expected: str
) -> None:
    header = builders.a_header()
    profile = replace(header.profile, **changes)
    prepared = profile.load.protocol
    records = (
        builders.a_record("oltp_read_only", protocol=prepared, options={"range_size": 10}),
        builders.a_record("bulk_insert"),
    )
    header = replace(header, profile=profile, workloads=records)
    assert circumstances.conditions(header, workload) == expected


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("reads and writes at 1, 8 and 32 threads, in 75 minutes", "reads and writes at 1, 8 and 32 threads"),
        ("reads and writes, in about eight minutes", "reads and writes"),
        ("1 to 4096 connections in an hour and a quarter", "1 to 4096 connections"),
        ("all data in memory; newer ones beside it", "all data in memory; newer ones beside it"),
    ],
)
def test_what_a_profile_promises_does_not_stand_beside_how_long_the_run_took(
    description: str, said: str
) -> None:
    header = builders.a_header()
    header = replace(header, profile=replace(header.profile, description=description))
    assert circumstances.about(header) == said


@pytest.mark.parametrize(
    ("given", "codes", "same"),
    [
        ({COMPARES: ""}, (), True),
        ({COMPARES: ""}, (OTHER_ROWS,), False),
        ({COMPARES: ""}, (NOT_COMPARED,), False),
        ({}, (), False),
    ],
)
def test_that_every_server_returns_the_same_rows_stands_beside_the_conditions(
    given: dict[str, str], codes: Sequence[str], same: bool
) -> None:
    header = builders.a_header(workloads=["oltp_point_select"], threads=[1])
    base, head, *others = header.servers
    head = replace(head, warnings=tuple(Warning(code=code, text="t") for code in codes))
    header = replace(header, given=given, servers=(base, head, *others))
    said = circumstances.setup(compare.compare(builders.a_run(header)))
    assert ("every server returns the base's rows" in said) is same


def _server(label: str, **settings: str) -> ServerRecord:
    records = [SettingRecord(name=n, requested=None, effective=v, differs=False) for n, v in settings.items()]
    return builders.a_server(label, settings=tuple(records), build=label)


def test_of_many_servers_the_defaults_known_to_cost_are_said_and_where() -> None:
    """A query cache that is off and none are the same."""
    base = _server("base", back_log="1", query_cache_bytes="0", performance_schema="OFF")
    same = _server("a", back_log="2", performance_schema="OFF")
    others = [_server(label, back_log="2", performance_schema="ON") for label in ("b", "c")]
    header = replace(
        builders.a_header(["base", "a", "b", "c"], ["oltp_point_select"], [1]), servers=(base, same, *others)
    )
    comparison = compare.compare(builders.a_run(header, failing=False))
    assert circumstances.setting_differences(comparison) == (
        "Defaults that differ from base's (in parentheses): performance_schema (OFF) on b, c",
    )
