import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shootout.learn.binding import bind
from shootout.learn.places import Block, Statement, blocks
from shootout.learn.ranks import Values
from shootout.learn.shapes import Learner
from shootout.learn.transactions import Builder
from shootout.learn.values import Link, LogSequence, Template
from shootout.model.program import Numbers, ProgramColumn
from shootout.model.workload import Group, Learned, Repetition, Result, Transaction
from tests.support.learn.builders import a_link, a_schema, a_slot, a_template

MANY = a_slot(*range(1, 1001))
NUMBERS = Values(ProgramColumn(name="", values=Numbers(min=1, max=1000), next=1001), "int")


def built(
    templates: list[Template],
    order: list[int],
    *links: Link,
    constants: tuple[tuple[int, int, int], ...] = (),
    rows_sent: tuple[int, ...] = (),
    values: Callable[[str], Values] = lambda name: NUMBERS,
) -> tuple[Transaction, Builder]:
    """The transaction that sends these templates in this order."""
    learner = Learner(values, frozenset(), False, a_schema())
    statements = []
    for number, template in enumerate(templates):
        bound = bind(template, a_schema())
        shapes = tuple(
            learner.shape(slot, to, template.count)
            for slot, to in zip(template.slots, bound.slots, strict=True)
        )
        labels = tuple(to.column.name if to.column else "number" for to in bound.slots)
        statements.append(Statement(f"s{number}", template, shapes, bound.slots, bound.outputs, labels))
    builder = Builder(statements, learner)
    sequence = LogSequence(
        statements=tuple(order), count=1, explicit=True, links=links, constants=constants, rows_sent=rows_sent
    )
    return builder.transaction(sequence, 1), builder


def parameter(builder: Builder, name: str) -> Learned:
    found = builder.parameters[name]
    assert isinstance(found, Learned)
    return found


def texts(transaction: Transaction) -> list[tuple[int, list[str]]]:
    """List what each step sends, and how often."""
    return [(int(step.repeat), [each.sql for each in step.statements]) for step in transaction.steps]


READ = a_template("SELECT name FROM customer WHERE id = ?", MANY)
RANGE = a_template("SELECT name FROM customer WHERE id BETWEEN ? AND ?", MANY, MANY)
WRITE = a_template("UPDATE customer SET city = NOW() WHERE id = ?", MANY)


def test_equal_statements_are_one_that_repeats() -> None:
    made, _ = built([READ, WRITE], [0, 0, 0, 1])
    assert texts(made) == [
        (3, ["SELECT name FROM customer WHERE id = {id}"]),
        (1, ["UPDATE customer SET city = NOW() WHERE id = {id}"]),
    ]


def test_linked_values_are_one_parameter() -> None:
    made, builder = built([READ, WRITE], [0, 1], a_link((1, 0), (0, 0)))
    assert [len(step.statements) for step in made.steps] == [2]
    assert [re.findall(r"\{(\w+)\}", each.sql) for each in made.steps[0].statements] == [["id"], ["id"]]
    assert builder.parameters["id"] == Learned(column="customer.id")


def test_a_distance_makes_a_range() -> None:
    _, builder = built([RANGE], [0], a_link((0, 1), (0, 0), difference=99))
    assert builder.parameters["id_2"] == Learned(column="customer.id", of="id", difference=99)


def test_a_link_of_some_transactions_has_a_share() -> None:
    _, builder = built([READ, WRITE], [0, 1], a_link((1, 0), (0, 0), share=0.8))
    found = parameter(builder, "id_2")
    assert (found.of, found.share) == ("id", 0.8)


def test_a_value_that_all_repetitions_share_is_drawn_once() -> None:
    pair = a_template("SELECT 1 FROM line WHERE order_id = ? AND number = ?", MANY, MANY)
    made, builder = built([pair], [0, 0, 0], a_link((1, 0), (0, 0)), a_link((2, 0), (0, 0)))
    assert texts(made) == [(3, ["SELECT 1 FROM line WHERE order_id = {order_id} AND number = {number}"])]
    shared, own = parameter(builder, "order_id"), parameter(builder, "number")
    assert (shared.per, own.per) == ("transaction", "repetition")


def test_groups_of_statements_repeat_together() -> None:
    inner = [a_link((at + 1, 0), (at, 0)) for at in (0, 2, 4)]
    made, _ = built([READ, WRITE], [0, 1, 0, 1, 0, 1], *inner)
    assert [(repeat, len(statements)) for repeat, statements in texts(made)] == [(3, 2)]


def test_what_a_later_statement_needs_of_one_repetition_is_not_folded() -> None:
    assert blocks([0, 0, 1], {(2, 0): a_link((2, 0), (1, 0))}) == [
        Block(0, 1, 1),
        Block(1, 1, 1),
        Block(2, 1, 1),
    ]


def test_numbers_that_count_are_repetitions() -> None:
    line = a_template("SELECT 1 FROM line WHERE number = ?", a_slot(*range(1, 9)))
    made, builder = built([line], [0, 0, 0], constants=((0, 0, 1), (1, 0, 2), (2, 0, 3)))
    assert texts(made) == [(3, ["SELECT 1 FROM line WHERE number = {repetition}"])]
    assert builder.parameters["repetition"] == Repetition()
    _, builder = built([line], [0, 0], constants=((0, 0, 7), (1, 0, 3)))
    (found,) = builder.parameters.values()
    assert isinstance(found, Learned)
    assert found.positions == (0.0, 0.008), "1 to 8, neither 7 nor 3 alone"
    _, builder = built([line], [0, 0], constants=((0, 0, 4), (1, 0, 5)))
    found = parameter(builder, "repetition_from")
    assert (found.of, found.difference) == ("repetition", 3)
    assert found.max == 0  # a number of its own, whatever the column has


def test_a_number_that_is_the_same_in_all_transactions_stays_that_number() -> None:
    state = a_template("UPDATE orders SET customer_id = ?", MANY)
    _, builder = built([state], [0], constants=((0, 0, 500),))
    (found,) = builder.parameters.values()
    assert isinstance(found, Learned)
    assert (found.hot, found.positions) == ((), (0.499, 0.5))


def test_a_key_that_an_earlier_statement_read_is_its_result() -> None:
    newest = a_template("SELECT total, id FROM orders WHERE customer_id = ? LIMIT 1", MANY, rows_sent=100)
    pay = a_template("UPDATE orders SET total = 0 WHERE id = ?", MANY)
    made, builder = built([newest, pay], [0, 1])
    assert made.steps[0].statements[0].into == ("unused", "read_id")
    assert made.steps[-1].statements[-1].sql.endswith("id = {read_id}")
    assert builder.parameters["read_id"] == Result(number=True, required=True)
    twice = replace(newest, rows_sent=200)
    for rows, into in (((), ()), ((2, 0), ()), ((1, 0), ("unused", "read_id"))):
        made, _ = built([twice, pay], [0, 1], rows_sent=rows)
        assert made.steps[0].statements[0].into == into, "as transactions of this kind have found"
    lines = a_template("SELECT name FROM customer, orders WHERE orders.customer_id = ?", MANY)
    who = a_template("SELECT id FROM customer WHERE name = 'x'", rows_sent=100)
    made, _ = built([who, lines], [0, 1])
    assert made.steps[-1].statements[-1].sql.endswith("customer_id = {read_customer_id}")


def test_a_value_that_goes_into_a_foreign_key_is_of_its_parent() -> None:
    read = a_template("SELECT at FROM orders WHERE total = 1 AND customer_id = ?", MANY)
    order = a_template("INSERT INTO orders (customer_id) VALUES (?)", MANY)
    for share in (1.0, 0.7):
        _, builder = built([read, order], [0, 1], a_link((1, 0), (0, 0), share=share))
        columns = [each.column for each in builder.parameters.values() if isinstance(each, Learned)]
        assert columns == ["customer.id"] * len(columns)
        assert len(columns) == (1 if share == 1.0 else 2)


def test_a_pattern_for_many_columns_is_of_the_one_that_has_it() -> None:
    find = a_template("SELECT 1 FROM customer WHERE city LIKE ? OR name LIKE ?", a_slot("%b%"), a_slot("%b%"))
    names = {"customer.city": ("x", "y"), "customer.name": ("ab", "b")}
    texts = {name: Values(ProgramColumn(name=name, values=held), "varchar") for name, held in names.items()}
    made, builder = built([find], [0], a_link((0, 1), (0, 0)), values=texts.__getitem__)
    (parameter,) = builder.parameters.values()
    assert isinstance(parameter, Learned)
    assert parameter.column == "customer.name"
    assert made.steps[0].statements[0].sql.count("{") == 2


def test_many_rows_are_a_group() -> None:
    sized = replace(MANY, sizes=((3, 100),))
    rows = a_template("INSERT INTO line (order_id, number) VALUES (?+, ?+)", sized, sized)
    made, builder = built([rows], [0])
    assert texts(made) == [(1, ["INSERT INTO line (order_id, number) VALUES {rows}"])]
    group = builder.parameters["rows"]
    assert getattr(group, "count", None) == 3
    of_rows, of_list = builder.parameters["order_id_2"], builder.parameters["order_id"]
    assert (getattr(of_rows, "counts", None), getattr(of_list, "counts", None)) == ((), (3.0,))
    assert getattr(group, "sql", None) == "({order_id_2}, {number_2})"


@pytest.mark.parametrize(
    ("sql", "before", "row", "after"),
    [
        ("VALUES (COALESCE(?+, NOW()), ?+) ON DUPLICATE KEY UPDATE number = VALUES(number)",
         "VALUES ", "(COALESCE(?, NOW()), ?)", " ON DUPLICATE KEY UPDATE number = VALUES(number)"),
        ("VALUES (NOW(), ?+)", "VALUES ", "(NOW(), ?)", ""),
        ("SELECT 1 FROM part1 WHERE (a, b) IN ((?+, ?+)) AND note IN (?+)",
         "SELECT 1 FROM part1 WHERE (a, b) IN (", "(?, ?)", ") AND note IN (?)"),
        ("VALUES (NOW(), (SELECT 1 FROM part1 WHERE a IN (?+)))",
         "VALUES (NOW(), (SELECT 1 FROM part1 WHERE a IN (?)))", None, ""),
    ],
)  # fmt: skip
def test_rows_are_found_by_their_parentheses(sql: str, before: str, row: str | None, after: str) -> None:
    into = "INSERT INTO line " if sql.startswith("VALUES") else ""
    sized = replace(MANY, sizes=((3, 50), (5, 50)))
    made, builder = built([a_template(into + sql, *[sized] * sql.count("?+"))], [0])
    groups = [each for each in builder.parameters.values() if isinstance(each, Group)]
    assert [(re.sub(r"\{\w+\}", "?", each.sql), each.count) for each in groups] == ([(row, 4)] if row else [])
    (written,) = texts(made)[0][1]
    assert re.sub(r"\{(?!rows)\w+\}", "?", written) == into + before + ("{rows}" if row else "") + after


def test_braces_stay_braces() -> None:
    made, _ = built([a_template("SELECT '{' FROM customer WHERE id = ?", MANY)], [0])
    assert texts(made)[0][1] == ["SELECT '{{' FROM customer WHERE id = {id}"]
