"""The next measurement, from records alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import confirmation
from shootout.measure import schedule
from shootout.measure.schedule import Start, next_start
from shootout.model.plan import Block
from shootout.model.run import FailureRecord, RunDocument, StartRecord
from shootout.model.verdict import Acknowledgement
from tests.support import builders
from tests.support.builders import BASE, HEAD

SPREADS = (0.001, 0.01, 0.4)  # of starts, by block: narrow enough at once, soon, never
BLOCKS = tuple(builders.a_block(threads=threads) for threads in (1, 8, 32))


def a_run(
    starts: Sequence[int] = (0, 0, 0), *, budget_s: float = 1000.0, change: float = 0.0, confirm: int = 2
) -> RunDocument:
    """So many starts of each block; the head's change is the same in all."""
    header = builders.a_header(blocks=BLOCKS)
    sampling = structs.replace(
        header.profile.sampling, starts_min=3, starts_max=6, half_width=0.012, budget_s=budget_s
    )
    policy = structs.replace(header.profile.policy, confirm_starts=confirm)
    profile = structs.replace(header.profile, sampling=sampling, policy=policy)
    records = [
        a_start(block, number, spread, change)
        for number in range(1, 1 + max(starts))
        for block, made, spread in zip(BLOCKS, starts, SPREADS, strict=True)
        if number <= made
    ]
    return RunDocument(
        header=structs.replace(header, profile=profile), starts=tuple(records), failures=(), end=None
    )


def a_start(block: Block, number: int, spread: float, change: float = 0.0) -> StartRecord:
    dice = Random(f"{block.key}/{number}")
    ratio = (1 + change) * (1 + spread * (-1) ** number)
    pair = [
        builders.a_samples(label, tps=1000 * level, noise=1e-4, rounds=8, dice=dice)
        for label, level in ((BASE, 1.0), (HEAD, ratio))
    ]
    return builders.a_start(block, number, tuple(pair))


def names(start: Start | None) -> tuple[int, tuple[int, ...], bool]:
    assert start is not None
    return start.number, tuple(block.threads for block in start.blocks), start.confirming


def test_a_run_begins_with_all_blocks() -> None:
    start = next_start(a_run(), 0, 0.0)
    assert names(start) == (1, (1, 8, 32), False)
    assert start is not None
    assert start.left_s == 1000


def test_a_block_leaves_once_it_is_narrow_enough() -> None:
    assert names(next_start(a_run((3, 3, 3)), 3, 30.0)) == (4, (8, 32), False)
    assert names(next_start(a_run((3, 5, 5)), 5, 50.0)) == (6, (8, 32), False)


def test_what_is_certain_takes_no_more_starts() -> None:
    """A tenth of a loss of 40 % is wider than what the profile asks of small ones."""
    assert names(next_start(a_run((2, 2, 2), change=-0.4), 2, 20.0)) == (3, (8, 32), False)
    assert names(next_start(a_run((2, 3, 3), change=-0.4), 3, 30.0)) == (4, (32,), False)
    run = a_run((2, 2, 2), change=-0.4)
    profile = run.header.profile
    fixed = structs.replace(profile, sampling=structs.replace(profile.sampling, starts_min=6))
    run = structs.replace(run, header=structs.replace(run.header, profile=fixed))
    assert names(next_start(run, 2, 20.0)) == (3, (1, 8, 32), False)


def a_gate(starts: int, losing: Block, change: float, false_alarms_max: float = 0.05) -> RunDocument:
    """A run of so many starts, in which one block has changed."""
    run = a_run((starts,) * 3)
    records = tuple(
        a_start(losing, record.start, 0.01, change) if record.block == losing.key else record
        for record in run.starts
    )
    policy = structs.replace(run.header.profile.policy, false_alarms_max=false_alarms_max)
    sampling = structs.replace(run.header.profile.sampling, starts_min=5)
    profile = structs.replace(run.header.profile, policy=policy, sampling=sampling)
    return structs.replace(run, header=structs.replace(run.header, profile=profile), starts=records)


def test_a_gate_that_is_certain_to_fail_ends() -> None:
    """Its loss is confirmed at once; in a run the other blocks get their starts, too."""
    gate = a_gate(4, BLOCKS[0], -0.2)
    assert names(next_start(gate, 4, 40.0)) == (5, (1,), True)
    assert names(next_start(a_gate(4, BLOCKS[0], -0.2, 1.0), 4, 40.0)) == (5, (8, 32), False)
    assert names(next_start(a_gate(4, BLOCKS[0], 0.3), 4, 40.0)) == (5, (8, 32), False)  # faster
    known = Acknowledgement(
        workload="*", server="*", threads=None, metric="throughput", at_most=0.3, expires=date.max,
        owner="ann", reason="r",
    )  # fmt: skip
    assert names(next_start(gate, 4, 40.0, acknowledged=[known])) == (5, (8, 32), False)


def test_a_gate_looks_first_where_it_may_fail() -> None:
    assert names(next_start(a_gate(3, BLOCKS[1], -0.08), 3, 30.0)) == (4, (8,), False)
    assert names(next_start(a_gate(3, BLOCKS[1], -0.08, 1.0), 3, 30.0)) == (4, (1, 8, 32), False)


def test_no_block_gets_more_starts_than_the_profile_allows() -> None:
    assert next_start(a_run((3, 6, 6)), 6, 60.0) is None


def test_the_second_start_is_never_refused() -> None:
    run = a_run((1, 1, 1), budget_s=10.0)
    assert names(next_start(run, 1, 50.0)) == (2, (1, 8, 32), False)
    assert next_start(a_run((2, 2, 2), budget_s=10.0), 2, 50.0) is None


@pytest.mark.parametrize(
    ("starts", "blocks", "expected"),
    [
        ((3, 3, 3), 1.6, (8,)),  # the narrowest that is too wide needs the least
        ((3, 3, 3), 2.7, (8, 32)),
        ((3, 4, 2), 1.6, (32,)),  # it lacks a start that all shall have
        ((3, 3, 3), 0.9, ()),
    ],
)
def test_what_is_left_goes_where_least_is_missing(
    starts: Sequence[int], blocks: float, expected: tuple[int, ...]
) -> None:
    """Each block of a start takes a second here."""
    spent_s = float(sum(starts))
    run = a_run(starts, budget_s=spent_s + blocks, confirm=0)
    start = next_start(run, max(starts), spent_s)
    assert (tuple(block.threads for block in start.blocks) if start else ()) == expected


def test_time_to_confirm_is_kept_back() -> None:
    run = a_run((3, 3, 3), change=-0.1)
    assert len(confirmation.worth_confirming(run)) == 2
    assert names(next_start(run, 3, 990.0)) == (4, (1, 8), True)
    assert names(next_start(run, 3, 30.0)) == (4, (8, 32), False)


def test_what_changed_gets_fresh_starts_until_there_are_enough() -> None:
    run = a_run((3, 3, 3), budget_s=9.0, change=-0.1)
    for number in (4, 5):
        start = next_start(run, number - 1, 9.0)
        assert names(start) == (number, (1, 8), True)
        assert start is not None
        made = [structs.replace(a_start(block, number, 0.0), confirming=True) for block in start.blocks]
        run = structs.replace(run, starts=(*run.starts, *made))
    assert next_start(run, 5, 9.0) is None
    assert next_start(a_run((3, 3, 3), budget_s=9.0, change=-0.1, confirm=0), 3, 9.0) is None


def test_the_first_blocks_are_measured_well_rather_than_all_badly() -> None:
    """A verdict takes three starts, of about 6 s for each block, and two restarts."""
    header = a_run().header
    assert schedule.needed_s(header.profile.sampling, BLOCKS[:1]) == pytest.approx(
        3 * (2 * 1.22 * 2.0 * 1.2 + 2)
    )
    assert schedule.affordable(header.profile.sampling, BLOCKS, 39.0) == BLOCKS[:1] + BLOCKS[1:1]
    assert names(next_start(a_run(budget_s=43.0), 0, 0.0)) == (1, (1, 8), False)
    assert names(next_start(a_run(budget_s=1.0), 0, 0.0)) == (1, (1,), False)
    begun = a_run((1, 1, 0), budget_s=43.0)
    assert names(next_start(begun, 1, 14.0)) == (2, (1, 8), False)
    # Once these are narrow enough, the others get what is left, if that is enough for a verdict.
    done = a_run((3, 6, 0), budget_s=100.0, confirm=0)
    assert names(next_start(done, 6, 60.0)) == (7, (32,), False)
    assert next_start(done, 6, 90.0) is None


def test_a_start_that_was_cut_short_gets_the_blocks_that_it_lacks() -> None:
    run = a_run((3, 3, 2))
    assert schedule.resumed_after(run) == 2
    assert names(next_start(run, 2, 2000.0)) == (3, (32,), False)  # whatever the budget says
    complete = a_run((3, 3, 3))
    assert names(next_start(complete, 2, 30.0)) == (4, (8, 32), False)
    assert schedule.resumed_after(a_run()) == 0


def test_a_start_that_was_cut_short_gets_no_block_that_its_budget_had_left_out() -> None:
    run = a_run((3, 3, 3), budget_s=21.2, confirm=0)
    run = structs.replace(run, starts=tuple(structs.replace(s, spent_s=6.0 * s.start) for s in run.starts))
    assert names(next_start(run, 3, 18.0)) == (4, (8,), False)
    broken = structs.replace(run, starts=(*run.starts, a_start(BLOCKS[1], 4, 0.01)))
    assert next_start(broken, 3, 21.0) is None


@pytest.mark.parametrize("change", [0.0, -0.1])
@pytest.mark.parametrize("spreads", [(0.4,) * 6, (1e-5, 1e-5, 0.4, 0.001, 0.001, 0.001)])
def test_progress_does_not_go_backwards(spreads: Sequence[float], change: float) -> None:
    """Neither where an interval widens again nor where a change is confirmed; a start takes a second here."""
    run, done, shares = a_run(change=change), 0, [0.0]
    while start := next_start(run, done, float(done)):
        shares.append(done / (done + start.left_s))
        spread = 0.001 if start.confirming else spreads[done]
        made = [a_start(block, start.number, spread, change) for block in start.blocks]
        confirming = (structs.replace(each, confirming=start.confirming) for each in made)
        run, done = structs.replace(run, starts=(*run.starts, *confirming)), start.number
    assert shares == sorted(shares)
    assert len(shares) > 4


def test_blocks_whose_servers_failed_are_over() -> None:
    run = a_run((1, 1, 1))
    failed = [FailureRecord(cell=cell, start=1, reason="it died") for cell in BLOCKS[0].cells]
    for failures in (failed, failed[:1], failed[1:]):  # one alone has nothing to be compared with
        over = structs.replace(run, failures=tuple(failures))
        assert names(next_start(over, 1, 10.0)) == (2, (8, 32), False)
    assert schedule.servers(structs.replace(run, failures=tuple(failed[:1])), BLOCKS[0]) == [HEAD]


@given(st.tuples(*(st.integers(0, 6),) * 3), st.floats(0, 30), st.floats(0, 0.3))
def test_every_run_ends(starts: tuple[int, int, int], budget_s: float, change: float) -> None:
    """Even if no further start gives anything."""
    run = a_run(starts, budget_s=budget_s, change=-change)
    done = schedule.resumed_after(run)
    for _ in range(40):
        start = next_start(run, done, float(sum(starts) + done))
        if start is None:
            return
        assert start.number > done
        assert start.blocks
        assert all(
            start.number not in (r.start for r in run.starts if r.block == b.key) for b in start.blocks
        )
        done = start.number
    pytest.fail("it goes on")
