from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shootout._engine import Engine
from shootout.errors import InputError
from shootout.inputs import workload
from shootout.model.plan import Dataset, DatasetSize, Load
from shootout.model.program import Closed, Open, Program, ProgramStatement
from shootout.model.value import Protocol
from shootout.model.workload import (
    Check,
    Group,
    Integer,
    Parameter,
    RangeEnd,
    Repetition,
    Result,
    RowId,
    Sequence,
    Special,
    Step,
    Text,
    Thread,
    Transaction,
    Uniform,
    Workload,
    WorkloadStatement,
)

DATASET = Dataset(tables=3, rows=100)
REPEATED, ONCE = Integer(min=0, max=9), Integer(min=0, max=9, per="transaction")


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
        **fields,  # type: ignore[arg-type]
    )


def compiled(
    *steps: Step, dataset: Dataset = DATASET, load: Load = workload.CLOSED_LOOP, **fields: object
) -> Program:
    program = workload.compile_program("mine", a_workload(*steps, **fields), dataset, load)  # type: ignore[arg-type]
    Engine(msgspec.json.encode(program), 1)  # the engine accepts whatever compiles
    return program


def complaint(
    *steps: Step, dataset: Dataset = DATASET, load: Load = workload.CLOSED_LOOP, **fields: object
) -> str:
    with pytest.raises(InputError) as caught:
        workload.compile_program("mine", a_workload(*steps, **fields), dataset, load)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.startswith("workload mine: ")
    assert "\n" not in message
    return message.removeprefix("workload mine: ")


def text_of(program: Program, statement: ProgramStatement) -> str:
    """The statement with `?` for everything drawn, and table number 7."""
    pieces = ("7" if p == -1 else "?" if isinstance(p, int) else p for p in statement.pieces)
    return "".join(pieces)


def sent(program: Program) -> dict[str, tuple[int, str]]:
    """Find how often a transaction sends each kind, and its text."""
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
    program = workload.compile_program(name, workload.load(name), DATASET)
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
    program = workload.compile_program("w", workload.load("oltp_read_write"), DATASET)
    row, k, c, pad, end = program.parameters
    assert row == k == RowId()
    assert end == RangeEnd(of=0, size=100)
    assert isinstance(c, Text)
    assert isinstance(pad, Text)
    assert (c.pattern, len(c.pattern)) == ("-".join(["#" * 11] * 10), 119)
    assert (pad.pattern, len(pad.pattern)) == ("-".join(["#" * 11] * 5), 59)
    *_, step = program.transactions[0].steps
    delete, insert = step.statements
    assert [p for p in delete.pieces if isinstance(p, int)] == [-1, 0]
    assert [p for p in insert.pieces if isinstance(p, int)] == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize("name", sorted(path.stem for path in workload.FOLDER.glob("*.toml")))
@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_the_engine_takes_what_is_shipped(name: str, protocol: Protocol) -> None:
    loaded = workload.load(name)
    program = workload.compile_program(
        name, loaded, workload.dataset_of(loaded, DatasetSize(), name), Load(protocol=protocol)
    )
    Engine(msgspec.json.encode(program), 1)
    assert program.prepared is (loaded.protocol != "text" and protocol == "prepared")


def test_random_ranges_are_sysbenchs() -> None:
    program = workload.compile_program("w", workload.load("select_random_ranges"), DATASET)
    [transaction] = program.transactions
    assert not transaction.begin
    assert sent(program)["random_ranges"] == (
        1,
        "SELECT count(k) FROM sbtest1 WHERE " + " OR ".join(["k BETWEEN ? AND ?"] * 10),
    )
    used = [p for p in transaction.steps[0].statements[0].pieces if isinstance(p, int)]
    assert len(set(used)) == 20
    for start, end in zip(used[::2], used[1::2], strict=True):
        assert program.parameters[start] == RowId(own_share=True)
        assert program.parameters[end] == RangeEnd(of=start, size=6)  # delta is between them


def test_bulk_insert_counts_on_through_its_rows() -> None:
    chosen = workload.with_options(workload.load("bulk_insert"), {"rows_per_insert": 3}, None)
    program = workload.compile_program("w", chosen, DatasetSize().of_kind("own"))
    assert sent(program) == {"insert": (1, "INSERT INTO sbtest? VALUES(?,?),(?,?),(?,?)")}
    thread, *values = (p for p in program.transactions[0].steps[0].statements[0].pieces if isinstance(p, int))
    assert program.parameters[thread] == Thread()
    assert values[::2] == values[1::2]  # id and k are one number
    assert [program.parameters[index] for index in dict.fromkeys(values)] == [Sequence()] * 3
    setup = workload.setup(chosen, DatasetSize().of_kind("own"), threads=2)
    assert [re.sub(r"\(.*", "", sql).strip() for sql in setup] == [
        f"{verb} sbtest{number}" for verb in ("DROP TABLE IF EXISTS", "CREATE TABLE") for number in (1, 2)
    ]


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'title = "t"\ndescription = "d"\ndistribution = { type = "uniform" }\n'
        '[[transactions]]\nweight = 3\nsteps = [{ statements = [{ name = "a", sql = "SELECT {n}" }] }]\n'
        '[parameters]\nn = { type = "integer", min = -1, max = 1 }\n'
    )
    program = workload.compile_program(str(path), workload.load(str(path)), DATASET)
    assert program.distribution == Uniform()
    assert program.transactions[0].weight == 3
    assert program.parameters == (Integer(min=-1, max=1),)


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
        ("CALL p()", "write"),
        ("WITH a AS (SELECT 1) SELECT ')DELETE' FROM a WHERE b IN (1) FOR UPDATE", "read"),
        ("WITH a AS (SELECT 1), b AS (SELECT 2)\n/* c */ update x, a SET y=1", "write"),
        ("with a as (select 1) delete from x", "write"),
        ("SELECTED", "other"),
    ],
)
def test_the_first_word_or_that_after_with_says_what_a_statement_does(sql: str, effect: str) -> None:
    assert [kind.effect for kind in compiled(a_step(sql)).kinds] == [effect]


def test_kinds_stand_in_the_order_of_the_file_then_the_frame() -> None:
    program = compiled(a_step("SELECT 1", name="b"), a_step("SET a=1", "DO 1", name="a"), skip_trx=0)
    assert [(kind.name, kind.effect) for kind in program.kinds] == [
        ("b", "read"), ("a", "other"), ("a1", "other"), ("begin", "other"), ("commit", "other")
    ]  # fmt: skip


def test_options_fill_in_amounts_and_zero_times_is_not_sent() -> None:
    program = compiled(
        a_step("SELECT {end}, {id}", repeat="often"),
        a_step("SELECT 2", repeat="never"),
        parameters={"id": RowId(), "end": RangeEnd(of="id", size="size")},
        options={"often": 7, "never": 0, "size": 30},
    )
    assert [step.repeat for step in program.transactions[0].steps] == [7]
    assert program.parameters[1] == RangeEnd(of=0, size=30)


def test_a_parameter_says_how_often() -> None:
    often = Integer(min=5, max=15, per="transaction")
    parameters: dict[str, Parameter] = {"n": often, "i": Repetition()}
    program = compiled(a_step("SELECT 1"), a_step("SELECT {i}", repeat="n"), parameters=parameters)
    _, step = program.transactions[0].steps
    assert (step.repeat, step.repeat_of) == (1, 0)


@pytest.mark.parametrize("sql", ["SELECT 1, 2", "CALL p()"])
def test_results_are_handed_on(sql: str) -> None:
    first = WorkloadStatement(name="a", sql=sql, into=("x", "y"))
    program = compiled(
        Step(statements=(first,)), a_step("SELECT {y}"), parameters={"x": Result(), "y": Result(number=True)}
    )
    steps = program.transactions[0].steps
    assert steps[0].statements[0].into == (0, 1)
    assert steps[1].statements[0].pieces == ("SELECT ", 1)


@pytest.mark.parametrize(
    ("skip_trx", "end", "begins", "rolls_back", "frame"),
    [
        (0, "commit", True, False, ["begin", "commit"]),
        (0, "rollback", True, True, ["begin", "rollback"]),
        (1, "rollback", False, False, []),
        ("off", "commit", True, False, ["begin", "commit"]),
    ],
)
def test_the_frame(skip_trx: int | str, end: str, begins: bool, rolls_back: bool, frame: list[str]) -> None:
    transaction = Transaction(steps=(a_step("SELECT 1"),), skip_trx=skip_trx, end=end)  # type: ignore[arg-type]
    options = {"off": 0} if skip_trx == "off" else {}
    mine = msgspec.structs.replace(a_workload(options=options), transactions=(transaction,))
    program = workload.compile_program("mine", mine, DATASET)
    assert (program.transactions[0].begin, program.transactions[0].rollback) == (begins, rolls_back)
    assert [kind.name for kind in program.kinds] == ["s", *frame]


@pytest.mark.parametrize(
    ("load", "pace"),
    [
        (Load(), Closed()),
        (Load(think_s=0.5), Closed(think_s=0.5)),
        (Load(think_s=0.5, think="exponential"), Closed(think_s=0.5, exponential=True)),
        (Load(rate=100), Open(rate=100)),
        (Load(rate=0.5, arrivals="uniform"), Open(rate=0.5, poisson=False)),
    ],
)
def test_the_load_is_the_programs_pace(load: Load, pace: Closed | Open) -> None:
    assert compiled(a_step("SELECT 1"), load=load).pace == pace


def test_a_workload_may_keep_to_one_protocol() -> None:
    prepared = Load(protocol="prepared", reconnect=True)
    assert compiled(a_step("SELECT 1"), load=prepared).prepared
    assert compiled(a_step("SELECT 1"), load=prepared).reconnect
    assert not compiled(a_step("SELECT 1"), load=prepared, protocol="text").prepared
    assert compiled(a_step("SELECT 1"), protocol="prepared").prepared


def test_setup_and_checks_know_the_numbers() -> None:
    mine = a_workload(
        a_step("SELECT 1"),
        options={"n": 4},
        setup=("CREATE TABLE t (a INT)", "INSERT INTO t VALUES ({thread} * {n})", "SELECT '{{}}'"),
        checks=(Check(name="few", sql="SELECT * FROM t WHERE a > {n} * {rows}"),),
    )
    workload.compile_program("mine", mine, DATASET)
    assert workload.setup(mine, DATASET, threads=3) == (
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1 * 4)",
        "INSERT INTO t VALUES (2 * 4)",
        "INSERT INTO t VALUES (3 * 4)",
        "SELECT '{}'",
    )
    (check,) = workload.checks(mine, DATASET)
    assert check == Check(name="few", sql="SELECT * FROM t WHERE a > 4 * 100")


def test_options_and_distribution_are_adjusted() -> None:
    loaded = workload.load("oltp_read_write")
    mine = workload.with_options(loaded, {"range_size": 7, "delta": 1}, Uniform())
    assert mine.options == loaded.options | {"range_size": 7}
    assert mine.distribution == Uniform()
    assert workload.with_options(loaded, {}, None) == loaded


REPEAT = "transactions[0].steps[0].repeat"


@pytest.mark.parametrize(
    ("often", "expected"),
    [
        (REPEATED, f"{REPEAT}: parameter 'n' is drawn for each repetition; give it per = \"transaction\""),
        (Text(pattern="#", per="transaction"), f"{REPEAT}: 'n' cannot be a repeat count; there are none"),
        (ONCE, "transactions[0]: may send nothing: expected a step that no parameter repeats"),
        (Integer(min=-1, max=9, per="transaction"),
         "parameters.n.min: expected 0 or more, as it is a repeat count, found -1"),
    ],
)  # fmt: skip
def test_what_cannot_say_how_often(often: Parameter, expected: str) -> None:
    assert complaint(a_step("SELECT 1", repeat="n"), parameters={"n": often}) == expected


@pytest.mark.parametrize(
    ("sql", "into", "expected"),
    [
        ("SELECT {x}", ("x",), "sql: {x} is not the result of an earlier statement"),
        ("SELECT 1", ("x", "n"), "into[1]: 'n' is not a result; known: x"),
        ("SELECT 1", ("y",), "into[0]: 'y' is not a parameter; known: x"),
        ("DELETE FROM t", ("x",), "into: a statement that writes returns no row"),
    ],
)
def test_wrong_results(sql: str, into: tuple[str, ...], expected: str) -> None:
    step = Step(statements=(WorkloadStatement(name="s", sql=sql, into=into),))
    message = complaint(step, parameters={"x": Result(), "n": REPEATED})
    assert message == f"transactions[0].steps[0].statements[0].{expected}"


def test_a_step_that_is_left_out_gives_no_result() -> None:
    first = Step(statements=(WorkloadStatement(name="a", sql="SELECT 1", into=("x",)),), repeat=0)
    message = complaint(first, a_step("SELECT {x}"), parameters={"x": Result()})
    assert message.endswith("steps[1].statements[0].sql: {x} is not the result of an earlier statement")


def test_a_prepared_statement_has_a_limit() -> None:
    parameters: dict[str, Parameter] = {"n": REPEATED, "g": Group(sql="{n}", count=65_536)}
    message = complaint(a_step("SELECT {g}"), parameters=parameters, load=Load(protocol="prepared"))
    assert message.endswith("sql: a prepared statement takes at most 65535 parameters, found 65536")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"setup": ("DO 1", "SELECT {tread}")},
         "setup[1]: unknown placeholder {tread}; did you mean 'thread'?"),
        ({"setup": ("",)}, "setup[0]: is not a statement: ''"),
        ({"checks": (Check(name="c", sql="{thread}"),)},
         "checks[0].sql: unknown placeholder {thread}; known: tables, rows"),
        ({"skip_trx": 2}, "transactions[0].skip_trx: expected 0 to 1, found 2"),
    ],
)  # fmt: skip
def test_a_wrong_workload(fields: dict[str, object], expected: str) -> None:
    assert complaint(a_step("SELECT 1"), **fields) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("repeat", "expected"),
    [
        ("n", "options.n: expected 0 to 2147483647, found -2"),
        ("m", f"{REPEAT}: unknown option 'm'; known: n, tables, rows"),
    ],
)
def test_a_wrong_repeat(repeat: int | str, expected: str) -> None:
    steps = (a_step("SELECT 1", repeat=repeat), a_step("SELECT 2", repeat="n"))
    assert complaint(*steps, options={"n": -2}) == expected


def test_a_transaction_that_sends_nothing() -> None:
    message = complaint(a_step("SELECT 1", repeat=0), skip_trx=0)
    assert message == "transactions[0]: sends nothing: all of its steps have repeat 0"


def test_one_name_for_a_read_and_a_write() -> None:
    message = complaint(a_step("SELECT 1", name="x"), a_step("DELETE FROM {table}", name="x"))
    assert message == (
        "transactions[0].steps[1].statements[0].name: 'x' is a write here and a read earlier; rename one"
    )


def test_the_engines_own_names() -> None:
    message = complaint(a_step("SELECT 1", name="rollback"))
    assert message.endswith("name: 'rollback' is reserved for what the engine sends itself")
