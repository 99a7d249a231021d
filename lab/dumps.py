"""Dumps of schemas as mysqldump would write them, for tests without a client."""

from __future__ import annotations

from pathlib import Path

from shootout.servers.running import Running


def write(server: Running, schema: str, path: Path) -> Path:
    """Write all tables of the schema."""
    with path.open("w", encoding="utf-8") as file:
        file.write("-- MySQL dump\n--\n/*!40101 SET NAMES utf8mb4 */;\n")
        file.write("/*!40014 SET FOREIGN_KEY_CHECKS=0 */;\n")
        for (table,) in server.query(f"SHOW TABLES FROM {schema}"):
            ((_, create),) = server.query(f"SHOW CREATE TABLE {schema}.`{table}`")
            file.write(f"DROP TABLE IF EXISTS `{table}`;\n{create};\n")
            rows = server.query(f"SELECT * FROM {schema}.`{table}`")
            for first in range(0, len(rows), 1000):
                values = ",".join(f"({','.join(map(_literal, row))})" for row in rows[first : first + 1000])
                file.write(f"INSERT INTO `{table}` VALUES {values};\n")
    return path


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n") + "'"
