"""What `learn` writes is a workload file that its own reader takes."""

from __future__ import annotations

from pathlib import Path

from shootout.inputs import workload as workloads
from shootout.learn import learning
from shootout.learn.binding import bind
from shootout.learn.schema import Schema
from shootout.learn.shapes import Values
from shootout.model.learned import Template
from shootout.model.plan import DatasetSize
from shootout.model.program import Numbers, Program, ProgramColumn
from tests.learn.builders import a_log, a_schema, a_slot, a_table, a_template

ODD = Schema(
    {"odd": a_table("odd", **dict.fromkeys(("_id", "ñ_x", "table", "unused", "ñ"), "int unique"))}, {}
)


def values(name: str) -> Values:
    return Values(ProgramColumn(name=name, values=Numbers(min=1, max=1000), next=1001), "int")


def learned(folder: Path, *templates: Template, known: Schema | None = None) -> tuple[str, Program]:
    """The file that is written for these statements, and what the reader makes of it."""
    known, log = known or a_schema(), a_log(*templates)
    bound = [bind(template, known) for template in log.templates]
    (folder / "dump.sql").write_text("")
    file = folder / "workload.toml"
    text, _ = learning.learn(log, bound, known, values, server="8.0", dump="dump.sql", logs=["slow.log"])
    file.write_text(text)
    dataset = workloads.dump_dataset(folder / "dump.sql", DatasetSize())
    return text, workloads.compile_program("workload", workloads.load(str(file)), dataset)


def test_names_are_those_that_a_workload_may_have(tmp_path: Path) -> None:
    many = a_slot(*range(1, 1001))
    _, program = learned(
        tmp_path,
        a_template("ROLLBACK TO SAVEPOINT s1"),
        a_template("BEGIN NOT ATOMIC SELECT 1; END"),
        *(
            a_template(f"SELECT 1 FROM odd WHERE `{name}` = ?", many)
            for name in ("_id", "ñ_x", "table", "unused", "ñ")
        ),
        known=ODD,
    )
    assert {"rollback_", "begin_", "select_odd"} <= {kind.name for kind in program.kinds}
