"""The user's own workloads: the example of docs/workloads.md, as its readers run it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shootout import paths
from shootout.document import journal
from shootout.inputs import workload
from shootout.model.plan import DatasetSize
from shootout.model.workload import Parameter, Workload
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]

DOCS = (paths.ROOT / "docs" / "workloads.md").read_text()
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)


@pytest.fixture
def transfer(tmp_path: Path) -> Path:
    path = tmp_path / "transfer.toml"
    path.write_text(EXAMPLE)
    return path


def rows_of(heading: str) -> list[str]:
    """The first cells of the table under a heading."""
    section = DOCS.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_every_key_and_parameter_is_explained() -> None:
    assert sorted(rows_of("The file")) == sorted(Workload.__struct_fields__)
    tags = [kind.__struct_config__.tag for kind in Parameter.__args__]
    assert sorted(rows_of("Placeholders")) == sorted(tags)


def test_the_message_shown_is_the_one_given(transfer: Path) -> None:
    transfer.write_text(EXAMPLE.replace("WHERE id = {sender}", "WHERE id = {sendr}"))
    with pytest.raises(Exception, match="unknown placeholder") as caught:
        workload.compile_program("transfer", workload.load(str(transfer)), DatasetSize().of_kind("own"))
    assert f"    shootout: {caught.value}\n" in DOCS


def test_reports_run_as_they_are_side_by_side(lab: Lab, tmp_path: Path) -> None:
    found = re.findall(r"^```sql\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)
    files = [tmp_path / f"{name}.sql" for name in ("missing", "load")]
    for file, text in zip(files, found, strict=True):
        file.write_text(text)
    quoting = found[0].replace("SELECT DISTINCT word", 'SELECT DISTINCT "seen"."word"')  # refused otherwise
    files[0].write_text(f"SET SESSION sql_mode = 'ANSI_QUOTES';\n{quoting}")
    out = tmp_path / "out"
    reports = ",".join(map(str, files))
    done = lab.run(
        SHOOTOUT, "run", f"--profile={lab.once}", f"--workloads={reports}", "--threads=1,2", f"--out={out}"
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    run = journal.read(document_in(out))
    assert run.failures == ()
    sent = {start.block: {*start.samples[0].statements} for start in run.starts}
    assert (sent["missing-t1"], sent["load-t2"]) == ({"select"}, {"load", "delete"})
    planned = {plan.kind for start in run.starts for plan in start.plans if plan.steps}
    assert planned >= {"select", "delete"}


def test_a_broken_promise_fails_the_cell_and_prepared_statements_have_plans(
    lab: Lab, transfer: Path, tmp_path: Path
) -> None:
    transfer.write_text(EXAMPLE.replace("+ IF(id = {receiver}, {amount}, 0)", ""))
    out = tmp_path / "out"
    done = lab.run(
        *(SHOOTOUT, "run", f"--profile={lab.once}", f"--workloads={transfer}", "--threads=2", f"--out={out}"),
        "--set=load.protocol=prepared",
    )
    assert done.returncode == 3
    run = journal.read(document_in(out))
    plans = [plan for start in run.starts for plan in start.plans if plan.steps]
    assert {(plan.server, plan.kind) for plan in plans} == {
        (server, kind) for server in (BASE, HEAD) for kind in ("balance", "note", "move", "read")
    }
    assert {plan.sql for plan in plans if plan.kind == "balance"} == {
        "SELECT balance FROM account WHERE id = ?"
    }
    failures = run.failures
    assert [failure.cell.server for failure in failures] == [BASE, HEAD]
    for failure in failures:
        assert re.fullmatch(r"check no_money_lost: expected no row, found total = -?\d+", failure.reason)
    assert "transfer, 2 threads, mysql-8.0.12: check no_money_lost: expected no row" in done.stdout
    assert lab.left() == ([], [])
