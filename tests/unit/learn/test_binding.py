import pytest

from shootout.learn.binding import pieces, unqualified
from tests.support.learn.builders import a_log, a_schema, a_slot, a_template, bound, targets


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM orders WHERE at BETWEEN ? AND ?", ["range orders.at", "range orders.at"]),
        ("SELECT 1 FROM orders WHERE ? < id", ["range orders.id"]),
        ("INSERT INTO customer VALUES (?, ?, ?)",
         ["insert customer.id", "insert customer.name", "insert customer.city"]),
        ("REPLACE INTO customer (id, name) VALUES (?, ?)", ["insert customer.id", "insert customer.name"]),
        ("INSERT INTO customer (id) VALUES (?) ON DUPLICATE KEY UPDATE name = ?",
         ["insert customer.id", "set customer.name"]),
        ("UPDATE orders o SET o.total = o.total + ?, at = ? WHERE o.id = ?",
         ["other", "set orders.at", "equal orders.id"]),
        ("DELETE FROM orders WHERE id = -? ORDER BY at LIMIT ?", ["equal orders.id", "limit"]),
        ("SELECT d.x FROM (SELECT city AS x FROM customer) d WHERE d.x = ?", ["equal customer.city"]),
        ("WITH c AS (SELECT id AS i FROM orders) SELECT 1 FROM c WHERE i = ?", ["equal orders.id"]),
        ("SELECT 1 FROM orders o WHERE EXISTS (SELECT 1 FROM line WHERE o.customer_id = ?)",
         ["equal orders.customer_id"]),
        ("SELECT 1 FROM orders WHERE id >= ? - ?", ["range orders.id", "other"]),
        ("SELECT note FROM part? WHERE id = ?", ["table", "equal part1.id"]),
        ("SELECT IF(?, ?, ?), `a?b` FROM nowhere WHERE x = ?", ["other"] * 4),
    ],
)  # fmt: skip
def test_slots_are_bound_to_columns(sql: str, expected: list[str]) -> None:
    slots = [a_slot(1, 2, table=True)] if "part?" in sql else []
    assert targets(sql, *slots) == expected


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
    found = [*pieces("SELECT `a?` FROM t WHERE a IN (?+) AND b=?", [a_slot(1), a_slot(2)])]
    assert found == ["SELECT `a?` FROM t WHERE a IN (", "?+", ") AND b=", "?", ""]


def test_tables_that_the_dump_lacks_are_named() -> None:
    assert bound("SELECT 1 FROM orders JOIN elsewhere e ON e.id = orders.id").missing == ("elsewhere",)
    assert bound("WITH c AS (SELECT 1) SELECT 1 FROM c, dual, orders").missing == ()


def test_the_dumps_tables_lose_their_database() -> None:
    texts = {
        "SELECT 1 FROM shop.orders o WHERE o.id = ?": "SELECT 1 FROM orders o WHERE o.id = ?",
        "UPDATE `shop`.`orders` SET total = ?": "UPDATE `orders` SET total = ?",
        "SELECT orders.id FROM orders": "SELECT orders.id FROM orders",
        "SELECT 1 FROM other.elsewhere": "SELECT 1 FROM other.elsewhere",
        "SELECT 1 FROM shop.part? JOIN `shop`.`part?` b": "SELECT 1 FROM part? JOIN `part?` b",
    }
    numbered = [a_slot(1, table=True)] * 2
    log = a_log(*(a_template(sql, *numbered[: 2 * ("part?" in sql)]) for sql in texts))
    assert [each.sql for each in unqualified(log, a_schema()).templates] == list(texts.values())
