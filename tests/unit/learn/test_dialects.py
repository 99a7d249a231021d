"""Dialects of the libraries that docs/learn.md names: each statement parses, and its values are bound."""

# ruff: noqa: E501 (statements as they are)

from __future__ import annotations

import pytest

from tests.support.learn.builders import a_slot, bound

NAME, CITY, ID = "customer.name", "customer.city", "customer.id"
OF = "orders.customer_id"

DIALECTS = {
    "Hibernate": (
        ("delete c1_0 from customer c1_0 where c1_0.name=?", [f"equal {NAME}"]),
        ("delete o from orders o join customer c on c.id=o.customer_id where c.name=?", [f"equal {NAME}"]),
        ("update customer c1_0 set name=?, city=? where id=? and city=?",
         [f"set {NAME}", f"set {CITY}", f"equal {ID}", f"equal {CITY}"]),
        ("select c1_0.id from customer c1_0 where lower(c1_0.name) like replace(?, 'a', 'b') limit ?",
         [f"like {NAME}", "limit"]),
        ("select c1_0.id from customer c1_0 where c1_0.name like ? escape '!' limit ?,?",
         [f"like {NAME}", "limit", "limit"]),
        ("select o1_0.id from orders o1_0 where (o1_0.customer_id, o1_0.id) in ((?,?),(?,?)) for update",
         [f"equal {OF}", "equal orders.id"] * 2),
        ("select o1_0.id from orders o1_0 where o1_0.id=? for update of o1_0 skip locked", ["equal orders.id"]),
        ("insert into orders (customer_id,total,id) values (?,?,?)",
         [f"insert {OF}", "insert orders.total", "insert orders.id"]),
    ),
    "Spring Data": (
        ("SELECT `customer`.`id` FROM `customer` WHERE upper(`customer`.`name`) = upper(?) LIMIT ? OFFSET ?",
         [f"equal {NAME}", "limit", "limit"]),
        ("select c from customer c where coalesce(c.city, ?) = ?", [f"equal {CITY}"] * 2),
        ("select c.id from customer c where c.name like concat('%', ?, '%')", [f"like {NAME}"]),
    ),
    "ActiveRecord": (
        ("SELECT 1 AS one FROM `customer` WHERE BINARY `customer`.`name` = ? LIMIT ?", [f"equal {NAME}", "limit"]),
        ("SELECT 1 AS one FROM `customer` WHERE `customer`.`name` = BINARY ? LIMIT ?", [f"equal {NAME}", "limit"]),
        ("UPDATE `customer` SET `customer`.`city` = ? WHERE `customer`.`id` = ?", [f"set {CITY}", f"equal {ID}"]),
        ("INSERT INTO `customer` (`name`,`city`) VALUES (?+, ?+) ON DUPLICATE KEY UPDATE `city`=VALUES(`city`)",
         [f"insert {NAME}", f"insert {CITY}"]),
        ("SAVEPOINT active_record_1", []),
        ("RELEASE SAVEPOINT active_record_1", []),
    ),
    "Django": (
        ("SELECT `orders`.`id` FROM `orders` INNER JOIN `customer` ON (`orders`.`customer_id` = `customer`.`id`) "
         "WHERE (`customer`.`name` LIKE BINARY ? AND `orders`.`total` > ?) LIMIT ?",
         [f"like {NAME}", "range orders.total", "limit"]),
        ("UPDATE `customer` SET `city` = CASE WHEN (`customer`.`id` = ?) THEN ? ELSE NULL END "
         "WHERE `customer`.`id` IN (?+)", [f"equal {ID}", f"set {CITY}", f"equal {ID}"]),
        ("SELECT @@session.transaction_isolation", []),
        ("SELECT VERSION(), @@sql_mode, @@sql_auto_is_null", []),
    ),
    "Sequelize": (
        ("SELECT `Orders`.`id`, `c`.`name` AS `c.name` FROM `orders` AS `Orders` LEFT OUTER JOIN `customer` AS `c` "
         "ON `Orders`.`customer_id` = `c`.`id` WHERE (`Orders`.`total` >= ? AND `c`.`name` LIKE ?) LIMIT ?, ?",
         ["range orders.total", f"like {NAME}", "limit", "limit"]),
        ("SELECT `Orders`.* FROM (SELECT `Orders`.`id` FROM `orders` AS `Orders` WHERE `Orders`.`customer_id` = ? "
         "LIMIT ?) AS `Orders`", [f"equal {OF}", "limit"]),
    ),
    "Prisma": (
        ("SELECT `db`.`customer`.`id` FROM `db`.`customer` WHERE (`db`.`customer`.`id` = ? AND 1=1) LIMIT ? OFFSET ?",
         [f"equal {ID}", "limit", "limit"]),
        ("UPDATE `db`.`customer` SET `name` = ? WHERE (`db`.`customer`.`id` IN (?+) AND 1=1)",
         [f"set {NAME}", f"equal {ID}"]),
        ("SELECT `t0`.`id` FROM `customer` AS `t0` LEFT JOIN LATERAL (SELECT JSON_OBJECT('id', `t1`.`id`) AS `x` "
         "FROM `orders` AS `t1` WHERE `t0`.`id` = `t1`.`customer_id` AND `t1`.`total` > ?) AS `t2` ON TRUE "
         "WHERE `t0`.`id` = ?", ["range orders.total", f"equal {ID}"]),
    ),
    "TypeORM": (
        ("SELECT DISTINCT `distinctAlias`.`O_id` AS `ids_O_id` FROM (SELECT `O`.`id` AS `O_id` FROM `orders` `O` "
         "WHERE ((`O`.`customer_id` = ?))) `distinctAlias` ORDER BY `O_id` ASC LIMIT 1", [f"equal {OF}"]),
        ("INSERT INTO `customer`(`id`, `name`, `city`) VALUES (DEFAULT, ?, ?)", [f"insert {NAME}", f"insert {CITY}"]),
        ("SELECT `C`.`id` FROM `customer` `C` WHERE (((`C`.`id` = ?))) AND (`C`.`id` IN (?+))", [f"equal {ID}"] * 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "expected"), [pytest.param(*each, id=name) for name, every in DIALECTS.items() for each in every]
)
def test_what_libraries_write_is_bound(sql: str, expected: list[str]) -> None:
    found = bound(sql, *(a_slot("x") for _ in expected))
    assert not found.problem
    assert not found.missing
    assert [f"{to.use} {to.column.full_name}" if to.column else to.use for to in found.slots] == expected
