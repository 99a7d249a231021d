"""Each server of a run beside the one before it in its family, in the order in which the run names them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import structs

from shootout.analysis import decisions
from shootout.model.history import LedgerEntry
from shootout.model.plan import THROUGHPUT, Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, Comparison, Interval


class Step(NamedTuple):
    """A server and its predecessor."""

    server: str
    before: str
    cells: tuple[CellComparison, ...]  # throughput alone, without figures


def steps(
    document: RunDocument, comparison: Comparison, ledger_entries: Iterable[LedgerEntry] = ()
) -> tuple[Step, ...]:
    """The servers whose predecessor is not the run's base, with which it compares them anyway.

    The cells of a step are judged among all those that have its predecessor as base. Their changes are moved
    to what the comparison's give, by division: trimmed means of other pairs of rounds differ from that.
    """
    policy = comparison.policy
    against_base = {c.cell: (c.base, c.ratio.estimate) for c in comparison.cells if c.ratio is not None}
    families: defaultdict[str, list[str]] = defaultdict(list)
    for record in document.header.servers:
        if not record.absent:
            families[record.family].append(record.label)
    entries = list(ledger_entries)
    base = document.header.servers[0].label
    return tuple(
        Step(
            server,
            before,
            tuple(
                _moved(decisions.as_cell(decided, policy), against_base)
                for decided in decisions.of_run(document, policy, before, entries).cells
                if (decided.pair.cell.server, decided.pair.base.server) == (server, before)
            ),
        )
        for labels in families.values()
        for before, server in itertools.pairwise(labels)
        if before != base
    )


def _moved(c: CellComparison, against_base: Mapping[Cell, tuple[Cell, float]]) -> CellComparison:
    """The cell with the change that its own and its predecessor's ratio to the run's base give."""
    own, before = against_base.get(c.cell), against_base.get(c.base)
    if c.ratio is None or own is None or before is None or own[0] != before[0]:
        return c
    by = own[1] / before[1] / c.ratio.estimate
    low, high = min(1.0, by) * c.ratio.low, max(1.0, by) * c.ratio.high  # holds either estimate's interval
    ratio = Interval(estimate=by * c.ratio.estimate, low=low, high=high)
    judged = (
        structs.replace(metric, ratio=ratio) if metric.metric == THROUGHPUT else metric for metric in c.judged
    )
    return structs.replace(c, ratio=ratio, judged=tuple(judged))
