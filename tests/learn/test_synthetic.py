from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from shootout.learn import synthetic
from shootout.learn.schema import Schema, read_schema
from shootout.measure import dataset, dump
from shootout.model.plan import Dataset
from shootout.servers import instances
from shootout.servers.instances import Instance
from tests.runs import a_tree

pytestmark = pytest.mark.real

CREATED = """
CREATE TABLE maker (code CHAR(3) PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE);
CREATE TABLE item (
    id INT PRIMARY KEY AUTO_INCREMENT, maker CHAR(3), parent INT NULL,
    price DECIMAL(8,2) NOT NULL, weight DOUBLE NULL, kind ENUM('new','old') NOT NULL, made DATE NOT NULL,
    seen DATETIME NULL, added TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, code VARBINARY(8) NULL, note TEXT,
    flags BIT(3) NOT NULL, twice DECIMAL(9,2) AS (price * 2) VIRTUAL,
    KEY (maker), KEY (price), FOREIGN KEY (maker) REFERENCES maker (code),
    FOREIGN KEY (parent) REFERENCES item (id)
) COMMENT 'one; two';
CREATE TABLE stock (shop INT, item INT, amount INT, PRIMARY KEY (shop, item),
    FOREIGN KEY (item) REFERENCES item (id));
CREATE TABLE sold (shop INT, item INT, at TIME, FOREIGN KEY (shop, item) REFERENCES stock (shop, item));
CREATE TABLE nothing (id INT PRIMARY KEY, text VARCHAR(5));
"""
PROGRAMS = """
CREATE DEFINER=`nobody`@`nowhere` VIEW dear AS SELECT id, price FROM item WHERE price > 100;
DELIMITER ;;
CREATE TRIGGER counted BEFORE INSERT ON nothing FOR EACH ROW
    BEGIN SET NEW.id = NEW.id; SET NEW.text = 'x'; END;;
DELIMITER ;
"""
ITEMS = 400
EVERY = "COUNT(*), COUNT({0}), COUNT(DISTINCT {0})"
ORPHANS = (
    "item LEFT JOIN maker ON maker.code = maker WHERE maker IS NOT NULL AND name IS NULL",
    "item a LEFT JOIN item b ON b.id = a.parent WHERE a.parent IS NOT NULL AND b.id IS NULL",
    "stock LEFT JOIN item ON item = id WHERE id IS NULL",
    "sold LEFT JOIN stock USING (shop, item) WHERE amount IS NULL",
    "item a JOIN item b ON b.id = a.id + 3 WHERE b.made < a.made",  # dates rise with the key
)


def rows(generator: random.Random) -> Iterator[str]:
    makers = [f"'m{each}'" for each in range(20)]
    for code in makers:
        yield f"INSERT INTO maker VALUES ({code}, 'Secret Maker {generator.getrandbits(40)}')"
    for number in range(1, ITEMS + 1):
        at = f"2021-{1 + number // 40:02}-{1 + number % 28:02}"
        values = (
            number * 3, generator.choice([*makers, "NULL"]),
            generator.choice(["NULL", 3 * generator.randint(1, number)]),
            f"{generator.paretovariate(1.2):.2f}", generator.choice(["NULL", generator.gauss(0, 5)]),
            generator.choice(["'new'", "'old'"]), f"'{at}'", generator.choice(["NULL", f"'{at} 10:11:12'"]),
            f"'{at} 01:02:03'", f"X'{generator.getrandbits(32):08x}'", f"'secret note {number % 50}'",
            f"b'{number % 8:03b}'",
        )  # fmt: skip
        names = "id, maker, parent, price, weight, kind, made, seen, added, code, note, flags"
        yield f"INSERT INTO item ({names}) VALUES ({', '.join(map(str, values))})"
    for shop, item in generator.sample(
        [(shop, 3 * item) for shop in (1, 2, 5) for item in range(1, 101)], 200
    ):
        yield f"INSERT INTO stock VALUES ({shop}, {item}, {generator.randint(0, 9)})"
        yield f"INSERT INTO sold VALUES ({shop}, {item}, '{generator.randint(0, 23):02}:30:00')"


@contextmanager
def loaded(server: str, path: Path, home: Path) -> Iterator[tuple[Instance, str]]:
    tree = a_tree(server)
    instances.initialise(tree, home, {})
    of = Dataset(kind="dump", dump=str(path), digest=path.stem)
    with instances.start(tree, home, {}) as server_:
        dataset.load(server_, of)
        yield server_, dataset.schema_of(server_, of)


def said(instance: Instance, schema: str, known: Schema) -> dict[str, tuple[object, ...]]:
    """Rows, values and different values of every column."""
    found: dict[str, tuple[object, ...]] = {}
    for table, columns in known.tables.items():
        for column in columns.values():
            sql = f"SELECT {EVERY} FROM {schema}.{table}".format(column.name)
            (found[column.full_name],) = instance.query(sql)
    return found


@pytest.mark.parametrize("server", ["mysql-5.7.22", "mysql-8.0.12"])
def test_invented_rows_are_as_many_as_distinct_and_related_as_they_were(server: str, tmp_path: Path) -> None:
    original, copy = tmp_path / "original.sql", tmp_path / "copy.sql"
    written = ";\n".join(rows(random.Random(1)))
    original.write_text(
        f"{CREATED}{written};\n/*!50503 INSERT INTO maker VALUES ('zzz', 'Secret') */;\n{PROGRAMS}"
    )
    with ExitStack() as held:
        instance, schema = held.enter_context(loaded(server, original, tmp_path / "0"))
        known = read_schema(instance, schema)
        synthetic.write(original, copy, instance, schema, known=known, joined=())
        before = said(instance, schema, known)
    text = copy.read_text()
    assert "ecret" not in text
    assert "one; two" in text  # part of the schema
    with loaded(server, copy, tmp_path / "1") as (instance, schema):
        assert said(instance, schema, known) == before
        with closing(instance.connect(database=schema)) as session, session.cursor() as cursor:
            for sql in (*ORPHANS, "dear WHERE price <= 100", "item WHERE twice <> price * 2"):
                cursor.execute(f"SELECT COUNT(*) FROM {sql}")
                assert cursor.fetchall() == ((0,),), sql
            cursor.execute("SELECT COUNT(*) FROM item WHERE MOD(id / 3, 8) = flags + 0")
            ((together,),) = cursor.fetchall()
        assert together < ITEMS / 2  # in the original all are


def test_the_same_dump_gives_the_same_copy(tmp_path: Path) -> None:
    original = tmp_path / "original.sql"
    original.write_text(CREATED + ";\n".join(rows(random.Random(2))))
    with loaded("mysql-5.7.22", original, tmp_path / "0") as (instance, schema):
        known = read_schema(instance, schema)
        for name in ("a.sql", "b.sql"):
            synthetic.write(original, tmp_path / name, instance, schema, known=known, joined=())
    assert (tmp_path / "a.sql").read_bytes() == (tmp_path / "b.sql").read_bytes()
    statements = [*dump.prepared(tmp_path / "a.sql")]
    assert sum(each.startswith(b"INSERT") for _, each in statements) == 4  # nothing is empty
