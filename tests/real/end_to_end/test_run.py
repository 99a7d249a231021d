"""`shootout run` on real servers, as users run it: what it says and leaves, and when things go wrong."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shootout.document import journal
from shootout.model.plan import Block, Cell
from shootout.model.run import RunDocument
from shootout.writers import terminal
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, document_in, until

pytest_plugins = ["tests.support.runs"]

POINT = ("--workloads", "oltp_point_select", "--threads", "1")
NOTHING: tuple[list[int], list[Path]] = ([], [])
OUTSET = ("Comparing ", "Settings ", "Time: ", "Detectable loss: ")
BUSY = ("warning: load average", "warning: other shootout runs")  # of a machine with other tests


def a_run(lab: Lab, out: Path, *options: str) -> list[str]:
    return [SHOOTOUT, "run", "--profile", str(lab.profile), "--out", str(out), *options]


def one_message(stderr: str) -> str:
    """The message on a stderr that has progress, one message of up to four lines, and nothing else."""
    progress, begin, message = stderr.partition("shootout: ")
    assert begin, stderr
    told = (*OUTSET, "preparing ", "start ", *BUSY)
    assert all(line.startswith(told) for line in progress.splitlines()), stderr
    assert 1 <= len(message.splitlines()) <= 4, stderr
    return message


@dataclass(frozen=True)
class Finished:
    """The run that most tests look at, over."""

    done: subprocess.CompletedProcess[str]
    out: Path
    document: RunDocument
    left: tuple[object, object]


@pytest.fixture(scope="module")
def finished(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    out = tmp_path_factory.mktemp("reports")
    done = lab.run(*a_run(lab, out, "--seed", "7"))
    left = lab.left()
    return Finished(done, out, journal.read(document_in(out)), left)


def test_a_run_is_documented(finished: Finished) -> None:
    assert finished.done.returncode in (0, 1), finished.done.stderr
    header = finished.document.header
    assert header.seed == 7
    assert [server.label for server in header.servers] == [BASE, HEAD]
    assert [server.version for server in header.servers] == ["5.7.22", "8.0.12"]
    one, two = (server.checksum for server in header.servers)
    assert one == two != ""
    dataset = "sbtest-2x500-innodb"
    assert header.blocks == tuple(
        Block(workload=workload, dataset=dataset, threads=threads, servers=(BASE, HEAD))
        for workload in ("oltp_point_select", "oltp_read_write")
        for threads in (1, 2)
    )
    taken = {(record.block, record.start): record for record in finished.document.starts}
    assert taken.keys() == {(block.key, start) for block in header.blocks for start in (1, 2)}
    for record in taken.values():
        assert [samples.server for samples in record.samples] == [BASE, HEAD]
        assert all(sum(samples.transactions) > 0 for samples in record.samples)
        assert all(len(samples.transactions) == len(record.order) >= 4 for samples in record.samples)
        assert {tuple(sorted(order)) for order in record.order} == {(0, 1)}
        writes = "write" in record.block
        assert all((samples.writes > 0) == writes for samples in record.samples)
    assert finished.document.failures == ()
    assert finished.document.end is not None
    assert not finished.document.end.interrupted
    assert finished.document.end.elapsed_s > 0


def test_a_run_says_what_it_does_and_found(finished: Finished) -> None:
    stdout, stderr = finished.done.stdout, finished.done.stderr
    rows = [line.split() for line in stdout.splitlines() if line.startswith("oltp_")]
    assert [row[:2] for row in rows] == [
        [workload, threads] for workload in ("oltp_point_select", "oltp_read_write") for threads in "12"
    ]
    assert f"report        {(finished.out / 'site' / 'index.html').as_uri()}\n" in stdout
    assert "\x1b" not in stdout + stderr
    said = [line for line in stderr.splitlines() if not line.startswith(BUSY)]
    assert all(line.startswith(word) for line, word in zip(said, OUTSET, strict=False))
    assert all(line.startswith(("preparing ", "start ")) for line in said[4:])
    ends = [line.partition(":")[0] for line in said if " in 1 start" in line or " in 2 starts" in line]
    assert ends == ["start 1", "start 2"]
    assert finished.document.end is not None
    assert len(said) <= 8 + finished.document.end.elapsed_s / terminal.LOG_EVERY_S


def test_a_run_leaves_only_its_reports(finished: Finished) -> None:
    assert finished.left == NOTHING
    assert {entry.name for entry in finished.out.iterdir()} == {"results", "site"}


def test_a_finished_run_is_judged_again_as_before(finished: Finished, lab: Lab) -> None:
    again = lab.run(SHOOTOUT, "compare", str(document_in(finished.out)))
    assert again.returncode == finished.done.returncode
    places = ("document ", "report ", "  shootout run ")  # the last may give it more minutes
    once, twice = (
        [line for line in text.strip().splitlines() if not line.startswith(places)]
        for text in (finished.done.stdout, again.stdout)
    )
    assert twice == once
    assert again.stderr == ""


def test_rows_that_differ_are_not_measured(lab: Lab, tmp_path: Path) -> None:
    padding = tmp_path / "padding.cnf"  # gives every text with the blanks behind it, so that rows read unlike
    padding.write_text("[mysqld]\nsql_mode = PAD_CHAR_TO_FULL_LENGTH\n")
    options = ("--servers", f"{BASE},{HEAD}@{padding}", "--profile", str(lab.once), *POINT)
    done = lab.run(*a_run(lab, tmp_path / "out", *options))
    assert done.returncode == 3
    assert lab.left() == NOTHING
    found = journal.read(document_in(tmp_path / "out"))
    (failure,) = found.failures
    assert failure.cell.server == f"{HEAD}@padding.cnf"
    assert failure.start == 0  # before the first
    assert "table shootout.sbtest1 of sbtest-2x500-innodb differs from what was generated" in failure.reason
    assert "differs from what was generated" in done.stdout
    assert found.starts == ()  # the base would be alone


def test_cells_that_the_budget_did_not_reach_are_no_pass(lab: Lab, tmp_path: Path) -> None:
    policy, junit = tmp_path / "policy.toml", tmp_path / "junit.xml"
    policy.write_text("margin = 0.9\nconfirm_starts = 0\n")  # nothing regresses by so much
    options = ("--budget", "0.1", "--policy", str(policy), "--junit-xml", str(junit))
    done = lab.run(*a_run(lab, tmp_path / "out", "--servers", f"{BASE},{BASE}", *options))
    assert done.returncode == 3, done.stderr
    assert len({start.block for start in journal.read(document_in(tmp_path / "out")).starts}) == 1
    reason = "not measured: the budget ended before it"
    assert [skipped.get("message") for skipped in ElementTree.parse(junit).iter("skipped")] == [reason] * 3
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("Not measured, "))
    assert line.count(f"{BASE}#2") == 3


@pytest.mark.parametrize(
    ("mount", "left_out"),
    [
        ("touch {out}/site", ["{out}/site: cannot write the site: File exists"]),
        (
            "mount -t tmpfs -o nr_inodes=4 none {out}",  # for the folder, its results, and two more
            [
                "{out}/results/ledger/{runner}.jsonl: cannot be written: No space left on device",
                "{out}/site: cannot write the site: No space left on device",
            ],
        ),
    ],
    ids=["a file", "no inodes"],
)
def test_a_page_that_cannot_be_made_costs_no_verdict(
    mount: str, left_out: list[str], lab: Lab, tmp_path: Path
) -> None:
    out, markdown, junit = tmp_path / "out", tmp_path / "summary.md", tmp_path / "junit.xml"
    out.mkdir()
    options = ("--servers", f"{BASE},{BASE}", *POINT, "--markdown", str(markdown), "--junit-xml", str(junit))
    kept = f"code=$?; cp {out}/results/*.jsonl* {tmp_path}; exit $code"
    script = f"{mount.format(out=out)} && {shlex.join(a_run(lab, out, *options))}; {kept}"
    done = lab.run("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
    assert done.returncode in (0, 1), done.stderr
    (document,) = map(journal.read, tmp_path.glob("*.jsonl*"))
    runner = document.header.runner.fingerprint
    said = [line for line in done.stderr.splitlines() if line.startswith("shootout: ")]
    assert said == [f"shootout: left out: {text.format(out=out, runner=runner)}" for text in left_out]
    assert f"{BASE}#2 " in done.stdout
    assert "oltp_point_select        1 " in done.stdout
    assert "report  " not in done.stdout
    assert "| oltp_point_select | 1 |" in markdown.read_text()
    assert len(list(ElementTree.parse(junit).iter("testcase"))) == 1


# --- ended before its time ------------------------------------------------------------------------


def test_an_interrupted_measurement_keeps_what_is_whole(lab: Lab, tmp_path: Path) -> None:
    with lab.running(*a_run(lab, tmp_path / "out"), folder=tmp_path) as run:
        run.said("start 1: oltp_read_write")  # the blocks that only read come before
        assert len(lab.servers()) == 2
        os.killpg(run.process.pid, signal.SIGINT)
        assert run.ended() == 130
    assert lab.left() == NOTHING
    message, so_far, page, goes_on = one_message(run.err.read_text()).splitlines()
    assert message == "interrupted"
    assert so_far.startswith("so far: ")
    assert page.endswith("/out/site/index.html")
    again = shlex.join(["shootout", *a_run(lab, tmp_path / "out")[1:], "--resume"])
    assert goes_on == f"to continue: {again}"
    assert run.out.read_text() == ""
    found = journal.read(document_in(tmp_path / "out"))
    assert found.end is not None
    assert found.end.interrupted
    assert {record.start for record in found.starts} == {1}
    assert {"oltp_point_select-t1", "oltp_point_select-t2"} <= {record.block for record in found.starts}


def test_an_interrupted_preparation_leaves_nothing(lab: Lab, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"  # so that there is something to load
    other.write_text(lab.profile.read_text().replace("rows = 500", "rows = 501"))
    with lab.running(*a_run(lab, tmp_path / "out", "--profile", str(other)), folder=tmp_path) as run:
        run.said(f"preparing {BASE}")
        until(lab.servers)
        os.killpg(run.process.pid, signal.SIGINT)
        assert run.ended() == 130
    assert lab.left() == NOTHING
    message, begins = one_message(run.err.read_text()).splitlines()
    assert (message, begins.partition(": ")[0]) == ("interrupted", "to begin again")
    assert list((tmp_path / "out" / "results").iterdir()) == []


def test_no_server_outlives_its_run(lab: Lab, tmp_path: Path) -> None:
    with lab.running(*a_run(lab, tmp_path / "out", *POINT), folder=tmp_path) as run:
        run.said("start 1: oltp_point_select-t1")
        assert len(lab.servers()) == 2
        run.process.kill()
        run.ended()
    until(lambda: not lab.servers(), 5)
    done = lab.run(*a_run(lab, tmp_path / "out", "--servers", HEAD, "--profile", str(lab.once), *POINT))
    assert done.returncode == 0, done.stderr
    assert lab.left() == NOTHING  # what the dead one could not clear away the next one did


def test_a_server_that_dies_fails_its_cell_only(lab: Lab, tmp_path: Path) -> None:
    command = a_run(lab, tmp_path / "out", "--workloads", "oltp_point_select")
    with lab.running(*command, folder=tmp_path) as run:
        line = run.said("start 2: oltp_point_select")
        (pid,) = (pid for pid, home in lab.servers().items() if home.name == "1")
        os.kill(pid, signal.SIGKILL)
        assert run.ended() == 3
    assert lab.left() == NOTHING
    hit = line.split()[2]
    found = journal.read(document_in(tmp_path / "out"))
    (failure,) = found.failures
    assert failure.cell == Cell(
        workload="oltp_point_select",
        dataset="sbtest-2x500-innodb",
        server=HEAD,
        threads=int(hit.removeprefix("oltp_point_select-t")),
    )
    assert failure.start == 2
    assert "The server has died" in failure.reason
    assert "ready for connections" in failure.reason  # from its error log
    assert found.end is not None
    assert not found.end.interrupted
    measured = {(record.block, each.server) for record in found.starts for each in record.samples}
    assert len(measured) == 4
    (row,) = (line for line in run.out.read_text().splitlines() if "✕ failed" in line)
    assert row.split()[:2] == ["oltp_point_select", str(failure.cell.threads)]
    (page,) = (tmp_path / "out" / "site").rglob(f"{hit}-{HEAD}~*.html")
    assert "The server has died" in page.read_text()


# --- what cannot be done --------------------------------------------------------------------------


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on; the one below it is free."""
    while True:
        with socket.socket() as first, socket.socket() as other:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1] + 1
            try:
                other.bind(("127.0.0.1", port))
            except OSError:  # taken by others
                continue
            other.listen()
            first.close()
            yield port
            return


def test_a_busy_port_is_said(taken: int, lab: Lab, tmp_path: Path) -> None:
    done = lab.run(*a_run(lab, tmp_path / "out", "--set", f"port={taken - 1}"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"port {taken} on 127.0.0.1 cannot be used (Address already in use)" in one_message(done.stderr)
    assert lab.left() == NOTHING
    assert list((tmp_path / "out" / "results").iterdir()) == []


@pytest.mark.parametrize(
    ("mount", "reason"),
    [
        ("mount -t tmpfs -o size=64k none {out}", "No space left on device"),
        ("mount -t tmpfs -o ro none {out}", "Read-only file system"),
        ("rmdir {out} && touch {out}", "Not a directory"),
    ],
    ids=["full", "read-only", "a file"],
)
def test_a_folder_that_cannot_hold_the_document_is_said_first(
    mount: str, reason: str, lab: Lab, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    script = f"{mount.format(out=out)} && exec {' '.join(a_run(lab, out))}"
    # A namespace of its own: the mount is gone with the process, and needs no privilege.
    done = lab.run("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    message = one_message(done.stderr)
    assert message.startswith(f"{out}/results: ")
    assert reason in message
    assert "preparing" not in done.stderr
    assert lab.left() == NOTHING
    assert not (out / "results").exists()
