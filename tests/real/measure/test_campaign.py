"""Runs that are cut short and continue: on servers that need no time, at every moment; and once for real."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import compare
from shootout.document import journal
from shootout.model.run import RunDocument, StartRecord
from shootout.model.verdict import CellComparison
from tests.support.runs import SHOOTOUT, Lab, document_in, until
from tests.unit.measure.test_campaign import a_plan, rehearsed

pytest_plugins = ["tests.support.runs"]


def test_a_real_run_goes_on_after_sigterm_and_kill_9(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [SHOOTOUT, "run", "--profile", str(lab.profile), "--workloads", "oltp_point_select"]
    command += ["--resume", "--out", str(out)]

    def run_until(words: str, how: signal.Signals) -> RunDocument:
        folder = tmp_path / how.name
        folder.mkdir()
        with lab.running(*command, folder=folder) as run:
            run.said(words)
            run.process.send_signal(how)
            code = run.ended()
        assert code == (130 if how is signal.SIGTERM else -how)
        until(lambda: not lab.servers(), 5)
        return journal.read(document_in(out))

    ended = run_until("start 2: oltp_point_select", signal.SIGTERM)
    assert ended.end is not None
    assert ended.end.interrupted
    assert {start.start for start in ended.starts} == {1}

    other = lab.run(*command, "--seed", "5")
    assert other.returncode == 2
    assert f"run {ended.header.run} cannot be resumed: given --seed none, now" in other.stderr
    assert journal.read(document_in(out)) == ended

    first = run_until("start 2: oltp_point_select", signal.SIGKILL)
    assert first.starts == ended.starts
    with document_in(out).open("ab") as file:
        file.write(b'{"record":"start","bl')  # as a crash leaves it

    done = lab.run(*command)
    assert done.returncode in (0, 1), done.stderr
    assert f"resuming {ended.header.run}\n" in done.stderr
    whole = journal.read(document_in(out))
    assert whole.header == ended.header
    for kept, before in zip(whole.starts, first.starts, strict=False):
        packed = {"latencies": "", "statements": {}, "times": {}}
        assert [structs.replace(each, **packed) for each in kept.samples] == [
            structs.replace(each, **packed) for each in before.samples
        ]
    assert sorted((start.block, start.start) for start in whole.starts) == [
        (block.key, number) for block in whole.header.blocks for number in (1, 2)
    ]
    assert whole.failures == ()
    assert whole.end is not None
    assert not whole.end.interrupted
    assert whole.end.elapsed_s > ended.end.elapsed_s

    again = lab.run(*command)
    assert again.returncode == done.returncode
    assert (
        f"run {ended.header.run} is over and is judged again; without --resume a new one begins\n"
        in again.stderr
    )
    assert again.stdout == done.stdout
    assert journal.read(document_in(out)) == whole
    assert lab.left() == ([], [])


def timeless(starts: Sequence[StartRecord]) -> dict[tuple[str, int], StartRecord]:
    """Without what only a clock knows."""
    return {(each.block, each.start): structs.replace(each, spent_s=None) for each in starts}


def concluded(read: RunDocument) -> tuple[CellComparison, ...]:
    return compare.compare(read).cells


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=6), st.sampled_from([0, 1, 2, 4]))
def test_a_run_that_is_stopped_again_and_again_measures_the_same(stops: list[int], dies: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        planned = a_plan(folder)
        rehearsed(folder / "one", planned, dies=dies)
        measured = [
            each
            for count in (*stops, 10**6)
            for each in rehearsed(folder / "other", planned, dies=dies, stops=count)
        ]
        (one,), (other,) = (journal.find(folder / which) for which in ("one", "other"))
        undisturbed, resumed = journal.read(one), journal.read(other)
    assert len(measured) == len(set(measured))
    assert timeless(resumed.starts) == timeless(undisturbed.starts)
    assert sorted(measured) == sorted(timeless(resumed.starts))
    assert set(resumed.failures) == set(undisturbed.failures)
    assert resumed.end is not None
    assert not resumed.end.interrupted
    assert concluded(resumed) == concluded(undisturbed)
