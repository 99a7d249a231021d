import re
from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import dataset
from shootout.model.plan import Dataset, DatasetSize
from tests.support.measure.servers import fresh
from tests.support.runs import a_tree
from tests.unit.measure.test_dump import DUMP, a_workload


def the_dataset(folder: Path, text: str = DUMP) -> Dataset:
    (folder / "d.sql").write_text(text)
    file = a_workload(folder)
    return workload.dataset_of(workload.load(str(file)), DatasetSize(), str(file))


GENERAL = "utf8mb4_general_ci"


def test_a_dump_is_loaded_as_it_is_and_alike(tmp_path: Path) -> None:
    checksums = []
    text = f"{DUMP};\nCREATE TABLE a_c (i INT);\nCREATE TABLE ab (i INT);\n"  # servers list them differently
    text += "CREATE TABLE collated (t TEXT) DEFAULT CHARSET=utf8mb4;\n"  # whose default is another since 8.0
    text += "CREATE TABLE moment (at TIMESTAMP NULL);\nINSERT INTO moment VALUES ('2026-07-01 12:00:00');\n"
    for name, zone in (("mysql-5.7.22", "+00:00"), ("mysql-8.0.12", "+05:30")):
        loaded = the_dataset(tmp_path, text)
        with fresh(name, tmp_path / name, started={"default-time-zone": zone}) as server:
            dataset.load(server, loaded)
            checksums.append(dataset.verify(server, loaded))
            dataset.warm(server, loaded)
            schema = dataset.schema_of(server, loaded)
            assert server.query(f"SELECT * FROM {schema}.v ORDER BY id") == ((1,), (2,), (3,), (4,))
            assert server.query(f"SELECT t FROM {schema}.`a;b` ORDER BY id")[3] == ("x;;",)
            assert server.query("SELECT * FROM information_schema.events") == ()
            assert server.query(f"SHOW TABLE STATUS FROM {schema} LIKE 'collated'")[0][14] == GENERAL
            server.query(f"UPDATE {schema}.`a;b` SET t = 'other' WHERE id = 2")
            assert dataset.verify(server, loaded) != checksums[0]
    assert len(set(checksums)) == 1


# As mysqldump 5.7 writes it; newer servers lack the first and the last mode.
TRIGGER = """
CREATE TABLE pot (id INT PRIMARY KEY, n INT);
/*!50003 SET @saved_sql_mode = @@sql_mode */ ;
/*!50003 SET sql_mode = 'NO_KEY_OPTIONS,STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`cook`@`%`*/ /*!50003 TRIGGER bi BEFORE INSERT ON pot FOR EACH ROW
  SET NEW.n = NEW.n + 1 */;;
DELIMITER ;
/*!50003 SET sql_mode = @saved_sql_mode */ ;
INSERT INTO pot VALUES (1, 1);
"""


def test_session_modes_that_a_server_lacks_are_dropped_and_said(tmp_path: Path) -> None:
    loaded = the_dataset(tmp_path, TRIGGER)
    modes = {}
    for name in ("mysql-5.7.22", "mysql-8.0.12"):
        with fresh(name, tmp_path / name) as server:
            modes[name] = [warning.text for warning in dataset.load(server, loaded)]
            schema = dataset.schema_of(server, loaded)
            ((kept,),) = server.query(
                f"SELECT sql_mode FROM information_schema.triggers WHERE trigger_schema = '{schema}'"
            )
            assert "STRICT_TRANS_TABLES" in kept
            assert server.query(f"SELECT n FROM {schema}.pot") == ((2,),)
    text = "d.sql was loaded without the session modes that the server lacks: "
    text += "NO_KEY_OPTIONS, NO_AUTO_CREATE_USER"
    assert modes == {"mysql-5.7.22": [], "mysql-8.0.12": [text]}
    template = dataset.template(a_tree("mysql-8.0.12"), {}, [loaded], tmp_path / "cache")
    assert [warning.text for warning in template.told] == [text]


def test_a_refused_statement_is_named_by_its_line(tmp_path: Path) -> None:
    loaded = the_dataset(tmp_path, "SELECT 1;\n\nCREATE TABLE t (id nothing);\n")
    with (
        fresh("mysql-5.7.22", tmp_path / "home") as server,
        pytest.raises(MeasureError, match=re.escape("d.sql, line 3: (1064")),
    ):
        dataset.load(server, loaded)
