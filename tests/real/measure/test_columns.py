from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import columns, dataset
from shootout.model.plan import Dataset, DatasetSize
from shootout.model.program import Numbers, Program, ProgramColumn
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh

TABLE = """CREATE TABLE t (
    id INT PRIMARY KEY, sparse BIGINT, name VARCHAR(9), code VARBINARY(4), amount DECIMAL(9, 2), day DATE,
    none INT, hashed BIGINT UNSIGNED
) DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci;
INSERT INTO t VALUES
    (1, -5, 'b', X'00FF', 10.5, '2020-02-01', NULL, 18446744073709551615),
    (2, 70, 'B', X'41', 9.25, '2019-12-31', NULL, 9), (3, 70, 'a', NULL, NULL, NULL, NULL, 10),
    (4, 9, '\u00fc', X'41', 10.5, '2020-02-01', NULL, NULL);
"""
EXPECTED = {
    "id": (Numbers(min=1, max=4), 5),
    "sparse": ((-5, 9, 70), 71),
    "name": (("B", "a", "b", "\u00fc"), None),  # by the bytes, whatever the collation
    "code": (("00FF", "41"), None),
    "amount": (("9.25", "10.50"), None),
    "day": (("2019-12-31", "2020-02-01"), None),
    "none": ((), 1),
    "hashed": (("9", "10", "18446744073709551615"), None),  # beyond the engine's numbers
}


@pytest.fixture(scope="module", params=["mysql-5.7.22", "mysql-8.0.12"])
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Instance, Dataset]]:
    folder = tmp_path_factory.mktemp("columns")
    (folder / "d.sql").write_text("/*!40101 SET NAMES utf8mb4 */;\n" + TABLE, "utf-8")
    with fresh(request.param, folder / "home") as server:
        made = workload.dump_dataset(folder / "d.sql", DatasetSize())
        dataset.load(server, made)
        yield server, made


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_in_the_same_order_everywhere(loaded: tuple[Instance, Dataset], name: str) -> None:
    server, made = loaded
    found = columns.read(ProgramColumn(name=f"t.{name}"), dataset.schema_of(server, made), server)
    assert (found.values, found.next) == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "beside", "values", "starts"),
    [
        ("id", "sparse", (1, 4, 2, 3), (0, 1, 2, 4)),
        ("name", "id", ("b", "B", "a", "\u00fc"), (0, 1, 2, 3, 4)),
        ("code", "name", ("41", "00FF", "41"), (0, 1, 1, 2, 3)),
    ],
)
def test_values_stand_beside_those_of_the_same_rows(
    name: str,
    beside: str,
    values: tuple[object, ...],
    starts: tuple[int, ...],
    loaded: tuple[Instance, Dataset],
) -> None:
    server, made = loaded
    program = a_program(
        ProgramColumn(name=f"t.{name}", beside=f"t.{beside}"), ProgramColumn(name=f"t.{beside}")
    )
    found, _ = columns.filled(program, dataset.schema_of(server, made), server).columns
    assert (found.values, found.starts) == (values, starts)


def test_of_many_values_an_even_part_is_read(
    loaded: tuple[Instance, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "VALUES_MAX", 2)
    server, made = loaded
    found = columns.read(ProgramColumn(name="t.sparse"), dataset.schema_of(server, made), server)
    assert found.values == (-5, 70)


def test_the_server_says_which_values_are_there(loaded: tuple[Instance, Dataset]) -> None:
    server, made = loaded
    schema = dataset.schema_of(server, made)
    assert sorted(columns.present("t.name", schema, server, [b"b", b"a", b"zoe"])) == ["a", "b"]
    assert columns.present("t.code", schema, server, [b"\x00\xff", b"x"]) == ["00FF"]
    assert columns.present("t.sparse", schema, server, [b"70", b"71"]) == ["70"]


def a_program(*made: ProgramColumn) -> Program:
    compiled = workload.compile_program("oltp_point_select", workload.load("oltp_point_select"), Dataset())
    return replace(compiled, columns=made)


def test_new_numbers_are_beyond_those_of_all_servers(loaded: tuple[Instance, Dataset]) -> None:
    server, made = loaded
    schema = dataset.schema_of(server, made)
    new = ProgramColumn(name="t.id", fresh=True)
    program = columns.filled(a_program(new, ProgramColumn(name="t.sparse")), schema, server)
    assert [each.next for each in columns.continued(program, schema, server).columns] == [5, 71]
    server.query(f"INSERT INTO {schema}.t (id) VALUES (50)")
    assert [each.next for each in columns.continued(program, schema, server).columns] == [51, 71]
    server.query(f"DELETE FROM {schema}.t WHERE id = 50")


def test_a_column_that_is_not_there_is_named(loaded: tuple[Instance, Dataset]) -> None:
    server, made = loaded
    with pytest.raises(MeasureError, match=r"the dataset has no column t\.nothing"):
        columns.read(ProgramColumn(name="t.nothing"), dataset.schema_of(server, made), server)
