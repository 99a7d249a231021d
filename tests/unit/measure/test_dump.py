from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.inputs import workload
from shootout.measure import dump
from shootout.model.plan import DatasetSize

# As mysqldump and mariadb-dump write them, and a little worse.
DUMP = r"""-- MySQL dump 10.13
--
/*!40101 SET NAMES utf8mb4 */;
/*!999999\- enable the sandbox mode */
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-2';
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`;
USE `shop`;
DROP TABLE IF EXISTS `a;b`;
CREATE TABLE `a;b` (
  `id` int NOT NULL COMMENT 'it''s; -- \' not the end',
  `t` varchar(30) DEFAULT NULL, -- a; comment
  `j` json DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
LOCK TABLES `a;b` WRITE;
/*!40000 ALTER TABLE `a;b` DISABLE KEYS */;
INSERT INTO `a;b` VALUES (1,'a;b''c\\','{"b": 1, "a": 2}'),(2-1+1,"#;x",NULL),(6/2,'--',NULL); # tail ;
UNLOCK TABLES;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`gone`@`%`*/ /*!50003 TRIGGER tr BEFORE INSERT ON `a;b` FOR EACH ROW BEGIN
  SET NEW.t = 'x;;'; SET NEW.j = NULL; END */;;
/*!50106 CREATE*/ /*!50117 DEFINER=`gone`@`%`*/ /*!50106 EVENT `e` ON SCHEDULE EVERY 1 SECOND
  DO DELETE FROM `a;b` */ ;;
DELIMITER ;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`gone`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `v` AS select `a;b`.`id` AS `id` from `a;b` */;
INSERT INTO `a;b` VALUES (4, 'y', NULL)"""


def test_a_dump_of_two_databases_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "d.sql"
    file.write_text("USE a;\nSELECT 1;\nUSE b;\n")
    with pytest.raises(MeasureError, match=r"d\.sql, line 3: expected a dump of one database"):
        list(dump.prepared(file))


def sent(folder: Path, text: str) -> list[str]:
    """The statements that are sent of a dump."""
    file = folder / "d.sql"
    file.write_text(text)
    return [statement.decode() for _, statement in dump.prepared(file)]


@pytest.mark.parametrize(
    "statement",
    [
        # mysqldump --source-data, --apply-replica-statements, --dump-replica, and mariadb-dump's
        "CHANGE MASTER TO MASTER_LOG_FILE='binlog.000002', MASTER_LOG_POS=157",
        "CHANGE MASTER 'a' TO MASTER_USE_GTID=slave_pos",
        "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000002', SOURCE_LOG_POS=157",
        "STOP SLAVE",
        "STOP ALL SLAVES",
        "STOP REPLICA",
        "START SLAVE",
        "start all slaves",
        "START REPLICA",
        "RESET SLAVE ALL",
        "RESET MASTER",
        "RESET BINARY LOGS AND GTIDS",
        "SET GLOBAL gtid_slave_pos='0-1-2'",
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-2'",
        "SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF",
        "SET PERSIST max_connections = 10",
        "SET @@SESSION.SQL_LOG_BIN= 0",
        "SET sql_log_bin = 0",
        "FLUSH PRIVILEGES",
        "FLUSH TABLES WITH READ LOCK",
        "/*! FLUSH PRIVILEGES */",
        "/*!50100 SET GLOBAL event_scheduler = ON */",
        "/*M!100500 STOP ALL SLAVES */",
    ],
)
def test_what_belongs_to_the_server_is_left_out(statement: str, tmp_path: Path) -> None:
    assert sent(tmp_path, f"{statement};\nSELECT 1;\n") == ["SELECT 1"]


EVENT = "ON SCHEDULE EVERY 1 SECOND DO DELETE FROM t"
DEFINERS = (
    *(
        "`gone`@`%`",
        "'gone'@'10.0.0.%'",
        '"gone"@"localhost"',
        "gone@localhost",
        "gone@10.0.0.1",
        "`a b`@`%`",
    ),
    *("CURRENT_USER", "current_user()", "`role`"),
)


@pytest.mark.parametrize(
    "statement",
    [
        f"/*!50106 CREATE*/ /*!50117 DEFINER=`gone`@`%`*/ /*!50106 EVENT `e` {EVENT} */",
        f"/*!50106 CREATE EVENT `e` {EVENT} */",
        f"CREATE EVENT IF NOT EXISTS e {EVENT}",
        f"create or replace event e {EVENT}",
        *(f"CREATE DEFINER={each} EVENT `e` {EVENT}" for each in DEFINERS),
        f"CREATE\nOR REPLACE DEFINER = gone@localhost\nEVENT `e` {EVENT}",
    ],
)
def test_events_are_left_out(statement: str, tmp_path: Path) -> None:
    assert sent(tmp_path, f"DELIMITER ;;\n{statement} ;;\n") == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE `event` (\n  `id` int NOT NULL\n)",
        "CREATE TABLE event LIKE other",
        "CREATE TABLE a SELECT * FROM event",
        "CREATE UNIQUE INDEX event ON t (id)",
        "/*!50001 CREATE VIEW `v` AS SELECT 1 AS `event` */",
        "/*!50003 CREATE*/ /*!50017 {}*/ /*!50003 TRIGGER a AFTER INSERT ON `event` FOR EACH ROW SET @a=1 */",
        "/*!50003 CREATE*/ /*!50017 {}*/ /*!50003 TRIGGER event AFTER INSERT ON t FOR EACH ROW SET @a = 1 */",
        "CREATE {} PROCEDURE `event`() SELECT 1",
        "CREATE {} FUNCTION event() RETURNS int RETURN 1",
        "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 {} SQL SECURITY DEFINER */\n"
        "/*!50001 VIEW `v` AS select 1 from event */",
    ],
)
def test_what_is_only_named_like_an_event_is_sent(statement: str, tmp_path: Path) -> None:
    text = f"DELIMITER ;;\n{statement.format('DEFINER=`gone`@`%`')} ;;\n"
    assert sent(tmp_path, text) == [statement.format("")]


@pytest.mark.parametrize("definer", DEFINERS[:-3])
def test_a_definer_is_left_out_however_it_is_quoted(definer: str, tmp_path: Path) -> None:
    assert sent(tmp_path, f"CREATE DEFINER={definer} VIEW v AS SELECT 1;") == ["CREATE  VIEW v AS SELECT 1"]


@pytest.mark.parametrize(
    "statement",
    [
        "START TRANSACTION",
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN",
        "SET NAMES utf8mb4",
        "/*!40103 SET TIME_ZONE='+00:00' */",
        "SET @globals = 1",
        "DROP TABLE IF EXISTS `reset `",
    ],
)
def test_what_belongs_to_the_session_is_sent(statement: str, tmp_path: Path) -> None:
    assert sent(tmp_path, f"{statement};\n") == [statement]


def test_a_missing_dump_is_reported_before_anything_starts(tmp_path: Path) -> None:
    file = a_workload(tmp_path)
    with pytest.raises(InputError, match=r"d\.sql: cannot be read: No such file"):
        workload.dataset_of(workload.load(str(file)), DatasetSize(), str(file))


def a_workload(folder: Path) -> Path:
    file = folder / "w.toml"
    file.write_text(
        'title = "t"\ndescription = "d"\n[[transactions]]\n'
        '[[transactions.steps]]\nstatements = [{ name = "a", sql = "SELECT 1" }]\n'
        '[dataset]\ndump = "d.sql"\n'
    )
    return file
