"""Runs that are cut short and continue: on servers that need no time, at every moment; and once for real."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from msgspec import structs

from shootout import steps
from shootout.document import journal, resume
from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.measure import campaign, plan, schedule
from shootout.measure.bench import Bench, Instances
from shootout.measure.campaign import Campaign
from shootout.measure.dataset import Loaded
from shootout.measure.participants import Participant
from shootout.measure.recorder import Recorder
from shootout.measure.rounds import OnRound
from shootout.model.plan import Block
from shootout.model.run import EndRecord, Observe, Progress, Samples, ServerRecord, StartRecord
from shootout.servers.running import Running
from tests.support import builders
from tests.support.runs import BASE, HEAD

pytest_plugins = ["tests.support.runs"]
RUN = "20261120T024100Z-7f3a00"
PROFILE = """
description = "three blocks, of which one changes"
servers = ["mysql-5.7.22", "mysql-8.0.12"]
workloads = ["oltp_point_select", "oltp_read_write"]
threads = [1, 2]
[sampling]
starts_min = 3
starts_max = 5
[policy]
confirm_starts = 2
"""
LOADED = Loaded(checksum="c", load_s=0.0)
SAMPLES = structs.replace(builders.a_samples(rounds=8, counters={}), server_cpu_s=None, statements={})


def a_plan(folder: Path, **options: Any) -> plan.Plan:
    profile = folder / "profile.toml"
    profile.write_text(PROFILE)
    return steps.plan(Selection.read(profile=str(profile), seed="7", **options))


class StoppedError(BaseException):
    """As a process is by kill -9: nothing is done afterwards."""


@dataclass(eq=False)
class Instance:
    """A running server that needs no machine."""

    label: str

    def alive(self) -> bool:
        return True

    def kill(self) -> None:
        pass


@dataclass(frozen=True)
class Server:
    """A server whose starts are noted."""

    label: str
    restarted: list[str]

    def start(self, template: Loaded, home: Path, cpus: Sequence[int]) -> Running:
        assert cpus == builders.a_runner().placement.starting
        self.restarted.append(self.label)
        return cast(Running, Instance(self.label))

    def record(self, template: Loaded | None = None, instance: Running | None = None) -> ServerRecord:
        return builders.a_server(self.label)


@dataclass(frozen=True)
class Rehearsal(Bench):
    """Measures blocks in no time.

    It is stopped before its `stops`th block; a head that `dies` does so in that start of its last block.
    """

    stops: int = 10**6
    dies: int = 0
    taken: list[tuple[str, int]] = field(default_factory=list)
    read: list[tuple[str, str, int]] = field(default_factory=list)  # workload, server, blocks before

    def read_columns(self, workload: str, base: Running) -> None:
        self.read.append((workload, cast(Any, base).label, len(self.taken)))

    def measure(
        self, block: Block, start: int, instances: Instances, generator: Random, on_round: OnRound
    ) -> StartRecord | None:
        if len(self.taken) == self.stops:
            raise StoppedError
        self.taken.append((block.key, start))
        on_round("measure", 1, 8)
        labels = [participant.label for participant in instances if not participant.control]
        if start == self.dies and block == self.plan.blocks[-1] and HEAD in labels:
            self.recorder.fail(block.cell(HEAD), start, "it died")
            labels = [BASE]
        samples = tuple(a_sample(block, start, label) for label in labels)
        controls = [a_sample(block, start, "control") for participant in instances if participant.control]
        return StartRecord(
            block=block.key,
            start=start,
            order=((0, 1),) * 8,
            samples=samples,
            aa_control=structs.replace(controls[0], server=BASE) if controls else None,
        )


def a_sample(block: Block, start: int, label: str) -> Samples:
    """As block, start and server want it: the head is slower in one block, and noisy in another."""
    dice = Random(f"{block.key}/{start}/{label}")
    noise = 0.08 if block.key == "oltp_read_write-t1" else 0.002
    change = 0.2 if label == HEAD and block.key == "oltp_point_select-t2" else 0.0
    level = 100 * (1 - change) * (1 + dice.gauss(0, noise))
    transactions = tuple(level * (1 + dice.gauss(0, 0.01)) for _ in range(8))
    return structs.replace(SAMPLES, server=label, transactions=transactions)


def rehearsed(
    results: Path,
    planned: plan.Plan,
    restarted: list[str] | None = None,
    observe: Observe = lambda progress: None,
    **fields: Any,
) -> list[tuple[str, int]]:
    """Run until it is over or stopped, as measure() does, continuing what there is; what was measured."""
    before = resume.find(results, None, pytest.fail)
    if before is not None and resume.is_finished(before, planned.profile.sampling.budget_s):
        return []
    writer = journal.Writer(results, RUN, resumed=before is not None)
    runner = builders.a_runner()
    if before is None:
        recorder = Recorder.begin(writer, campaign._header(planned, RUN, runner), 0.0)
    else:
        planned = campaign._same_plan(planned, before, runner)
        recorder = Recorder.go_on(writer, before, planned.profile.sampling.budget_s, 0.0)
    restarted = [] if restarted is None else restarted
    participants = []
    for label in planned.servers:
        recorder.add_server(builders.a_server(label))
        server = cast(Any, Server(label, restarted))
        participants.append(Participant(label, server, LOADED, results / label))
    participants.append(replace(participants[0], control=True, home=results / "control"))
    rehearsal = Rehearsal(planned, runner, recorder, **fields)
    try:
        Campaign(planned, recorder, participants, rehearsal, observe).measure(results / "ledger")
    except StoppedError:
        return rehearsal.taken
    recorder.end(interrupted=False)
    return rehearsal.taken


def test_two_processes_never_write_one_document(tmp_path: Path) -> None:
    """Though their caches differ: the lock lies beside the document."""
    results = tmp_path / "results"
    refusal = rf"^{results}: run {RUN} is still measured by another process$"
    with (
        campaign.writing(results, RUN),
        pytest.raises(InputError, match=refusal),
        campaign.writing(results, RUN),
    ):
        pass
    assert [*results.iterdir()] == []
    with campaign.writing(results, RUN), campaign.writing(results, "another"):
        pass


@pytest.mark.parametrize(("servers", "said"), [(BASE, False), (f"{BASE},{HEAD}", True)])
def test_a_start_ends_with_its_changes_if_there_are_any(tmp_path: Path, servers: str, said: bool) -> None:
    observed: list[Progress] = []
    rehearsed(tmp_path, a_plan(tmp_path, servers=servers), observe=observed.append)
    ended = [progress for progress in observed if progress.stage == "changes"]
    assert bool(ended) == said
    assert all(progress.detail for progress in ended)


def test_neither_server_is_always_started_last(tmp_path: Path) -> None:
    started: list[str] = []
    rehearsed(tmp_path, a_plan(tmp_path), restarted=started)
    orders = {*zip(started[::2], started[1::2], strict=True)}
    assert orders == {(BASE, HEAD), (HEAD, BASE)}


def test_columns_are_read_from_the_base_before_any_block_writes(tmp_path: Path) -> None:
    read: list[tuple[str, str, int]] = []
    rehearsed(tmp_path, a_plan(tmp_path), read=read)
    assert {each for each in read if each[2] == 0} == {
        (name, BASE, 0) for name in ("oltp_point_select", "oltp_read_write")
    }


def test_the_rehearsed_run_needs_all_that_a_run_can_need(tmp_path: Path) -> None:
    """Blocks with few and many starts, an A/A cell or none, a change that is confirmed, a cell that fails."""
    rehearsed(tmp_path, a_plan(tmp_path), dies=2)
    (path,) = journal.find(tmp_path)
    found = journal.read(path)
    starts = {block.key: [s for s in found.starts if s.block == block.key] for block in found.header.blocks}
    assert {block: len(of) for block, of in starts.items()} == {
        "oltp_point_select-t1": 3,
        "oltp_point_select-t2": 4,  # certain after two
        "oltp_read_write-t1": 5,
        "oltp_read_write-t2": 2,  # then its head is dead
    }
    assert [start.confirming for start in starts["oltp_point_select-t2"]] == [False] * 2 + [True] * 2
    assert [failure.start for failure in found.failures] == [2]


def test_the_time_left_never_grows_and_is_not_promised_once_it_is_over(tmp_path: Path) -> None:
    """Slow servers may take longer than the starts that no budget refuses were thought to."""
    shown: list[Progress] = []
    run = Campaign(a_plan(tmp_path), cast(Any, None), (), cast(Any, None), shown.append)
    for ends_s in (time.monotonic() + 60, time.monotonic() - 1):
        run.ends_s = ends_s
        run._report(schedule.Start(1, (), confirming=False, left_s=1.0), Progress(stage="start", detail=""))
    first, second = (step.left_s for step in shown)
    assert first is not None
    assert 0 < first <= 60
    assert second is None


def spent(folder: Path, planned: plan.Plan, into: Path, *, stops: int) -> journal.Writer:
    """The document of a run that was stopped, as if it had spent its budget by then."""
    rehearsed(folder / "cut", planned, stops=stops)
    (path,) = journal.find(folder / "cut")
    cut = journal.read(path)
    writer = journal.Writer(into, RUN)
    writer.append(cut.header)
    for record in cut.starts:
        writer.append(structs.replace(record, spent_s=planned.profile.sampling.budget_s))
    return writer


def test_what_was_spent_before_the_break_counts(tmp_path: Path) -> None:
    """The start that had begun is ended, and there is no budget for another one."""
    planned = a_plan(tmp_path)
    writer = spent(tmp_path, planned, tmp_path / "late", stops=6)
    assert len(rehearsed(tmp_path / "late", planned, stops=2)) == 2
    starts = [(start.block, start.start) for start in journal.read(writer.path).starts]
    assert sorted(starts) == [(block.key, start) for block in planned.blocks for start in (1, 2)]
    more = rehearsed(tmp_path / "late", planned)
    assert all(
        start.confirming for start in journal.read(writer.path).starts if (start.block, start.start) in more
    )


def test_a_run_that_is_over_goes_on_within_a_larger_budget(tmp_path: Path) -> None:
    """Until it confirms its changes: later starts would be in no verdict."""
    planned = a_plan(tmp_path)
    budget_s = planned.profile.sampling.budget_s
    writer = spent(tmp_path, planned, tmp_path / "over", stops=8)
    writer.append(EndRecord(finished=builders.a_header().started, elapsed_s=budget_s, interrupted=False))
    assert rehearsed(tmp_path / "over", planned) == []
    longer = structs.replace(planned.profile.sampling, budget_s=2 * budget_s)
    larger = replace(planned, profile=structs.replace(planned.profile, sampling=longer))
    assert len(rehearsed(tmp_path / "over", larger)) > 4
    over = journal.read(writer.path)
    assert any(start.confirming for start in over.starts)
    assert resume.is_finished(over, 3 * budget_s)


def test_a_run_that_is_over_is_the_same_where_the_same_was_asked_for(tmp_path: Path) -> None:
    """On another machine, too: it is only judged again."""
    then = builders.a_header()
    assert resume.is_same(then, structs.replace(then, runner=builders.a_runner(fingerprint="f")))
    assert not resume.is_same(then, structs.replace(then, given={"--seed": "5"}))
    longer = structs.replace(resume.with_budget(then, 9.0), given={"--budget": "0.15"})
    assert resume.is_same(then, longer)
    resume.require_same_run(then, longer)
    assert not resume.is_same(then, structs.replace(then, blocks=then.blocks[:1]))
    planned = a_plan(tmp_path)
    rehearsed(tmp_path, planned)
    said: list[str] = []
    (path,) = journal.find(tmp_path)
    over = campaign.measure(replace(planned, resume=True), tmp_path, lambda step: said.append(step.detail))
    assert over == path
    assert said == [f"run {RUN} is over and is judged again; without --resume a new one begins"]
