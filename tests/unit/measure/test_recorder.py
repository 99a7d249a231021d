"""When a run document is written, and what it begins and ends with."""

from __future__ import annotations

from pathlib import Path

from shootout.document import journal
from shootout.document.journal import Writer
from shootout.measure.recorder import Recorder
from tests.unit.document.test_journal import A_FAILURE, RUN, a_header, a_start, written


def died(recorder: Recorder) -> None:
    recorder.fail(A_FAILURE.cell, A_FAILURE.start, A_FAILURE.reason)


def test_a_run_that_is_interrupted_before_its_servers_are_known_leaves_nothing(tmp_path: Path) -> None:
    recorder = Recorder.begin(Writer(tmp_path, RUN), a_header(), 0.0)
    died(recorder)
    recorder.end(interrupted=True)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_goes_on_says_so_once_and_only_if_there_is_something_to_say(tmp_path: Path) -> None:
    path = written(tmp_path, a_header(), a_start(1))
    before = path.read_bytes()

    def resumed() -> Recorder:
        return Recorder.go_on(Writer(tmp_path, RUN, resumed=True), journal.read(path), 9.0, 0.0)

    interrupted = resumed()
    interrupted.open()
    interrupted.end(interrupted=True)
    refused = resumed()
    died(refused)
    refused.end(interrupted=True)
    assert path.read_bytes() == before

    first = resumed()
    died(first)
    first.open()
    first.add_start(a_start(2))
    first.end(interrupted=True)
    resumed().end(interrupted=False)  # there was nothing left to measure
    found = journal.read(path)
    assert [start.start for start in found.starts] == [1, 2]
    assert found.failures == (A_FAILURE,)
    assert len(found.resumes) == 2
    assert found.end is not None
    assert not found.end.interrupted
