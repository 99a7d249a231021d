"""A count of a cell: its statements, and the functions that explain their change."""

from __future__ import annotations

import pytest
from msgspec import structs

from shootout.count import instructions, judge
from shootout.count.instructions import Instructions
from shootout.count.values import TRANSACTION, CountDocument, CountedFunctions
from shootout.model.plan import DatasetSize
from shootout.model.run import RunHeader
from tests.support import builders
from tests.support.count.builders import BASE, document, times

WORKLOAD = "oltp_read_write"
NAMES = (
    "do_command(THD*)", "memcpy@@GLIBC_2.14 [libc-2.31.so]", "memcpy@GLIBC_2.2.5 [libc.so.6]",
    "st_select_lex::prepare(THD*)", "Query_block::prepare(THD*)", "(unnamed)", "old_only", "new_only(int)",
)  # fmt: skip
THEIRS = {0: 4000.0, 1: 500.0, 3: 300.0, 5: 100.0, 6: 900.0}  # by name, instructions of a transaction
OWN = {0: 4010.0, 2: 480.0, 4: 700.0, 5: 700.0, 7: 1600.0}


def counted(head: float = 1.1, text: str = "") -> CountDocument:
    """The base, and a head with `head` times as many instructions; `text` is part of all names."""
    made = document({"base": BASE, "head": times(head)}, workload=WORKLOAD)
    profiles = (
        CountedFunctions(
            server=server, workload=WORKLOAD, kind=TRANSACTION, names=tuple(functions),
            exclusive=tuple(functions.values()), inclusive=tuple(functions.values()),
            allocations=1, system_calls=1,
        )
        for server, functions in (("base", THEIRS), ("head", OWN))
    )  # fmt: skip
    return structs.replace(made, functions=tuple(name + text for name in NAMES), profiles=tuple(profiles))


def instructions_found(made: CountDocument) -> Instructions:
    return instructions.compare_workload(judge.compare(made), WORKLOAD, ("base", "head"))


def test_every_statement_has_its_change_and_the_whole_comes_last() -> None:
    each = instructions_found(counted())
    assert [statement.kind.name for statement in each.statements] == [
        "select", "update", "begin + commit", "sum of kinds", TRANSACTION,
    ]  # fmt: skip
    assert each.whole.difference == pytest.approx(900, rel=0.01)


def test_functions_that_changed_in_the_same_direction_explain_it() -> None:
    whole = instructions_found(counted()).whole
    assert [(each.name, each.difference) for each in whole.explaining] == [
        ("new_only", 1600.0), ("Query_block::prepare", 400.0),
    ]  # fmt: skip
    names = {each.own.name: each.own.difference for each in whole.changed}
    assert names == {"new_only": 1600.0, "old_only": -900.0, "[mysqld]": 600.0, "Query_block::prepare": 400.0}


def test_what_needs_fewer_instructions_is_explained_by_those_that_are_gone() -> None:
    assert [each.name for each in instructions_found(counted(0.9)).whole.explaining] == ["old_only"]


def test_nothing_explains_no_change() -> None:
    whole = instructions_found(counted(1.001)).whole
    assert whole.explaining == ()
    assert whole.changed


def test_parts_add_up_to_the_whole() -> None:
    whole = instructions_found(counted()).whole
    assert sum(each.difference for each in whole.parts) == pytest.approx(whole.difference)
    assert {each.name for each in whole.parts} >= {instructions.BELOW, "libraries", "the network"}
    assert (whole.unnamed.base, whole.unnamed.head) == (100, 700)


def test_computed_kinds_have_no_functions() -> None:
    (frame,) = (each for each in instructions_found(counted()).statements if each.kind.less)
    assert (frame.functions, frame.parts, frame.explaining, frame.unnamed.head) == ((), (), (), 0)


def of_run(made: CountDocument) -> CountDocument:
    """The document, as if it had counted the servers of `header`."""
    servers = tuple(
        structs.replace(server, label=label)
        for label, server in zip(("base", "head"), header().servers, strict=True)
    )
    return structs.replace(made, servers=servers)


def header(**changes: object) -> RunHeader:
    """The header of a run with the document's statements; `changes` of its head."""
    made = builders.a_header(["base", "head"], [WORKLOAD], [8])
    base, head = made.servers
    return structs.replace(
        made,
        servers=(structs.replace(base, label="theirs"), structs.replace(head, label="own", **changes)),
        workloads=(builders.a_record(WORKLOAD),),
        digests={WORKLOAD: "d"},
    )


def test_the_servers_of_a_cell_are_known_by_build_and_settings() -> None:
    made = of_run(counted())
    other = structs.replace(made, run="another", servers=made.servers[:1], counts=())
    assert instructions.find(
        [other, made, structs.replace(made, run="older")], header()
    ) == instructions_found(made)
    assert instructions.find([made], header(settings_name="durable")) is None
    assert instructions.find([made], header(build="another")) is None
    other = structs.replace(made, datasets=(DatasetSize(engine="MyISAM").of_kind("sbtest"),))
    assert instructions.find([other], header()) is None
    assert instructions.find([], header()) is None


def test_another_way_to_send_statements_and_others_of_the_same_name_are_another_workload() -> None:
    made, record = of_run(counted()), builders.a_record(WORKLOAD, options={"range_size": 10})
    for other in ({"workloads": (record,)}, {"workloads": ()}, {"digests": {WORKLOAD: "other"}}):
        assert instructions.find([made], structs.replace(header(), **other)) is None
    assert instructions.find([structs.replace(made, kinds=())], header()) is None
