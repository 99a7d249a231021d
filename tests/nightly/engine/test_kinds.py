"""The catalogue of statements: complete, each kind of a name of its own, and no two of them similar."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from shootout.document import journal
from shootout.model.value import Protocol
from tests.support.runs import BASE, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]


def test_a_run_tells_what_a_server_lacks_and_connects_for_each_transaction(lab: Lab, tmp_path: Path) -> None:
    written = ["statements_with", "statements_connect"]
    command = ["run", f"--profile={lab.once}", f"--workloads={','.join(written)}", "--threads=2"]
    for protocol in get_args(Protocol):
        out = tmp_path / protocol
        done = lab.run(SHOOTOUT, *command, f"--set=load.protocol={protocol}", f"--out={out}")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert f"its base, {BASE}, lacks " in done.stdout
        run = journal.read(document_in(out))
        ((cell, reason),) = [(failure.cell, failure.reason) for failure in run.failures]
        assert (cell.server, cell.workload) == (BASE, written[0])
        assert "You have an error in your SQL syntax" in reason
        connecting = [start for start in run.starts if start.block.startswith(written[1])]
        assert connecting
        for samples in (samples for start in connecting for samples in start.samples):
            assert min(samples.transactions) > 0
