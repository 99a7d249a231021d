"""A workload's hooks: setup statements before a block, checks after it."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass

from msgspec import structs
from pymysql.cursors import Cursor

from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import execution_plans
from shootout.measure.dataset import cursor_on, schema_of
from shootout.model.plan import NUMBERS, Dataset
from shootout.model.workload import Workload
from shootout.servers.processes.instances import Instance
from shootout.servers.running import Running

STATEMENT_TIMEOUT_S = 600.0  # for one statement of a setup or a check


@dataclass(frozen=True)
class Hooks:
    """One workload's setup and checks on a running server."""

    instance: Running
    workload: Workload
    dataset: Dataset

    @property
    def schema(self) -> str:
        """The schema that the statements run in."""
        return schema_of(self.instance, self.dataset)

    def set_up(self, threads: int) -> tuple[str, ...]:
        """Run the setup, in an empty `own` schema; return what the server warned of. Raises MeasureError."""
        told: dict[str, None] = {}
        statements = workload.setup(self.workload, self.dataset, threads)
        with self._cursor() as cursor:
            if self.instance.ours:
                cursor.execute("SET SESSION sql_log_bin = 0")
            if self.dataset.kind == "own":
                removing, creating = self.instance.removing(self.schema), self.instance.creating(self.schema)
                for statement in (*removing, *creating):
                    cursor.execute(statement)
                renamed = "default_storage_engine" in self.instance.variables()  # by MySQL 5.5
                variable = "default_storage_engine" if renamed else "storage_engine"
                cursor.execute(f"SET SESSION {variable} = {self.dataset.engine}")
            cursor.execute(f"USE `{self.schema}`")
            if workload.uses_files(self.workload) and isinstance(self.instance, Instance):
                folder = (self.instance.directory / "data" / self.dataset.files).resolve()
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            if workload.reads_numbers(self.workload):
                numbers = schema_of(self.instance, structs.replace(self.dataset, digest=NUMBERS))
                cursor.execute(f"CREATE VIEW {NUMBERS} AS SELECT n FROM `{numbers}`.{NUMBERS}")
            for statement in statements:
                with self.instance.naming(f"setup: {statement}"):
                    cursor.execute(statement)
                    cursor.execute("SHOW WARNINGS")
                rows = (row for row in cursor.fetchall() if row[0] == "Warning")
                coded = ({"Code": code, "Message": text} for _, code, text in rows)
                told |= dict.fromkeys(execution_plans.warnings(coded, statement))
        return tuple(told)

    def check(self) -> None:
        """Run the checks. Raises MeasureError for the first that returns a row."""
        checks = workload.checks(self.workload, self.dataset)
        if not checks:
            return
        with self._cursor() as cursor:
            cursor.execute(f"USE `{self.schema}`")
            for check in checks:
                with self.instance.naming(f"check {check.name}"):
                    cursor.execute(check.sql)
                    row = cursor.fetchone()
                if row is not None:
                    columns = (column[0] for column in cursor.description)
                    fields = ", ".join(f"{name} = {value}" for name, value in zip(columns, row, strict=True))
                    raise MeasureError(f"check {check.name}: expected no row, found {fields}")

    def _cursor(self) -> AbstractContextManager[Cursor]:
        return cursor_on(self.instance, f"schema {self.schema}", STATEMENT_TIMEOUT_S)
