import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.inputs import dump, workload
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


def every(text: bytes) -> list[tuple[int, bytes]]:
    return list(dump.statements(io.BytesIO(text)))


def test_statements_end_where_the_client_ends_them() -> None:
    found = every(DUMP.encode())
    assert [line for line, _ in found][:4] == [3, 5, 6, 7]
    texts = [text.decode() for _, text in found]
    assert texts[5].startswith("CREATE TABLE `a;b`")
    assert texts[8].endswith("(6/2,'--',NULL)")
    assert [text[-6:] for text in texts[10:12]] == ["END */", ";b` */"]
    assert texts[-1] == "INSERT INTO `a;b` VALUES (4, 'y', NULL)"
    assert len(found) == 14


@given(
    delimiter=st.sampled_from(["//", "$$", ";;", "--", "-", "/", "-/-", "#", "$$$", "END"]),
    chunk=st.integers(1, 40),
)
def test_no_delimiter_is_missed_wherever_a_chunk_ends(delimiter: str, chunk: int) -> None:
    bodies = ["SELECT 6-2", "SELECT '//$$;;--#END' /* /-//$$;;-- # END$$$ */", "BEGIN x;\ny; E"]
    text = "".join(f"{body} {delimiter}\n" for body in bodies)
    if delimiter in ("-", "/", "-/-"):  # which are in the bodies, too
        text = text.replace("6-2", "2").replace("/* /-//$$;;-- # END$$$ */", "")
        bodies = ["SELECT 2", "SELECT '//$$;;--#END'", bodies[2]]
    text = f"DELIMITER {delimiter}\n{text}DELIMITER ;\nSELECT 3;\nSELECT 4"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dump, "_CHUNK", chunk)
        found = [statement.decode() for _, statement in every(text.encode())]
    assert found == [*bodies, "SELECT 3", "SELECT 4"]


PIECES = (
    *("SELECT 1", "-2.5", "6 / 2", "a--b", "'it''s; '", r"'\'; --'", '"a;""b"', "`a;``b`", "'/*'"),
    *("/* ; ' */", "/*!50003 ; */", "-- ; '\n", "--\n", "# ; `\n", "\n", "é"),
)


@given(
    bodies=st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), max_size=5),
    chunk=st.integers(1, 40),
)
def test_no_delimiter_is_seen_within_quotes_and_comments(bodies: list[list[str]], chunk: int) -> None:
    texts = [" ".join(["DO", *body, "1"]) for body in bodies]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dump, "_CHUNK", chunk)
        found = every("".join(f"-- x;\n{text};\n/* y; */ " for text in texts).encode())
    assert [statement.decode() for _, statement in found] == texts


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
        "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000002', SOURCE_LOG_POS=157",
        *("STOP SLAVE", "STOP ALL SLAVES", "start all slaves", "START REPLICA", "RESET SLAVE ALL"),
        "SET GLOBAL gtid_slave_pos='0-1-2'",
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-2'",
        *("SET PERSIST max_connections = 10", "SET @@SESSION.SQL_LOG_BIN= 0", "SET sql_log_bin = 0"),
        "CREATE USER 'cook'@'%' IDENTIFIED BY PASSWORD '*1'",
        *("GRANT ALL ON *.* TO cook", "FLUSH TABLES WITH READ LOCK", "/*! FLUSH PRIVILEGES */"),
        "CREATE TABLESPACE a ADD DATAFILE '/data/a.ibd'",
        "/*!50100 SET GLOBAL event_scheduler = ON */",
        "/*M!100500 STOP ALL SLAVES */",
    ],
)
def test_what_belongs_to_the_server_is_left_out(statement: str, tmp_path: Path) -> None:
    assert sent(tmp_path, f"{statement};\nSELECT 1;\n") == ["SELECT 1"]


EVENT = "ON SCHEDULE EVERY 1 SECOND DO DELETE FROM t"
ACCOUNTS = ("`gone`@`%`", "'gone'@'10.0.0.%'", '"gone"@"localhost"', "gone@10.0.0.1", "`a b`@`%`")
DEFINERS = (*ACCOUNTS, "CURRENT_USER", "current_user()", "`role`")


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


@pytest.mark.parametrize("definer", ACCOUNTS)
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


ANOTHER = "expected a dump of one database, found another"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("USE a;\nSELECT 1;\nUSE b;\n", f"line 3: {ANOTHER}"),
        ("USE a;\nDROP TABLE IF EXISTS `b`.`t`;\n", f"line 2: {ANOTHER}"),
        ("SELECT 1;\nsource more.sql\nSELECT 2;", "line 2: .*, found a command of .*: source more.sql"),
        ("\\. more.sql", "line 1: .* a command of the mysql client: "),
        ("SELECT 1;\nmysqldump: Got error: 2013: Lost\n", "line 2: .* is not whole: mysqldump: Got"),
        ("", ": expected a dump, found no statement"),
        ("USE mysql;\nSELECT 1;", ": expected an application's database, found the server's own, mysql"),
    ],
)
def test_what_no_server_could_load_is_refused_before_one_starts(
    text: str, fault: str, tmp_path: Path
) -> None:
    (tmp_path / "d.sql").write_text(text)
    with pytest.raises(InputError, match=rf"d\.sql.*{fault}"):
        workload.dump_dataset(tmp_path / "d.sql", DatasetSize())


@pytest.mark.parametrize("chunk", [1, 5, 1000])
def test_lines_of_the_client_need_no_delimiter(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "_CHUNK", chunk)
    text = b"Warning: Using a password; ...\r\nuse kitchen\r\nDROP TABLE a; USE `b`; UPDATE c\nSET d = 1"
    third = (b"DROP TABLE a", b"USE `b`", b"UPDATE c\nSET d = 1")
    first = [(1, b"Warning: Using a password; ..."), (2, b"use kitchen")]
    assert every(text) == [*first, *((3, each) for each in third)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("USE kitchen;", "kitchen"),
        ("use `my-kitchen` ;", "my-kitchen"),
        ("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `Küche` /*!40100 DEFAULT CHARACTER SET utf8 */;", "Küche"),
        ("SET NAMES utf8;\nINSERT IGNORE INTO kitchen . pot VALUES (1)", "kitchen"),
        ('CREATE TABLE IF NOT EXISTS "kitchen"."pot" (id INT)', "kitchen"),
        ("CREATE ALGORITHM=MERGE DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW `kitchen`.`v` AS x", "kitchen"),
        ("-- Host: localhost    Database: kitchen\r\n-- ----\r\nSELECT 1", "kitchen"),
        ("--\n-- Database: `kitchen`\n--\nSELECT 1", "kitchen"),
        ("-- Host: localhost    Database: \nSELECT 1", ""),
        ("INSERT INTO pot SELECT * FROM kitchen.pot", ""),
        ("USE `it's`", ""),
    ],
)
def test_a_dump_tells_its_databases_name(text: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "d.sql").write_text(text, "utf-8")
    assert dump.database(tmp_path / "d.sql", text) == name


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("INSERT INTO kitchen.pot VALUES (1)", True),
        ("INSERT INTO pot VALUES ('kitchen.pot')", False),
        ("CREATE TRIGGER a AFTER INSERT ON pot FOR EACH ROW SET @n = (SELECT 1 FROM `kitchen` .pot)", True),
        ("CREATE VIEW v AS SELECT 1 FROM the_kitchen.pot JOIN a.kitchen.b", False),
    ],
)
def test_statements_name_a_schema(statement: str, named: bool) -> None:
    assert dump.names(statement.encode(), "kitchen") == named


def test_paths_of_another_machine_are_left_out(tmp_path: Path) -> None:
    table = "CREATE TABLE t (i INT) /*!50100 TABLESPACE ts */ DATA DIRECTORY='/a b/' INDEX DIRECTORY = '/c'"
    assert sent(tmp_path, table) == ["CREATE TABLE t (i INT) /*!50100 TABLESPACE ts */  "]


def a_workload(folder: Path) -> Path:
    file = folder / "w.toml"
    file.write_text(
        'title = "t"\ndescription = "d"\n[[transactions]]\n'
        '[[transactions.steps]]\nstatements = [{ name = "a", sql = "SELECT 1" }]\n'
        '[dataset]\ndump = "d.sql"\n'
    )
    return file


def test_a_missing_dump_is_reported_before_anything_starts(tmp_path: Path) -> None:
    file = a_workload(tmp_path)
    with pytest.raises(InputError, match=r"d\.sql: cannot be read: No such file"):
        workload.dataset_of(workload.load(str(file)), DatasetSize(), str(file))
