"""New keys: made up once, repeated in their transaction, and used by later ones."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from shootout._engine import value_hash
from shootout.learn import learning
from shootout.learn.binding import bind
from shootout.learn.keys import Inserted, adds_rows
from shootout.learn.ranks import Values
from shootout.learn.schema import Schema
from shootout.learn.values import Link, LogSequence, Slot, Template
from shootout.model.program import Numbers, ProgramColumn
from tests.support.learn.builders import a_link, a_log, a_slot, a_table, a_template

WORDS = Values(ProgramColumn(name="", values=("ann", "bob", "eve")), "varchar")
NUMBERS = Values(ProgramColumn(name="", values=Numbers(min=1, max=9), next=10), "int")
NEW = range(10, 110)

SCHEMA = Schema(
    {
        "parent": a_table("parent", id="varchar unique", name="varchar unique"),
        "child": a_table("child", id="varchar unique", pid="varchar of parent.id"),
        "cart": a_table("cart", id="int unique", code="varchar unique"),
        "item": a_table("item", id="int unique", cart_id="int of cart.id"),
        "profile": a_table("profile", cart_id="int unique of cart.id"),
        "session": a_table("session", id="varchar unique", client="varchar"),
        "login": a_table("login", session_id="varchar key", client="varchar key"),
    },
    {},
    keys={("login", "PRIMARY"): ["session_id", "client"], ("parent", "PRIMARY"): ["id"]},
)
for table in ("cart", "item"):
    SCHEMA.tables[table]["id"] = dataclasses.replace(SCHEMA.tables[table]["id"], automatic=True)  # type: ignore[index]


def words(*literals: str) -> Slot:
    return replace(
        a_slot(*literals, times=1), hashes=tuple(sorted(value_hash(each.encode()) for each in literals))
    )


NEW_WORDS = words(*(f"new{at}" for at in range(100)))
PARENT = a_template("insert into parent (id, name) values (?, ?)", NEW_WORDS, NEW_WORDS)
CHILD = a_template("insert into child (id, pid) values (?, ?)", NEW_WORDS, NEW_WORDS)
LOOK_UP = a_template("select id from parent where id = ?", NEW_WORDS)
CART = a_template("insert into cart (code) values (?)", NEW_WORDS)
ITEM = a_template("insert into item (cart_id) values (?)", a_slot(*NEW, times=1))
READ = a_template("select id from cart where id = ?", a_slot(*NEW, times=1))
PROFILE = a_template("insert into profile (cart_id) values (?)", a_slot(*NEW, times=1))


def learned(
    templates: list[Template], *kinds: tuple[list[int], list[Link]], **told: Sequence[Any]
) -> tuple[list[list[str]], dict[str, Any], list[str]]:
    """Learn what transactions send, the parameters, and why something is left out.

    `told`: by field of a LogSequence, what each kind has.
    """
    sequences = tuple(
        LogSequence(
            statements=tuple(order), count=100, explicit=True, links=tuple(links),
            **{name: each[at] for name, each in told.items()},
        )
        for at, (order, links) in enumerate(kinds)
    )  # fmt: skip
    text, report = learning.learn(
        a_log(*templates, sequences=sequences),
        [bind(template, SCHEMA) for template in templates],
        SCHEMA,
        lambda name: NUMBERS if name in ("cart.id", "item.id", "item.cart_id", "profile.cart_id") else WORDS,
        server="8.0",
        dump="d.sql",
        logs=["log"],
    )
    workload = tomllib.loads(text)
    sent = [
        [each["sql"] for step in transaction["steps"] for each in step["statements"]]
        for transaction in workload["transactions"]
    ]
    return sent, workload["parameters"], [left.reason for left in report.left_out]


def test_what_repeats_a_new_text_key_is_new_with_it_before_and_after() -> None:
    links = [a_link((1, 0), (0, 0)), a_link((2, 1), (0, 0))]
    (sent,), parameters, _ = learned([LOOK_UP, PARENT, CHILD], ([0, 1, 2], links))
    assert sent == [
        "select id from parent where id = {id}",
        "insert into parent (id, name) values ({id}, {name})",
        "insert into child (id, pid) values ({id_2}, {id})",
    ]
    assert {name: (each["absent"], each["fresh"]) for name, each in parameters.items()} == dict.fromkeys(
        ("id", "id_2", "name"), (1.0, True)
    )


def test_a_look_up_elsewhere_is_of_keys_that_are_there() -> None:
    both = replace(LOOK_UP, count=200, slots=(words("ann", "bob", "new0", "new1"),))
    sent, parameters, _ = learned([both, PARENT], ([0, 1], [a_link((1, 0), (0, 0))]), ([0], []))
    (name,) = sent[1][0].split("{")[1].split("}")[:1]
    assert "absent" not in parameters[name]


def test_later_transactions_use_own_keys_and_deletes_take_them() -> None:
    delete = a_template("delete from parent where id = ?", NEW_WORDS)
    sent, parameters, _ = learned([PARENT, LOOK_UP, delete], ([0], []), ([1], []), ([2], []))
    used, taken = (parameters[one[0].split("{")[1].rstrip("}")] for one in sent[1:])
    assert (used["own"], "taken" in used, used.get("absent", 0)) == (1.0, False, 0)
    assert (taken["own"], taken["taken"]) == (1.0, True)


SESSION = a_template("insert into session (id, client) values (?, ?)", NEW_WORDS, a_slot("web", "app"))
LOGIN = a_template("insert into login (session_id, client) values (?, ?)", NEW_WORDS, a_slot("web", "app"))


def test_a_key_without_a_foreign_key_is_the_one_that_it_repeats() -> None:
    log_out = a_template("delete from login where session_id = ?", NEW_WORDS)
    end = a_template("delete from session where id = ?", NEW_WORDS)
    again = a_link((1, 0), (0, 0))
    _, parameters, _ = learned([SESSION, LOGIN, log_out, end], ([0, 1], [again]), ([2, 3], [again]))
    (taken,) = (each for each in parameters.values() if each.get("taken"))
    assert (taken["column"], taken["keys"], taken["own"]) == ("login.session_id", "session.id", 1.0)


def test_a_few_values_that_the_dump_lacks_are_a_few_everywhere() -> None:
    of_client = a_template("select session_id from login where client = ?", a_slot("app"))
    _, parameters, _ = learned([LOGIN, of_client], ([0], []), ([1], []))
    few, one = (each["values"] for name, each in parameters.items() if name.startswith("client"))
    assert sorted(map(len, few)) == [3, 3]
    assert len(set(few)) == 2
    assert not {"web", "app"} & {*few}
    assert set(one) < set(few)


def test_the_rarest_statement_tells_whose_keys_a_transaction_uses() -> None:
    every = replace(LOOK_UP, count=400, slots=(words("ann", "bob", "eve", "new0"),))
    delete = a_template("delete from parent where id = ?", NEW_WORDS)
    _, parameters, _ = learned(
        [PARENT, every, delete], ([0], []), ([1, 2], [a_link((1, 0), (0, 0))]), ([1], [])
    )
    (taken,) = (each for each in parameters.values() if each.get("taken"))
    assert taken["own"] == 1.0


def test_rows_of_one_parent_have_different_keys() -> None:
    cities = a_slot("ann", "bob", "eve")
    login = a_template("insert into login (session_id, client) values (?, ?)", NEW_WORDS, cities, count=300)
    whole = [a_link((at, 0), (0, 0)) for at in (1, 2, 3)]
    _, parameters, _ = learned([SESSION, login], ([0, 1, 1, 1], whole))
    assert {name: each["distinct"] for name, each in parameters.items() if "distinct" in each} == {
        "client_2": True
    }


def test_a_look_up_finds_as_often_as_in_transactions_of_its_kind() -> None:
    both = replace(LOOK_UP, rows_sent=50, slots=(words("ann", "zoe"),))
    _, parameters, _ = learned([both], ([0], []), ([0, 0], []), rows_sent=((100,), (0, 0)))
    assert sorted(each.get("absent", 0.0) for each in parameters.values()) == [0.0, 1.0]


def test_a_text_that_a_kind_of_transaction_always_has_stays_its_own() -> None:
    of_client = a_template("select 1 from session where client = ?", a_slot("ann", "bob", "eve"), count=300)
    ann = ((0, 0, value_hash(b"ann")),)
    _, parameters, _ = learned([of_client], ([0], []), ([0, 0], []), texts=(ann, ()))
    assert sorted(each["positions"] for each in parameters.values()) == [[0.0, 0.333], [0.333, 1.0]]
    assert {each["column"] for each in parameters.values()} == {"session.client"}


def test_the_number_of_an_inserted_row_is_its_statements_result() -> None:
    (sent,), parameters, left = learned([CART, ITEM, READ, PROFILE], ([0, 1, 2, 3], []))
    assert sent == [
        "insert into cart (code) values ({code})",
        "insert into item (cart_id) values ({new_cart_id})",
        "select id from cart where id = {new_cart_id}",
        "insert into profile (cart_id) values ({new_cart_id})",
    ]
    (result,) = {name for name, each in parameters.items() if each["type"] == "result"}
    assert parameters[result] == {"type": "result", "number": True, "required": True, "column": "cart.id"}
    assert left == []


def test_a_unique_child_without_its_parent_is_left_out() -> None:
    _, _, left = learned([READ, PROFILE], ([0, 1], []))
    assert left == ["writes a unique foreign key, whose parents run out"]


def test_keys_that_are_numbered_in_step_are_not_the_a_link() -> None:
    of_item = a_template("select id from item where id = ?", a_slot(*NEW, times=1))
    links = [a_link((1, 0), (0, 0)), a_link((2, 0), (0, 0))]
    (sent,), _, _ = learned([READ, of_item, of_item], ([0, 1, 2], links))
    assert [one.rpartition("= ")[2] for one in sent] == ["{id}", "{id_2}", "{id_2}"]


@pytest.mark.parametrize(
    ("sql", "adds"),
    [
        ("INSERT INTO t VALUES (?)", True),
        ("insert ignore into t values (?)", False),
        ("INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = ?", False),
        ("REPLACE INTO t VALUES (?)", False),
    ],
)
def test_rows_that_may_be_there_already_are_not_new(sql: str, adds: bool) -> None:
    assert adds_rows(a_template(sql)) is adds


def test_a_share_of_values_is_told_by_the_least_hashes() -> None:
    every = replace(words(*map(str, range(100))), hashes=(1, 5, 9, 40))
    assert Inserted(frozenset((1, 9, 30)), most=30).share(every) == pytest.approx(2 / 3)
    assert Inserted(frozenset()).share(words("a")) == 0
