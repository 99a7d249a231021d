"""The user's own workloads: the example of docs/workloads.md, as its readers run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.document import journal
from tests.real.end_to_end.test_own_workload import EXAMPLE
from tests.support.runs import SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]


@pytest.fixture
def transfer(tmp_path: Path) -> Path:
    path = tmp_path / "transfer.toml"
    path.write_text(EXAMPLE)
    return path


def test_the_example_runs(lab: Lab, transfer: Path, tmp_path: Path) -> None:
    options = ["--threads=2", "--set=options.accounts=100", "--set=options.at_once=3"]
    options += ["--set=load.protocol=prepared", "--seed=7"]
    out = tmp_path / "out"
    done = lab.run(
        SHOOTOUT, "run", f"--profile={lab.once}", f"--workloads={transfer}", *options, f"--out={out}"
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "load: prepared statements, accounts = 100, at_once = 3" in done.stdout
    run = journal.read(document_in(out))
    assert run.failures == ()
    (record,) = run.header.workloads
    assert (record.name, record.written) == ("transfer", str(transfer))
    assert (record.protocol, record.options) == ("prepared", {"accounts": 100, "at_once": 3})
    for start in run.starts:
        for samples in start.samples:
            assert samples.statements.keys() == {"balance", "note", "move", "read", "begin", "commit"}
            assert samples.writes == samples.other or samples.errors  # two in each BEGIN and COMMIT
    (page,) = (out / "site" / "runs").glob("*/*t2-mysql-8*.html")
    command = (
        f"--workloads {transfer} --threads 2 --seed 7 --set options.accounts=100 "
        "--set options.at_once=3 --set load.protocol=prepared"
    )
    assert command in page.read_text()
