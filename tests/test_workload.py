from __future__ import annotations

import itertools
import re
import string
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout import workload
from shootout._engine import Engine
from shootout.errors import InputError
from shootout.model import (
    Dataset,
    Integer,
    Parameter,
    Program,
    ProgramInteger,
    ProgramKind,
    ProgramRangeEnd,
    ProgramStatement,
    RangeEnd,
    RowId,
    Special,
    Step,
    Text,
    Transaction,
    Uniform,
    Workload,
    WorkloadStatement,
)

SHIPPED = ("oltp_point_select", "oltp_read_only", "oltp_read_write")
DATASET = Dataset(tables=3, rows=100)


def a_step(*sqls: str, name: str = "s", repeat: int | str = 1) -> Step:
    statements = tuple(WorkloadStatement(name=f"{name}{i or ''}", sql=sql) for i, sql in enumerate(sqls))
    return Step(statements=statements, repeat=repeat)


def a_workload(
    *steps: Step,
    parameters: dict[str, Parameter] | None = None,
    options: dict[str, int] | None = None,
    skip_trx: int | str = 1,
    **fields: object,
) -> Workload:
    return Workload(
        title="t",
        description="d",
        transactions=(Transaction(steps=steps, skip_trx=skip_trx),),
        parameters=parameters or {},
        options=options or {},
    )


def compiled(*steps: Step, **fields: object) -> Program:
    program = workload.compile("mine", a_workload(*steps, **fields), DATASET)  # type: ignore[arg-type]
    Engine(msgspec.json.encode(program), 1)  # the engine understands whatever we compile
    return program


def only_pieces(sql: str, **parameters: Parameter) -> tuple[str | int, ...]:
    return compiled(a_step(sql), parameters=parameters).transactions[0].steps[0].statements[0].pieces


def complaint(*steps: Step, **fields: object) -> str:
    with pytest.raises(InputError) as caught:
        workload.compile("mine", a_workload(*steps, **fields), DATASET)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.startswith("workload mine: ")
    assert "\n" not in message
    return message.removeprefix("workload mine: ")


# --- what is shipped --------------------------------------------------------------------------------


def text_of(program: Program, statement: ProgramStatement) -> str:
    """The statement with everything drawn replaced by `?`, and table number 7."""
    pieces = ("7" if p == -1 else "?" if isinstance(p, int) else p for p in statement.pieces)
    return "".join(pieces)


def sent(program: Program) -> dict[str, tuple[int, str]]:
    """For each kind: how often a transaction sends it, and its text."""
    [transaction] = program.transactions
    return {
        program.kinds[statement.kind].name: (step.repeat, text_of(program, statement))
        for step in transaction.steps
        for statement in step.statements
    }


READS = {
    "point_select": (10, "SELECT c FROM sbtest7 WHERE id=?"),
    "simple_range": (1, "SELECT c FROM sbtest7 WHERE id BETWEEN ? AND ?"),
    "sum_range": (1, "SELECT SUM(k) FROM sbtest7 WHERE id BETWEEN ? AND ?"),
    "order_range": (1, "SELECT c FROM sbtest7 WHERE id BETWEEN ? AND ? ORDER BY c"),
    "distinct_range": (1, "SELECT DISTINCT c FROM sbtest7 WHERE id BETWEEN ? AND ? ORDER BY c"),
}
WRITES = {
    "index_update": (1, "UPDATE sbtest7 SET k=k+1 WHERE id=?"),
    "non_index_update": (1, "UPDATE sbtest7 SET c=? WHERE id=?"),
    "delete": (1, "DELETE FROM sbtest7 WHERE id=?"),
    "insert": (1, "INSERT INTO sbtest7 (id, k, c, pad) VALUES (?, ?, ?, ?)"),
}


@pytest.mark.parametrize(
    ("name", "expected", "begin"),
    [
        ("oltp_point_select", {"point_select": (1, READS["point_select"][1])}, False),
        ("oltp_read_only", READS, True),
        ("oltp_read_write", READS | WRITES, True),
    ],
)
def test_what_sysbench_sends(name: str, expected: dict[str, tuple[int, str]], begin: bool) -> None:
    program = workload.compile(name, workload.load(name), DATASET)
    assert sent(program) == expected
    assert program.transactions[0].begin is begin
    assert not program.transactions[0].rollback
    assert program.distribution == Special(iterations=12, hot_range_percent=1, hot_percent=75)
    assert (program.tables, program.rows) == (3, 100)
    frame = ["begin", "commit"] if begin else []
    assert [kind.name for kind in program.kinds] == [*expected, *frame]
    for kind in program.kinds:
        of_frame = "other" if kind.name in frame else "read"
        assert kind.effect == ("write" if kind.name in WRITES else of_frame)


def test_the_parameters_are_sysbenchs() -> None:
    program = workload.compile("w", workload.load("oltp_read_write"), DATASET)
    row, k, c, pad, end = program.parameters
    assert row == k == RowId()
    assert end == ProgramRangeEnd(of=0, size=100)
    assert isinstance(c, Text)
    assert isinstance(pad, Text)
    assert (c.pattern, len(c.pattern)) == ("-".join(["#" * 11] * 10), 119)
    assert (pad.pattern, len(pad.pattern)) == ("-".join(["#" * 11] * 5), 59)
    *_, step = program.transactions[0].steps
    delete, insert = step.statements
    assert [p for p in delete.pieces if isinstance(p, int)] == [-1, 0]
    assert [p for p in insert.pieces if isinstance(p, int)] == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_engine_takes_what_is_shipped(name: str) -> None:
    Engine(msgspec.json.encode(workload.compile(name, workload.load(name), Dataset())), 1)


# --- compiling --------------------------------------------------------------------------------------


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'title = "t"\ndescription = "d"\ndistribution = { type = "uniform" }\n'
        '[[transactions]]\nweight = 3\nsteps = [{ statements = [{ name = "a", sql = "SELECT {n}" }] }]\n'
        '[parameters]\nn = { type = "integer", min = -1, max = 1 }\n'
    )
    program = workload.compile(str(path), workload.load(str(path)), DATASET)
    assert program.distribution == Uniform()
    assert program.transactions[0].weight == 3
    assert program.parameters == (ProgramInteger(min=-1, max=1),)


def test_an_unknown_workload() -> None:
    with pytest.raises(
        InputError, match=r"^unknown workload 'oltp_readonly'; did you mean 'oltp_read_only'\?$"
    ):
        workload.load("oltp_readonly")


def test_quotes_are_the_engines() -> None:
    pieces = only_pieces("SELECT {n}, {t}", n=Integer(min=1, max=2), t=Text(pattern="#@"))
    assert pieces == ("SELECT ", 0, ", ", 1)


def test_doubled_braces_are_braces() -> None:
    assert only_pieces("SELECT '{{{n}}}'", n=RowId()) == ("SELECT '{", 0, "}'")


def test_neighbouring_texts_become_one_piece() -> None:
    assert only_pieces("SELECT 1 FROM {table}x{table}") == ("SELECT 1 FROM sbtest", -1, "xsbtest", -1)


LITERALS = st.text(string.printable, max_size=20)
PLACEHOLDERS = st.sampled_from(["table", "n", "t"])


@given(
    st.lists(st.one_of(LITERALS.map(lambda text: (text, None)), PLACEHOLDERS.map(lambda name: ("", name))))
)
def test_pieces_say_what_the_sql_says(parts: list[tuple[str, str | None]]) -> None:
    """Whatever is escaped comes back; texts never touch, and there are no empty ones."""
    written = "".join(
        f"{{{name}}}" if name else text.replace("{", "{{").replace("}", "}}") for text, name in parts
    )
    meant = "".join({"table": "sbtest\0", "n": "\1", "t": "\2"}.get(name or "", text) for text, name in parts)
    parameters: dict[str, Parameter] = {"n": RowId(), "t": Text(pattern="#")}
    if re.search(r"'\{t\}'", written):  # refused, see below
        return
    pieces = only_pieces(f"SELECT {{n}}{{t}} {written}", **parameters)
    joined = "".join("\0\1\2"[p + 1] if isinstance(p, int) else p for p in pieces)
    assert joined == f"SELECT \1\2 {meant}"
    assert "" not in pieces
    assert not any(isinstance(a, str) and isinstance(b, str) for a, b in itertools.pairwise(pieces))


@pytest.mark.parametrize(
    ("sql", "effect"),
    [
        ("select 1", "read"),
        ("  (SELECT 1) UNION (SELECT 2)", "read"),
        ("/* a\nhint */ SHOW TABLES", "read"),
        ("INSERT INTO x VALUES (1)", "write"),
        ("update x set y=1", "write"),
        ("DELETE FROM x", "write"),
        ("REPLACE INTO x VALUES (1)", "write"),
        ("SET @a=1", "other"),
        ("CALL p()", "other"),
        ("SELECTED", "other"),
    ],
)
def test_the_first_word_says_what_a_statement_does(sql: str, effect: str) -> None:
    assert [kind.effect for kind in compiled(a_step(sql)).kinds] == [effect]


def test_kinds_stand_in_the_order_of_the_file_then_the_frame() -> None:
    program = compiled(a_step("SELECT 1", name="b"), a_step("SET a=1", "DO 1", name="a"), skip_trx=0)
    assert program.kinds == (
        ProgramKind(name="b", effect="read"),
        ProgramKind(name="a", effect="other"),
        ProgramKind(name="a1", effect="other"),
        ProgramKind(name="begin", effect="other"),
        ProgramKind(name="commit", effect="other"),
    )


def test_statements_of_one_name_are_one_kind() -> None:
    program = compiled(a_step("SELECT 1"), a_step("SELECT 2"))
    assert [s.kind for step in program.transactions[0].steps for s in step.statements] == [0, 0]


def test_a_range_may_be_declared_before_its_start() -> None:
    program = compiled(
        a_step("SELECT {end}, {id}"), parameters={"end": RangeEnd(of="id", size=5), "id": RowId()}
    )
    assert program.parameters == (RowId(), ProgramRangeEnd(of=0, size=5))
    assert program.transactions[0].steps[0].statements[0].pieces == ("SELECT ", 1, ", ", 0)


def test_the_start_of_a_range_need_not_be_sent() -> None:
    compiled(a_step("SELECT {end}"), parameters={"end": RangeEnd(of="id", size=5), "id": RowId()})


def test_options_fill_in_amounts_and_zero_times_is_not_sent() -> None:
    program = compiled(
        a_step("SELECT {end}, {id}", repeat="often"),
        a_step("SELECT 2", repeat="never"),
        parameters={"id": RowId(), "end": RangeEnd(of="id", size="size")},
        options={"often": 7, "never": 0, "size": 30},
    )
    assert [step.repeat for step in program.transactions[0].steps] == [7]
    assert program.parameters[1] == ProgramRangeEnd(of=0, size=30)


# --- what is wrong with it --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT {tabel}", "unknown placeholder {tabel}; did you mean 'table'?"),
        ("SELECT {}", "unknown placeholder {}; known: table"),
        ("SELECT { table }", "unknown placeholder { table }; did you mean 'table'?"),
        ("SELECT {table", "unbalanced '{' at character 8; a brace is '{{'"),
        ("SELECT table}", "unbalanced '}' at character 13; a brace is '}}'"),
        ("SELECT {{table}", "unbalanced '}' at character 15; a brace is '}}'"),
        ("", "is not a statement: ''"),
        ("  ", "is not a statement: '  '"),
    ],
)
def test_sql_that_cannot_be_read(sql: str, expected: str) -> None:
    assert (
        complaint(a_step("SELECT 1"), a_step(sql))
        == f"transactions[0].steps[1].statements[0].sql: {expected}"
    )


def test_quotes_around_a_text() -> None:
    message = complaint(a_step("SELECT '{t}'"), parameters={"t": Text(pattern="#")})
    assert message.endswith("sql: the quotes around {t} are one pair too many: texts get their own")


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
    ("repeat", "expected"),
    [
        (-1, "transactions[0].steps[0].repeat: expected 0 to 2147483647, found -1"),
        ("n", "options.n: expected 0 to 2147483647, found -2"),
        ("m", "transactions[0].steps[0].repeat: unknown option 'm'; known: n, tables, rows"),
    ],
)
def test_a_wrong_repeat(repeat: int | str, expected: str) -> None:
    steps = (a_step("SELECT 1", repeat=repeat), a_step("SELECT 2", repeat="n"))
    assert complaint(*steps, options={"n": -2}) == expected


def test_a_transaction_that_sends_nothing() -> None:
    message = complaint(a_step("SELECT 1", repeat=0), skip_trx=0)
    assert message == "transactions[0]: sends nothing: all of its steps have repeat 0"


def test_what_is_not_used_is_a_slip_of_the_pen() -> None:
    unused = "is not used by any statement or step"
    assert complaint(a_step("SELECT 1"), parameters={"id": RowId()}) == f"parameters.id: {unused}"
    assert complaint(a_step("SELECT 1"), options={"n": 1}) == f"options.n: {unused}"


def test_a_parameter_named_table() -> None:
    message = complaint(a_step("SELECT {table}"), parameters={"table": RowId()})
    assert message == "parameters.table: {table} is the table; give the parameter another name"


def test_one_name_for_a_read_and_a_write() -> None:
    message = complaint(a_step("SELECT 1", name="x"), a_step("DELETE FROM {table}", name="x"))
    assert message == (
        "transactions[0].steps[1].statements[0].name: "
        "'x' is a write here and a read before; give one another name"
    )


@pytest.mark.parametrize("name", ["begin", "commit", "rollback"])
def test_the_engines_own_names(name: str) -> None:
    message = complaint(a_step("SELECT 1", name=name))
    assert message.endswith(f"name: {name!r} is kept for what the engine sends by itself")
