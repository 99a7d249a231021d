"""Placeholders: what they compile to, and the messages for wrong ones."""

from __future__ import annotations

import itertools
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shootout.inputs import workload
from shootout.model.plan import DatasetSize, Load
from shootout.model.program import Numbers, ProgramColumn, ProgramLearned
from shootout.model.workload import (
    Group,
    Integer,
    LastName,
    Learned,
    NuRand,
    Parameter,
    RangeEnd,
    Remote,
    RowId,
    Text,
)
from tests.unit.inputs.test_workload import ONCE, REPEATED, a_step, a_workload, compiled, complaint


def only_pieces(sql: str, **parameters: Parameter) -> tuple[str | int, ...]:
    return compiled(a_step(sql), parameters=parameters).transactions[0].steps[0].statements[0].pieces


LITERALS = st.text(string.printable, max_size=20)
PLACEHOLDERS = st.sampled_from(["table", "n", "t"])


@given(
    st.lists(st.one_of(LITERALS.map(lambda text: (text, None)), PLACEHOLDERS.map(lambda name: ("", name))))
)
def test_pieces_say_what_the_sql_says(parts: list[tuple[str, str | None]]) -> None:
    """Escapes are undone; texts are neither adjacent nor empty."""
    written = "".join(
        f"{{{name}}}" if name else text.replace("{", "{{").replace("}", "}}") for text, name in parts
    )
    expected = "".join(
        {"table": "sbtest\0", "n": "\1", "t": "\2"}.get(name or "", text) for text, name in parts
    )
    parameters: dict[str, Parameter] = {"n": RowId(), "t": Text(pattern="#")}
    if re.search(r"'\{t\}'", written):  # refused: see test_quotes_around_a_text
        return
    pieces = only_pieces(f"SELECT {{n}}{{t}} {written}", **parameters)
    joined = "".join("\0\1\2"[p + 1] if isinstance(p, int) else p for p in pieces)
    assert joined == f"SELECT \1\2 {expected}"
    assert "" not in pieces
    assert not any(isinstance(a, str) and isinstance(b, str) for a, b in itertools.pairwise(pieces))


def test_a_range_may_be_declared_before_its_start() -> None:
    program = compiled(
        a_step("SELECT {end}, {id}"), parameters={"end": RangeEnd(of="id", size=5), "id": RowId()}
    )
    assert program.parameters == (RowId(), RangeEnd(of=0, size=5))
    assert program.transactions[0].steps[0].statements[0].pieces == ("SELECT ", 1, ", ", 0)


def test_sizes_of_the_dataset_are_amounts() -> None:
    program = compiled(
        a_step("SELECT {w}, {last}", repeat="tables"),
        parameters={"w": Integer(min=1, max="rows"), "last": RangeEnd(of="w", distance="rows")},
    )
    assert program.transactions[0].steps[0].repeat == 3
    assert program.parameters == (Integer(min=1, max=100), RangeEnd(of=0, size=101))


def test_parameters_of_tpcc() -> None:
    program = compiled(
        a_step("SELECT {name}, {far}, {customer}"),
        dataset=DatasetSize(warehouses=7).of_kind("tpcc"),
        parameters={
            "name": LastName(of="number", per="transaction"),
            "far": Remote(of="home", min=1, max="warehouses", percent="far_percent"),
            "customer": NuRand(a=1023, c=5, min=1, max=3000),
            "home": Integer(min=1, max="warehouses", per="transaction"),
            "number": NuRand(a=255, c=1, min=0, max=999, per="transaction"),
        },
        options={"far_percent": 15},
    )
    assert (program.tables, program.rows) == (1, 1)
    assert program.parameters == (
        NuRand(a=1023, c=5, min=1, max=3000),
        Integer(min=1, max=7, per="transaction"),
        NuRand(a=255, c=1, min=0, max=999, per="transaction"),
        LastName(of=2, per="transaction"),
        Remote(of=1, min=1, max=7, percent=15),
    )


def test_a_group_has_parameters_of_its_own() -> None:
    parameters: dict[str, Parameter] = {
        "low": Integer(min=1, max=9),
        "high": RangeEnd(of="low", size=5),
        "once": Integer(min=1, max=2, per="transaction"),
        "g": Group(sql="{low}-{high}+{once}", count="n", separator=" | "),
    }
    program = compiled(a_step("SELECT {g}", "SELECT {g}, {low}"), parameters=parameters, options={"n": 2})
    one, two = program.transactions[0].steps[0].statements
    assert one.pieces == ("SELECT ", 3, "-", 4, "+", 1, " | ", 5, "-", 6, "+", 1)
    assert two.pieces == (*one.pieces, ", ", 0)  # the same throughout the step
    assert program.parameters[4] == RangeEnd(of=3, size=5)
    assert program.parameters[6] == RangeEnd(of=5, size=5)


def test_options_and_sizes_are_numbers_in_a_statement() -> None:
    program = compiled(a_step("SELECT {n} + {id} LIMIT {rows}"), parameters={"id": RowId()}, options={"n": 2})
    (statement,) = program.transactions[0].steps[0].statements
    assert statement.pieces == ("SELECT 2 + ", 0, f" LIMIT {compiled(a_step('SELECT 1')).rows}")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT {tabel}", "unknown placeholder {tabel}; did you mean 'table'?"),
        ("SELECT {}", "unknown placeholder {}; known: table, tables, rows"),
        ("SELECT { table }", "unknown placeholder { table }; did you mean 'table'?"),
        ("SELECT {table", "unbalanced '{' at character 8; a brace is '{{'"),
        ("SELECT table}", "unbalanced '}' at character 13; a brace is '}}'"),
        ("SELECT {{table}", "unbalanced '}' at character 15; a brace is '}}'"),
        ("", "is not a statement: ''"),
        ("  ", "is not a statement: '  '"),
    ],
)
def test_sql_that_cannot_be_read(sql: str, expected: str) -> None:
    message = complaint(a_step("SELECT 1"), a_step(sql))
    assert message == f"transactions[0].steps[1].statements[0].sql: {expected}"


def test_quotes_around_a_text() -> None:
    message = complaint(a_step("SELECT '{t}'"), parameters={"t": Text(pattern="#")})
    assert message.endswith("sql: remove the quotes around {t}: strings are quoted for you")


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (RangeEnd(of="idd", size=1), ".of: 'idd' is not a parameter; did you mean 'id'?"),
        (RangeEnd(of="p", size=1), ".of: 'p' cannot start a range; known: id"),
        (RangeEnd(of="id", size=0), ".size: expected 1 to 2147483647, found 0"),
        (RangeEnd(of="id", size="lenght"), ".size: unknown option 'lenght'; did you mean 'length'?"),
        (Integer(min=2, max=1), ".max: expected 2 (its min) or more, found 1"),
        (Integer(min=0, max=2**63), f".max: expected {-(2**63)} to {2**63 - 1}, found {2**63}"),
        (Text(pattern="it's"), '.pattern: must not contain "\'"'),
        (Text(pattern="\\"), ".pattern: must not contain '\\\\'"),
    ],
)
def test_a_wrong_parameter(parameter: Parameter, expected: str) -> None:
    step = a_step("SELECT {id}, {p}", repeat="length")
    message = complaint(step, parameters={"id": RowId(), "p": parameter}, options={"length": 1})
    assert message == f"parameters.p{expected}"


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (RangeEnd(of="n"), ": expected size or distance, found neither"),
        (RangeEnd(of="n", size=1, distance=1), ": expected size or distance, found both"),
        (RangeEnd(of="n", distance=-1), ".distance: expected 0 to 2147483647, found -1"),
        (RangeEnd(of="n", size=1, per="transaction"), ".per: 'n' changes with each repetition"),
        (Integer(min="n", max=1), ".min: unknown option 'n'; known: tables, rows"),
        (Remote(of="t", min=1, max=2, percent=1), ".of: 't' is not a number; "
         "did you mean 'n'?"),
        (Remote(of="n", min=1, max=2, percent=101), ".percent: expected 0 to 100, found 101"),
        (Remote(of="n", min=3, max=2, percent=1), ".max: expected 3 (its min) or more, found 2"),
        (NuRand(a=1, c=-1, min=1, max=2), ".c: expected 0 to 2147483647, found -1"),
        (LastName(of="t"), ".of: 't' cannot select a last name; did you mean 'n'?"),
        (LastName(of="big"), ".of: expected numbers from 0 to 999, found 'big'"),
        (Group(sql="{n}", count=0), ".count: expected 1 to 100000, found 0"),
        (Group(sql="{m}", count=1), ".sql: unknown placeholder {m}; did you mean 'n'?"),
        (Group(sql="{p}", count=1), ".sql: {p} is a group, and groups cannot be nested"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_of_another_kind(parameter: Parameter, expected: str) -> None:
    others = {"n": REPEATED, "t": Text(pattern="#"), "big": Integer(min=0, max=1000)}
    step = a_step("SELECT {n}, {t}, {big}, {p}")
    message = complaint(step, parameters={"p": parameter, **others})
    if "did you mean 'n'?" in expected:  # no name is near: all are listed
        expected = expected.partition("; did")[0]
    assert message.startswith(f"parameters.p{expected}")


DUMP = replace(DatasetSize().of_kind("dump"), digest="0")


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Learned(column="id"), ".column: expected TABLE.COLUMN, found 'id'"),
        (Learned(column="t.id", min=1, max=2), ": expected one of column, min and max, or values"),
        (Learned(min=2, max=1), ": expected min and max, in order"),
        (Learned(min=1), ": expected min and max, in order"),
        (Learned(min=0, max=2**63), f".max: expected {-(2**63)} to {2**63 - 1}, found {2**63}"),
        (Learned(min=1, max=2, difference=-(2**64)), f".difference: expected {-(2**63)} to {2**63 - 1}"),
        (Learned(hot=((0.1, 0.7), (0.2, 0.7))), ".hot: expected shares of at most 1 in all, found 1.4"),
        (Learned(of="p"), ".of: depends on itself"),
        (Learned(column="t.id", of="n", beside=True), ".beside: expected an `of` with a column of the same"),
        (Learned(of="t"), ".of: 't' is not a number; known: p, n"),
    ],
)
def test_a_wrong_learned_parameter(parameter: Parameter, expected: str) -> None:
    others = {"n": Integer(min=0, max=9), "t": Text(pattern="#")}
    message = complaint(a_step("SELECT {n}, {t}, {p}"), dataset=DUMP, parameters={"p": parameter, **others})
    assert message.startswith(f"parameters.p{expected}")


def test_learned_parameters_share_columns_and_sum_up_shares() -> None:
    parameters: dict[str, Parameter] = {
        "d": Learned(of="c", column="t.id", difference=5),
        "a": Learned(column="t.id", hot=((0.1, 0.25), (0.9, 0.5))),
        "b": Learned(column="t.id", fresh=True),
        "c": Learned(min=1, max=9),
    }
    made = a_workload(a_step("SELECT {a}, {b}, {c}, {d}"), parameters=parameters)
    program = workload.compile_program("mine", made, DUMP)
    a, b, c, d = program.parameters
    assert isinstance(a, ProgramLearned)
    assert isinstance(d, ProgramLearned)
    assert a.hot == ((0.1, 0.25), (0.9, 0.75))
    assert (d.of, d.column, d.difference) == (2, a.column, 5)
    assert program.columns == (
        ProgramColumn(name="t.id", fresh=True),
        ProgramColumn(values=Numbers(min=1, max=9), next=10),
    )
    assert [each.column for each in (b, c) if isinstance(each, ProgramLearned)] == [0, 1]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [("SELECT 1 FROM t{n}", "{n} is part of a name"), ("SELECT 1 IN ({list})", "{list} is a list")],
)
def test_what_only_a_text_can_have(sql: str, expected: str) -> None:
    parameters = {"n": Learned(min=1, max=2), "list": Learned(min=1, max=2, counts=(2.0,))}
    used: dict[str, Parameter] = {name: each for name, each in parameters.items() if f"{{{name}}}" in sql}
    compiled(a_step(sql), parameters=used)
    message = complaint(a_step(sql), parameters=used, load=Load(protocol="prepared"))
    assert message.endswith(f"sql: {expected}, where a prepared statement takes no parameter")


def test_columns_need_a_dump_and_row_ids_need_sbtest() -> None:
    message = complaint(a_step("SELECT {p}"), parameters={"p": Learned(column="t.id")})
    assert message == "parameters.p.column: needs a dump, the dataset is sbtest"
    own = DatasetSize().of_kind("own")
    message = complaint(a_step("SELECT {id}"), dataset=own, parameters={"id": RowId()})
    assert message == "parameters.id: row_id needs sbtest, the dataset is own; use an integer"
    message = complaint(a_step("SELECT * FROM {table}"), dataset=own)
    assert message.endswith(".statements[0].sql: unknown placeholder {table}; known: files")
    message = complaint(a_step("SELECT 1", repeat="rows"), dataset=own)
    assert message == "transactions[0].steps[0].repeat: unknown option 'rows'; there are none"


@pytest.mark.parametrize(
    ("parameter", "options", "expected"),
    [
        ("n", {"rows": 1}, "options.rows: the dataset has a size of that name; rename the option"),
        ("n", {"n": 1}, "options.n: a parameter has that name; rename the option"),
        ("table", {}, "parameters.table: {table} is the table; rename the parameter"),
    ],
)
def test_a_name_has_one_meaning(parameter: str, options: dict[str, int], expected: str) -> None:
    message = complaint(a_step(f"SELECT {{{parameter}}}"), parameters={parameter: ONCE}, options=options)
    assert message == expected


@pytest.mark.parametrize(
    "sql", ["SELECT 'a{n}'", 'SELECT "{n}"', "SELECT `{n}` FROM t", "SELECT 'it''s {n}'"]
)
def test_a_prepared_statement_has_no_values_in_quotes(sql: str) -> None:
    parameters: dict[str, Parameter] = {"n": REPEATED}
    compiled(a_step(sql), parameters=parameters)
    message = complaint(a_step(sql), parameters=parameters, load=Load(protocol="prepared"))
    assert message.endswith("sql: {n} is inside quotes, where a prepared statement takes no parameter")
    compiled(a_step("SELECT 'a', {n}, 'b'"), parameters=parameters, load=Load(protocol="prepared"))


def test_every_name_must_be_used() -> None:
    unused = "is not used by any statement or step"
    assert complaint(a_step("SELECT 1"), parameters={"id": RowId()}) == f"parameters.id: {unused}"
    assert complaint(a_step("SELECT 1"), options={"n": 1}) == f"options.n: {unused}"
