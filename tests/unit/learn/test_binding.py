import pytest

from shootout.learn.binding import pieces, unqualified
from tests.support.learn.builders import a_log, a_schema, a_slot, a_template, bound, targets


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT name FROM customer WHERE id = ?", ["equal customer.id"]),
        (
            "SELECT * FROM customer c JOIN orders o ON o.customer_id = c.id WHERE c.city = ? AND o.total > ?",
            ["equal customer.city", "range orders.total"],
        ),
        (
            "SELECT 1 FROM orders WHERE at BETWEEN ? AND ? LIMIT ?, ?",
            ["range orders.at", "range orders.at", "limit", "limit"],
        ),
        (
            "SELECT 1 FROM orders WHERE customer_id IN (?+) AND ? < id",
            ["equal orders.customer_id", "range orders.id"],
        ),
        ("SELECT 1 FROM customer WHERE name LIKE ?", ["like customer.name"]),
        (
            "SELECT 1 FROM line WHERE (order_id, number) IN ((?, ?))",
            ["equal line.order_id", "equal line.number"],
        ),
        (
            "INSERT INTO orders (customer_id, total, at) VALUES (?, ?, NOW())",
            ["insert orders.customer_id", "insert orders.total"],
        ),
        (
            "INSERT INTO customer VALUES (?, ?, ?)",
            ["insert customer.id", "insert customer.name", "insert customer.city"],
        ),
        ("REPLACE INTO customer (id, name) VALUES (?, ?)", ["insert customer.id", "insert customer.name"]),
        (
            "INSERT INTO line (order_id, number) VALUES (?+, ?+)",
            ["insert line.order_id", "insert line.number"],
        ),
        (
            "INSERT INTO customer (id) VALUES (?) ON DUPLICATE KEY UPDATE name = ?",
            ["insert customer.id", "set customer.name"],
        ),
        (
            "UPDATE orders o SET o.total = o.total + ?, at = ? WHERE o.id = ?",
            ["other", "set orders.at", "equal orders.id"],
        ),
        ("DELETE FROM orders WHERE id = -? ORDER BY at LIMIT ?", ["equal orders.id", "limit"]),
        ("SELECT d.x FROM (SELECT city AS x FROM customer) d WHERE d.x = ?", ["equal customer.city"]),
        ("WITH c AS (SELECT id AS i FROM orders) SELECT 1 FROM c WHERE i = ?", ["equal orders.id"]),
        (
            "SELECT 1 FROM orders o WHERE EXISTS (SELECT 1 FROM line WHERE o.customer_id = ?)",
            ["equal orders.customer_id"],
        ),
        (
            "SELECT 1 FROM orders WHERE id >= ? - ? AND id < ?",
            ["range orders.id", "other", "range orders.id"],
        ),
        ("SELECT note FROM part? WHERE id = ?", ["table", "equal part1.id"]),
        ("SELECT IF(?, ?, ?), `a?b` FROM nowhere WHERE x = ?", ["other"] * 4),
    ],
)
def test_slots_are_bound_to_columns(sql: str, expected: list[str]) -> None:
    slots = [a_slot(1, 2, table=True)] if "part?" in sql else []
    assert targets(sql, *slots) == expected


def test_texts_are_bound_like_numbers() -> None:
    assert targets(
        "SELECT 1 FROM customer WHERE name = ? AND city = _utf8mb4 ?", a_slot("x"), a_slot("y")
    ) == ["equal customer.name", "equal customer.city"]


def test_what_cannot_be_parsed_says_so() -> None:
    for sql in ("SELECT FROM WHERE ? )", "CALL p(?)", "FLUSH ?"):
        found = bound(sql)
        assert targets(sql) == ["other"]
        assert found.problem, sql
        assert "slot" not in found.problem
        assert "777" not in found.problem


def test_what_is_nested_deeply_is_sent_as_it_is() -> None:
    found = bound(f"SELECT 1 FROM customer WHERE {'(' * 200}id = ?{')' * 200}")
    assert found.problem == "nested too deep for sqlglot"
    assert [each.use for each in found.slots] == ["other"]


def test_a_select_says_which_columns_it_returns() -> None:
    found = bound("SELECT o.id, COUNT(*), total AS t FROM orders o WHERE customer_id = ?")
    assert [each and each.full_name for each in found.outputs] == ["orders.id", None, "orders.total"]
    assert bound("SELECT * FROM orders WHERE id = ?").outputs == ()


def test_pieces_are_the_text_and_its_slots() -> None:
    assert list(pieces("SELECT `a?` FROM t WHERE a IN (?+) AND b=?", [a_slot(1), a_slot(2)])) == [
        "SELECT `a?` FROM t WHERE a IN (",
        "?+",
        ") AND b=",
        "?",
        "",
    ]


def test_tables_that_the_dump_lacks_are_named() -> None:
    assert bound("SELECT 1 FROM orders JOIN elsewhere e ON e.id = orders.id").missing == ("elsewhere",)
    assert bound("WITH c AS (SELECT 1) SELECT 1 FROM c, dual, orders").missing == ()


def test_numbered_tables_lose_their_database() -> None:
    log = a_log(a_template("SELECT 1 FROM shop.part? JOIN `shop`.`part?` b", *[a_slot(1, table=True)] * 2))
    (template,) = unqualified(log, a_schema()).templates
    assert template.sql == "SELECT 1 FROM part? JOIN `part?` b"


def test_the_dumps_tables_lose_their_database() -> None:
    texts = {
        "SELECT 1 FROM shop.orders o WHERE o.id = ?": "SELECT 1 FROM orders o WHERE o.id = ?",
        "UPDATE `shop`.`orders` SET total = ?": "UPDATE `orders` SET total = ?",
        "SELECT orders.id FROM orders": "SELECT orders.id FROM orders",
        "SELECT 1 FROM other.elsewhere": "SELECT 1 FROM other.elsewhere",
    }
    log = a_log(*map(a_template, texts))
    assert [each.sql for each in unqualified(log, a_schema()).templates] == list(texts.values())
