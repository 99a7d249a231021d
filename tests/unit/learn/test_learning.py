"""The file that `learn` writes is a workload that its own reader takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from shootout.errors import InputError
from shootout.inputs.workload import compile_program, dump_dataset, load
from shootout.learn import learning
from shootout.learn.binding import bind
from shootout.learn.ranks import Values
from shootout.learn.schema import Schema
from shootout.learn.values import Template
from shootout.model.plan import DatasetSize
from shootout.model.program import Numbers, Program, ProgramColumn, ProgramLearned
from tests.support.learn.builders import a_log, a_schema, a_slot, a_table, a_template

ODD = Schema(
    {"odd": a_table("odd", **dict.fromkeys(("_id", "ñ_x", "table", "unused", "ñ"), "int unique"))}, {}
)
MONTHS, SHARDS = ("202411", "202412", "202501"), [f"{number:02d}" for number in range(64)]
NUMBERED = Schema(
    {f"{stem}{digits}": a_table(stem, id="int unique") for stem, of in (("log_", MONTHS), ("shard_", SHARDS))
     for digits in of}, {},
)  # fmt: skip


def values(name: str) -> Values:
    return Values(ProgramColumn(name=name, values=Numbers(min=1, max=1000), next=1001), "int")


def learned(folder: Path, *templates: Template, known: Schema | None = None) -> tuple[str, Program]:
    """The file that is written for these statements, and what the reader makes of it."""
    known, log = known or a_schema(), a_log(*templates)
    bound = [bind(template, known) for template in log.templates]
    (folder / "dump.sql").write_text("SELECT 1")
    file = folder / "workload.toml"
    text, _ = learning.learn(log, bound, known, values, server="8.0", dump="dump.sql", logs=["slow.log"])
    file.write_text(text)
    dataset = dump_dataset(folder / "dump.sql", DatasetSize())
    return text, compile_program("workload", load(str(file)), dataset)


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


def test_tables_are_numbered_with_the_dumps_own_digits(tmp_path: Path) -> None:
    assert NUMBERED.families == {"log_": MONTHS, "shard_": tuple(SHARDS)}
    _, program = learned(
        tmp_path,
        a_template("SELECT 1 FROM log_?", a_slot(202412, 202501, table=True)),
        a_template("SELECT 1 FROM shard_?", a_slot(*SHARDS, table=True)),
        known=NUMBERED,
    )
    assert [column.values for column in program.columns] == [MONTHS, tuple(SHARDS)]
    (first, _) = program.parameters
    assert isinstance(first, ProgramLearned)
    assert first.positions[0] >= 0.333  # not the first month


def test_quoted_names_of_numbered_tables_have_a_slot(tmp_path: Path) -> None:
    some = a_template("SELECT `a?b` FROM `part?` WHERE id = ?", a_slot(1, 2, table=True), a_slot(5))
    text, program = learned(tmp_path, some)
    assert "SELECT `a?b` FROM `part{table_number}` WHERE id = {id}" in text
    assert [column.name for column in program.columns] == ["", "part1.id"]


def test_a_log_without_anything_to_send_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^slow\.log: no statement is left .*: 100 x changes tables$"):
        learned(tmp_path, a_template("DROP TABLE orders"))


LOG = a_log(a_template("SELECT 1"), a_template("call p(?)", count=2), a_template("CALL q (?)", count=3))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fastest_s": 1.0}, "the log's fastest statement took 1 s, so long_query_time has hidden faster"),
        ({"sampled": 10}, "the server logged one of 10 statements (Log_slow_rate_limit): transact"),
        ({"sampled": 10, "sampled_sessions": True}, "the server logged one of 10 sessions (Log_slow_rate_li"),
    ],
)
def test_what_a_log_hides_is_warned_of(changes: dict[str, Any], said: str) -> None:
    told, calls = learning.warnings(replace(LOG, **changes))
    assert told.startswith(said)
    assert calls.startswith("5 statements are CALLs; ")
