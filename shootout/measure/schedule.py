"""The schedule: from the records so far to the blocks of the next start. Pure: no clock, no server.

Starts serve as many blocks as the budget can give the starts that a verdict takes; a block leaves once its
interval is narrow enough: as the profile asks, or a tenth of its change. When all have left, or the budget is
spent, or a gate is certain to fail, the blocks in which something may have changed get fresh starts that
confirm it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from shootout.analysis import confirmation, pairs
from shootout.model.history import LedgerEntry
from shootout.model.plan import Block, Sampling
from shootout.model.run import RunDocument, StartRecord
from shootout.model.verdict import Acknowledgement

STARTS_JUDGED = 2  # starts that the budget never refuses: an interval needs two
SLOWER_START = 1.1  # how much longer than its predecessors a start may take, at most
RESTART_SHARE = 0.2  # at most, of a start of all blocks: restarts, which take as long for a single block
# The time of a start, from the recorded runs. Blocks took 1.05 to 1.27 times as long as their slices,
# with nine servers 1.44; restarts took 0.1 to 4.2 s for each server.
RESTART_S = 1.0  # for each server
WARMUP_SLICES = 8.0  # of full length, as long as the warm-up's sixteen shorter ones
OVERHEAD = 1.22


@dataclass(frozen=True)
class Start:
    """One start of the servers, and the blocks that it measures."""

    number: int  # from 1
    blocks: tuple[Block, ...]
    confirming: bool  # made to confirm a change
    left_s: float  # estimated time from its beginning to the end of the run, at most


def next_start(
    run: RunDocument,
    done: int,
    spent_s: float,
    ledger_entries: Sequence[LedgerEntry] = (),
    acknowledged: Sequence[Acknowledgement] = (),
) -> Start | None:
    """Plan the start after number `done`; None if the run is complete.

    `run`: all records so far; a start that was cut short gets the blocks that it lacks. `spent_s`: of the
    budget. `ledger_entries`: earlier A/A cells of this runner. `acknowledged`: regressions that fail no gate.
    """
    number = done + 1
    initial = structs.replace(run, starts=tuple(record for record in run.starts if not record.confirming))
    start = None
    if len(initial.starts) == len(run.starts):
        start = _initial(run, number, spent_s, ledger_entries, acknowledged)
    start = start or _confirming(run, initial, number, spent_s, ledger_entries)
    if start is None:
        return None
    recorded = {record.block for record in run.starts if record.start == number}
    lacking = tuple(block for block in start.blocks if block.key not in recorded)
    if lacking:
        return replace(start, blocks=lacking)
    return next_start(run, number, spent_s, ledger_entries, acknowledged)


def resumed_after(run: RunDocument) -> int:
    """Find the number of the last start that is certainly complete: the one before the newest."""
    return max((record.start for record in run.starts), default=1) - 1


def servers(run: RunDocument, block: Block) -> list[str]:
    """List the block's servers that are here and have not failed, the base first."""
    absent = {record.label for record in run.header.servers if record.absent}
    failed = {failure.cell for failure in run.failures}
    return [label for label in block.servers if label not in absent and block.cell(label) not in failed]


def affordable(sampling: Sampling, blocks: Sequence[Block], left_s: float) -> tuple[Block, ...]:
    """Choose the first of these blocks, as many as `left_s` of a budget can give a verdict's starts."""
    return tuple(
        block for number, block in enumerate(blocks, 1) if needed_s(sampling, blocks[:number]) <= left_s
    )


def needed_s(sampling: Sampling, blocks: Sequence[Block]) -> float:
    """Estimated time for the fewest starts of these blocks that a verdict takes."""
    counts = [len(block.servers) for block in blocks]
    return sampling.starts_min * (sum(counts) * _load_s(sampling) + RESTART_S * max(counts, default=0))


def start_s(sampling: Sampling) -> float:
    """Estimated time for one server in one start of one block."""
    return _load_s(sampling) + RESTART_S


def _load_s(sampling: Sampling) -> float:
    window_s = sampling.measure_s + WARMUP_SLICES * sampling.slice_s
    return OVERHEAD * window_s * (1 + sampling.ramp_s / sampling.slice_s)


def _initial(
    run: RunDocument,
    number: int,
    spent_s: float,
    ledger_entries: Sequence[LedgerEntry],
    acknowledged: Sequence[Acknowledgement],
) -> Start | None:
    """A start of the blocks that are not narrow enough, as far as the budget goes."""
    sampling, policy = run.header.profile.sampling, run.header.profile.policy
    before = structs.replace(run, starts=tuple(record for record in run.starts if record.start < number))
    if len(before.starts) < len(run.starts):  # it was cut short: the choice is that of its beginning
        spent_s = before.spent_s
    wanting = [block for block in run.header.blocks if _is_wanting(before, block)]
    if confirmation.fails_gate(before, ledger_entries, acknowledged):
        wanting = [block for block in wanting if _steady(_starts(before, block)) < STARTS_JUDGED]
    left_s = sampling.budget_s - spent_s
    blocks: list[Block] = []
    if before.starts:
        changed = confirmation.worth_confirming(before, ledger_entries)
        if policy.is_gate and number > STARTS_JUDGED:  # a loss of theirs would end it
            few = [block for block in wanting if _steady(_starts(before, block)) < sampling.starts_min]
            wanting = [block for block in few if block.key in changed] or wanting
        block_s = max(spent_s, 1e-9) / len(before.starts)  # with its share of restarts
        left_s -= policy.confirm_starts * len(changed) * block_s
        blocks = [block for block in wanting if _starts(before, block)]
        fitting = _fitting(left_s / block_s, len(before.starts) / (number - 1))
        urgent = sorted(blocks, key=lambda block: _urgency(before, block))[:fitting]
        second = [block for block in blocks if number < _starts(before, block)[0].start + STARTS_JUDGED]
        blocks = [block for block in blocks if block in urgent or block in second]
    if not blocks:  # the next ones
        new = [block for block in wanting if not _starts(before, block)]
        blocks = list(affordable(sampling, new, left_s)) or (new[:1] if number == 1 else [])
    if not blocks:
        return None
    return Start(number, tuple(blocks), confirming=False, left_s=_left_s(before, spent_s))


def _left_s(before: RunDocument, spent_s: float) -> float:
    """The most that the run can still take: at the pace so far, within the budget.

    It counts starts that may prove needless. Without them it would grow where an interval widens again, or
    something has changed, and progress would go backwards.
    """
    sampling, policy = before.header.profile.sampling, before.header.profile.policy
    left_s = sampling.budget_s - spent_s
    made = max((record.start for record in before.starts), default=0)
    if not made:
        return left_s
    start_s = SLOWER_START * spent_s / made
    return max(min(left_s, start_s * (sampling.starts_max + policy.confirm_starts - made)), start_s)


def _confirming(
    run: RunDocument, initial: RunDocument, number: int, spent_s: float, ledger_entries: Sequence[LedgerEntry]
) -> Start | None:
    last = max((record.start for record in initial.starts), default=0)
    first = min((record.start for record in run.starts if record.confirming), default=last + 1)
    due = first + run.header.profile.policy.confirm_starts - number
    if due <= 0:
        return None
    changed = confirmation.worth_confirming(initial, ledger_entries)
    blocks = tuple(block for block in run.header.blocks if block.key in changed and servers(run, block))
    block_s = spent_s / max(len(run.starts), 1)
    return Start(number, blocks, confirming=True, left_s=due * len(blocks) * block_s) if blocks else None


def _is_wanting(run: RunDocument, block: Block) -> bool:
    """Whether the block needs another start, and a server is left to measure beside its base."""
    sampling, starts = run.header.profile.sampling, _starts(run, block)
    failed = {failure.cell for failure in run.failures}
    alone = len(servers(run, block)) < 2 and not failed.isdisjoint(block.cells)
    if alone or not servers(run, block):
        return False
    if len(starts) >= sampling.starts_max:
        return False
    policy = run.header.profile.policy
    if sampling.starts_min < sampling.starts_max and pairs.is_certain(starts, policy, block.workload):
        return False
    few = _steady(starts) < sampling.starts_min
    return few or not pairs.is_narrow(starts, policy, sampling.half_width)


def _fitting(left: float, blocks: float) -> int:
    """Compute how many blocks fit into a start; `left`: time, in block times of a start of `blocks`."""
    return max(0, int((left - RESTART_SHARE * blocks) / (1 - RESTART_SHARE)))


def _urgency(run: RunDocument, block: Block) -> tuple[int, float]:
    """Sorts blocks: those with the fewest starts, up to `starts_min`; then the narrowest: it needs least."""
    steady = _steady(_starts(run, block))
    width = pairs.half_width(_starts(run, block), run.header.profile.policy)
    return min(steady, run.header.profile.sampling.starts_min), width if math.isfinite(width) else 0.0


def _steady(starts: Sequence[StartRecord]) -> int:
    return sum(all(samples.steady for samples in start.samples) for start in starts)


def _starts(run: RunDocument, block: Block) -> list[StartRecord]:
    return [record for record in run.starts if record.block == block.key]
