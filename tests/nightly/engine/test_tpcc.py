"""TPC-C on real servers: the loaded rows, the engine's transactions, and the checks."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from fractions import Fraction
from math import sqrt
from typing import get_args

import msgspec
import pytest

from shootout._engine import Engine, Slice
from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import dataset
from shootout.measure.dataset import SCHEMAS
from shootout.measure.hooks import Hooks
from shootout.measure.managed import connect
from shootout.model.plan import Dataset, Load
from shootout.model.program import Program
from shootout.model.value import Protocol
from shootout.servers.processes.instances import Instance, start
from tests.support.runs import a_tree

BASE, HEAD = "mysql-5.7.22", "mysql-8.0.12"
OPTIONS = {
    "innodb-log-file-size": "32M",
    "innodb-buffer-pool-size": "256M",
    "innodb-flush-log-at-trx-commit": "0",
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
}
DATASETS = {  # two warehouses are the fewest that have remote customers and order lines
    BASE: Dataset(kind="tpcc", warehouses=1),
    HEAD: Dataset(kind="tpcc", warehouses=2),
}
SCHEMA = SCHEMAS["tpcc"]
WORKLOAD = workload.load("tpcc")
CHECKS = {check.name: check.sql for check in workload.checks(WORKLOAD, DATASETS[HEAD])}
LOAD_S = 1.0
TIMEOUT_S = 30.0
DEADLOCK = 1213

# A statement that only this kind of transaction sends, and how often; and its share by clause 5.2.3.
MIX = {
    "new_order_customer": (1, Fraction(45, 100)),
    "payment_warehouse": (1, Fraction(43, 100)),
    "order_status_order": (1, Fraction(4, 100)),
    "delivery_oldest": (10, Fraction(4, 100)),
    "stock_level_next": (1, Fraction(4, 100)),
}
# Statements of some of a kind's transactions, and their share of these.
VARIANTS = {
    "new_order_unused": ("new_order_customer", Fraction(1, 100)),
    "payment_names": ("payment_warehouse", Fraction(60, 100)),
    "order_status_names": ("order_status_order", Fraction(60, 100)),
}
DAMAGE = {
    "warehouse_ytd": "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2",
    "next_order": "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3",
    "new_orders_without_gaps": "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 2950",
    "line_counts_of_districts": "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 5 AND o_d_id = 1",
    "new_or_carried": "UPDATE orders SET o_carrier_id = NULL WHERE o_id = 7 AND o_d_id = 10",
    "line_counts_of_orders": "DELETE FROM order_line WHERE ol_o_id = 9 AND ol_d_id = 1 AND ol_number = 2",
    "delivered_with_their_order": "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_o_id = 9 LIMIT 1",
    "warehouse_history": "DELETE FROM history LIMIT 1",
    "district_history": "UPDATE history SET h_d_id = h_d_id % 10 + 1 LIMIT 1",
    "customer_balance": "UPDATE history SET h_c_id = h_c_id % 3000 + 1 LIMIT 1",
    "deliveries": "UPDATE customer SET c_delivery_cnt = 7 WHERE c_id = 1 AND c_d_id = 1 AND c_w_id = 1",
    "customer_deliveries": "UPDATE customer SET c_ytd_payment = 0 WHERE c_id = 3000 AND c_d_id = 10",
}


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Instance]]:
    """Servers whose tables were verified against the generator row by row, as templates are."""
    cache = tmp_path_factory.mktemp("cache")
    with ExitStack() as running:
        started = {}
        for name, scale in DATASETS.items():
            tree = a_tree(name)
            home = tmp_path_factory.mktemp(name) / "instance"
            dataset.template(tree, OPTIONS, [scale], cache).copy_to(home)
            started[name] = running.enter_context(start(tree, home, OPTIONS))
        yield started


def a_program(name: str = HEAD, protocol: Protocol = "text") -> Program:
    return workload.compile_program("tpcc", WORKLOAD, DATASETS[name], Load(protocol=protocol))


def check(instance: Instance, name: str) -> None:
    Hooks(instance, WORKLOAD, DATASETS[name]).check()


def load(instance: Instance, program: Program) -> Slice:
    engine = Engine(msgspec.json.encode(program), 1)
    connect(engine, instance, SCHEMA, 4)
    return engine.slice(0, 0.0, LOAD_S, TIMEOUT_S)


def number(instance: Instance, sql: str) -> int:
    """The one number that a query returns; `{}` in it is the schema."""
    ((found,),) = instance.query(sql.format(SCHEMA))
    return int(found or 0)


def assert_share(found: int, of: int, share: Fraction) -> None:
    """`found` is within five standard deviations of its share, plus what a slice's edges cut off."""
    slack = 5 * sqrt(of * share * (1 - share)) + 5 * (share > 0)
    assert abs(found - of * share) <= slack, (found, of, share)


# --- the file -----------------------------------------------------------------------------------


def test_the_mix_is_the_standard_one() -> None:
    program = a_program()
    weights = dict.fromkeys([*MIX, *VARIANTS], 0)
    for transaction in program.transactions:
        statements = (statement for step in transaction.steps for statement in step.statements)
        for name in {program.kinds[statement.kind].name for statement in statements} & weights.keys():
            weights[name] += transaction.weight
    total = sum(weights[name] for name in MIX)
    assert {name: Fraction(weights[name], total) for name in MIX} == {
        name: share for name, (_, share) in MIX.items()
    }
    assert {name: Fraction(weights[name], weights[of]) for name, (of, _) in VARIANTS.items()} == {
        name: share for name, (_, share) in VARIANTS.items()
    }
    assert total == sum(transaction.weight for transaction in program.transactions)


def test_only_the_unused_item_rolls_back() -> None:
    program = a_program()
    [rolled_back] = [transaction for transaction in program.transactions if transaction.rollback]
    kinds = {program.kinds[s.kind].name for step in rolled_back.steps for s in step.statements}
    assert "new_order_unused" in kinds
    assert all(transaction.begin for transaction in program.transactions)


# --- servers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", get_args(Protocol))
@pytest.mark.parametrize("name", DATASETS)
def test_a_load_is_the_standard_mix_and_leaves_the_tables_consistent(
    name: str, protocol: Protocol, instances: dict[str, Instance]
) -> None:
    instance = instances[name]
    paid_before, ordered_before = paid(instance), ordered(instance)
    program = a_program(name, protocol)
    taken = load(instance, program)
    check(instance, name)

    assert taken.errors.keys() <= {DEADLOCK}
    counts = {
        kind.name: histogram.count for kind, histogram in zip(program.kinds, taken.statements, strict=True)
    }
    transactions = sum(counts[kind] // times for kind, (times, _) in MIX.items())
    assert transactions > 50
    for kind, (times, share) in MIX.items():
        assert_share(counts[kind] // times, transactions, share)
    for kind, (of, share) in VARIANTS.items():
        assert_share(counts[kind], counts[of], share)
    assert_share(paid(instance) - paid_before, taken.completed, Fraction(43, 100))
    assert_share(ordered(instance) - ordered_before, taken.completed, Fraction(45 * 99, 100 * 100))


def paid(instance: Instance) -> int:
    return number(instance, "SELECT SUM(c_payment_cnt) FROM {}.customer")


def ordered(instance: Instance) -> int:
    return number(instance, "SELECT SUM(d_next_o_id) FROM {}.district")


@pytest.mark.parametrize("name", DATASETS)
def test_orders_and_payments_are_keyed_as_the_specification_says(
    name: str, instances: dict[str, Instance]
) -> None:
    instance = instances[name]
    load(instance, a_program(name))
    others = DATASETS[name].warehouses > 1
    ((orders, fewest, mean, most, all_local),) = instance.query(
        "SELECT COUNT(*), MIN(o_ol_cnt), AVG(o_ol_cnt), MAX(o_ol_cnt), SUM(o_all_local) "
        f"FROM {SCHEMA}.orders WHERE o_id > 3000"
    )
    assert 5 <= fewest <= most <= 15
    assert abs(float(mean) - 10) <= 5 * sqrt((11**2 - 1) / 12 / orders)
    lines = f"FROM {SCHEMA}.order_line WHERE ol_o_id > 3000"
    ((ordered_lines, supplied, remote),) = instance.query(
        f"SELECT COUNT(*), SUM(ol_quantity), SUM(ol_supply_w_id <> ol_w_id) {lines}"
    )
    assert_share(int(remote), ordered_lines, Fraction(others, 100))
    assert number(instance, "SELECT SUM(s_remote_cnt) FROM {}.stock") == remote
    assert number(instance, "SELECT SUM(s_order_cnt) FROM {}.stock") == ordered_lines
    assert number(instance, "SELECT SUM(s_ytd) FROM {}.stock") == supplied
    assert number(instance, "SELECT MIN(s_quantity) FROM {}.stock") >= 10
    of_remote = f"SELECT DISTINCT ol_w_id, ol_d_id, ol_o_id {lines} AND ol_supply_w_id <> ol_w_id"
    assert orders - all_local == number(instance, f"SELECT COUNT(*) FROM ({of_remote}) AS o")

    ((payments, remote, elsewhere),) = instance.query(
        "SELECT COUNT(*), SUM(h_c_w_id <> h_w_id), SUM(h_c_d_id <> h_d_id AND h_c_w_id = h_w_id) "
        f"FROM {SCHEMA}.history WHERE h_amount <> 10"
    )
    assert_share(int(remote), payments, Fraction(15 * others, 100))
    assert elsewhere == 0
    noted = number(
        instance,
        "SELECT COUNT(*) FROM {}.customer WHERE c_payment_cnt > 1 "
        "AND (c_credit = 'BC') <> (c_data LIKE CONCAT_WS(' ', c_id, c_d_id, c_w_id, '%'))",
    )
    assert noted == 0


@pytest.mark.parametrize("name", DAMAGE)
def test_each_check_finds_what_it_is_for(name: str, instances: dict[str, Instance]) -> None:
    with closing(instances[HEAD].connect(autocommit=False)) as connection, connection.cursor() as cursor:
        connection.select_db(SCHEMA)
        assert cursor.execute(CHECKS[name]) == 0
        assert cursor.execute(DAMAGE[name]) > 0
        assert cursor.execute(CHECKS[name]) > 0
        connection.rollback()


def test_every_check_is_tried() -> None:
    assert CHECKS.keys() == DAMAGE.keys()


def test_a_broken_table_is_found_by_name(instances: dict[str, Instance]) -> None:
    instance = instances[BASE]
    check(instance, BASE)
    instance.query(f"UPDATE {SCHEMA}.warehouse SET w_ytd = w_ytd + 1")
    with pytest.raises(MeasureError, match=r"check warehouse_ytd: expected no row, found w_id = 1, w_ytd = "):
        check(instance, BASE)
    with pytest.raises(MeasureError, match=rf"table {SCHEMA}\.warehouse of tpcc-1w-innodb differs from"):
        dataset.verify(instance, DATASETS[BASE])
    instance.query(f"UPDATE {SCHEMA}.warehouse SET w_ytd = w_ytd - 1")
    check(instance, BASE)
