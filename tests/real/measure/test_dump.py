"""Dumps of many kinds, loaded by an old server and by a newer one that lacks what the old one knew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.inputs import workload
from shootout.measure import dataset, stalls
from shootout.model.plan import Dataset, DatasetSize
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh
from tests.support.runs import a_tree
from tests.support.servers.external.external_server import by_socket, connected
from tests.unit.inputs.test_dump import DUMP, a_workload

ZONES = {"mysql-5.7.22": "+00:00", "mysql-8.0.12": "+05:30"}
GENERAL = "utf8mb4_general_ci"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Instance]]:
    """Both servers, as they are while a template is made, with a binary log."""
    home = tmp_path_factory.mktemp("servers")
    logged = {**dataset.LOADING, "log-bin": "log", "server-id": "1"}
    old, new = (
        fresh(name, home / name, started={**logged, "default-time-zone": zone})
        for name, zone in ZONES.items()
    )
    with old as first, new as second:
        yield [first, second]


def the_dataset(folder: Path, text: str = DUMP, encoding: str = "utf-8") -> Dataset:
    (folder / "d.sql").write_text(text, encoding)
    file = a_workload(folder)
    return workload.dataset_of(workload.load(str(file)), DatasetSize(), str(file))


def test_a_dump_is_loaded_as_it_is_and_alike(servers: list[Instance], tmp_path: Path) -> None:
    text = f"{DUMP};\nCREATE TABLE a_c (i INT);\nCREATE TABLE ab (i INT);\n"  # servers list them differently
    text += "CREATE TABLE collated (t TEXT) DEFAULT CHARSET=utf8mb4;\n"  # whose default is another since 8.0
    text += "CREATE TABLE moment (at TIMESTAMP NULL);\nINSERT INTO moment VALUES ('2026-07-01 12:00:00');\n"
    loaded = the_dataset(tmp_path, text)
    checksums = []
    for server in servers:
        dataset.load(server, loaded)
        checksums.append(dataset.verify(server, loaded))
        dataset.warm(server, loaded)
        assert dataset.schema_of(server, loaded) == "shop"
        assert server.query("SELECT * FROM shop.v ORDER BY id") == ((1,), (2,), (3,), (4,))
        assert server.query("SELECT t FROM shop.`a;b` ORDER BY id")[3] == ("x;;",)
        assert server.query("SELECT * FROM information_schema.events WHERE event_schema = 'shop'") == ()
        assert server.query("SHOW TABLE STATUS FROM shop LIKE 'collated'")[0][14] == GENERAL
        server.query("UPDATE shop.`a;b` SET t = 'other' WHERE id = 2")
        assert dataset.verify(server, loaded) != checksums[0]
    assert len(set(checksums)) == 1


POT = """CREATE TABLE pot (id int NOT NULL AUTO_INCREMENT, n int, PRIMARY KEY (id));
INSERT INTO pot VALUES (1, 5);
"""
# Each with what the newer server lacks.
KINDS = {
    "a trigger of 5.7": (
        f"""{POT}/*!50003 SET @saved_sql_mode       = @@sql_mode */ ;
/*!50003 SET sql_mode              = 'NO_KEY_OPTIONS,STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`cook`@`%`*/ /*!50003 TRIGGER bi BEFORE INSERT ON pot FOR EACH ROW
  SET NEW.n = NEW.n + 1 */;;
DELIMITER ;
/*!50003 SET sql_mode              = @saved_sql_mode */ ;
INSERT INTO pot VALUES (2, 5);
""",
        "session modes that the server lacks: NO_KEY_OPTIONS, NO_AUTO_CREATE_USER",
    ),
    "modes within bodies": (
        f"""{POT}DELIMITER //
CREATE DEFINER=`root`@`localhost` PROCEDURE fill() BEGIN
  SET SESSION sql_mode = 'NO_AUTO_CREATE_USER,STRICT_TRANS_TABLES'; INSERT INTO pot VALUES (2, 6); END//
CREATE TRIGGER bi BEFORE INSERT ON pot FOR EACH ROW SET @@sql_mode := "NO_FIELD_OPTIONS", @n = 1//
DELIMITER ;
CALL fill();
""",
        "session modes that the server lacks: NO_AUTO_CREATE_USER, NO_FIELD_OPTIONS",
    ),
    "variables of 5.5, and paths of its machine": (
        f"""SET storage_engine = MyISAM, @a = 1;
/*!50003 SET @@SESSION.query_cache_type = OFF */;
CREATE USER cook IDENTIFIED BY PASSWORD '*1'; GRANT ALL ON kitchen.* TO cook;
{POT.replace(");", ") ENGINE=InnoDB DATA DIRECTORY='/nowhere/at/all/' COMMENT='pots';", 1)}
INSERT INTO pot VALUES (2, 6);
""",
        "variables that the server lacks: storage_engine, query_cache_type",
    ),
    "its own database's name": (
        """CREATE SCHEMA IF NOT EXISTS `kitchen` DEFAULT CHARACTER SET utf8 ;
USE `kitchen` ;
CREATE TABLE IF NOT EXISTS `kitchen`.`pot` (`id` INT NOT NULL, `n` INT NULL, PRIMARY KEY (`id`));
INSERT INTO `kitchen`.`pot` (`id`, `n`) VALUES (1, 5), (2, 6);
""",
        "",
    ),
    "that name in bodies and views, told by a comment": (
        f"""-- Host: localhost    Database: my-kitchen
{POT}CREATE VIEW v AS SELECT `my-kitchen`.`pot`.`id` AS `id` FROM `my-kitchen`.`pot`;
DELIMITER ;;
CREATE TRIGGER bi BEFORE INSERT ON pot FOR EACH ROW SET NEW.n = (SELECT COUNT(*) FROM `my-kitchen`.pot);;
CREATE PROCEDURE fill() INSERT INTO `my-kitchen`.pot SELECT id + 1, 0 FROM v;;
DELIMITER ;
CALL fill();
""",
        "",
    ),
    "as mysqlpump and mysqldump --compatible=ansi have it": (
        """SET SQL_MODE="NO_AUTO_VALUE_ON_ZERO,ANSI";
CREATE TABLE "kitchen"."pot" ("id" int NOT NULL, "n" int DEFAULT NULL, PRIMARY KEY ("id"));
INSERT INTO "kitchen"."pot" VALUES (1,5),(2,6);
ALTER TABLE "kitchen"."pot" ADD KEY "n" ("n");
""",
        "",
    ),
    "a function without DETERMINISTIC": (
        f"""{POT}DELIMITER ;;
CREATE DEFINER=`root`@`localhost` FUNCTION `dearest`() RETURNS int
BEGIN
  DECLARE m int;
  SELECT MAX(n) INTO m FROM pot;
  RETURN m;
END ;;
DELIMITER ;
INSERT INTO pot SELECT 2, dearest();
""",
        "",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_servers_dump_is_loaded_by_a_newer_one(
    kind: str, servers: list[Instance], tmp_path: Path
) -> None:
    text, lacking = KINDS[kind]
    loaded = the_dataset(tmp_path, text)
    told = [[warning.text for warning in dataset.load(server, loaded)] for server in servers]
    for server in servers:
        schema = dataset.quoted(dataset.schema_of(server, loaded))
        assert server.query(f"SELECT id FROM {schema}.pot ORDER BY id") == ((1,), (2,))
        dataset.unload(server, loaded)
    assert told[1] == ([f"d.sql was loaded without the {lacking}"] if lacking else [])
    assert told[0] in ([], ["d.sql was loaded without the variables that the server lacks: storage_engine"])


def test_a_template_tells_what_was_left_out(tmp_path: Path) -> None:
    text, lacking = KINDS["a trigger of 5.7"]
    loaded = the_dataset(tmp_path, text, "utf-16")
    template = dataset.template(a_tree("mysql-8.0.12"), {}, [loaded], tmp_path / "cache")
    assert [warning.text for warning in template.told] == [f"d.sql was loaded without the {lacking}"]


def test_a_refused_statement_is_named_by_its_line(servers: list[Instance], tmp_path: Path) -> None:
    loaded = the_dataset(tmp_path, "SELECT 1;\n\nCREATE TABLE t (id nothing);\n")
    with pytest.raises(MeasureError, match=re.escape("d.sql, line 3: (1064")):
        dataset.load(servers[0], loaded)


def test_a_server_that_runs_already_gets_no_statement_on_another_schema(
    servers: list[Instance], tmp_path: Path
) -> None:
    """Its data may be what was dumped."""
    servers[1].query("CREATE DATABASE kitchen")
    servers[1].query("CREATE TABLE kitchen.pot (id INT)")
    loaded = the_dataset(tmp_path, "USE kitchen;\nSELECT 1;\nDROP TABLE IF EXISTS `kitchen`.`pot`;\n")
    with connected(servers[1], by_socket(servers[1])) as external:
        with pytest.raises(InputError, match="line 3: it names its own database, kitchen, but a running"):
            dataset.load(external, loaded)
        dataset.unload(external, loaded)
    assert servers[1].query("SELECT COUNT(*) FROM kitchen.pot") == ((0,),)


def test_a_statement_that_a_server_takes_for_too_large_is_named_so(
    servers: list[Instance], tmp_path: Path
) -> None:
    loaded = the_dataset(tmp_path, f"SELECT 1;\nSELECT '{'x' * 3_000_000}';\n")
    fault = r"line 2: its statement has 3,000,009 bytes, more than the server's max_allowed_packet, 1,048,576"
    for server in servers:
        server.query("SET GLOBAL max_allowed_packet = 1048576")
        with pytest.raises(MeasureError, match=fault):
            dataset.load(server, loaded)


def test_a_server_that_hangs_while_loading_is_killed(
    servers: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep it last: no other test can have this server."""
    monkeypatch.setattr(stalls, "STALL_S", 1.0)
    loaded = the_dataset(tmp_path, "SELECT 1;\nSELECT SLEEP(600);\n")
    fault = r"(?s)^5\.7: the server made no progress for 1 s, and was killed\nThe server has died .*SIGKILL"
    with pytest.raises(MeasureError, match=fault) as caught, stalls.ended(servers[0], "5.7"):
        dataset.load(servers[0], loaded)
    words = str(caught.value.__cause__)
    assert "d.sql, line 2: (2013, 'Lost connection" in words
    assert "The server has died (signal SIGKILL); its error log ends:" in words
