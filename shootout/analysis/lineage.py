"""Each server of a run beside the one before it in its family, in the order in which the run names them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from shootout.analysis import decisions
from shootout.model.history import LedgerEntry
from shootout.model.plan import Policy
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison


class Step(NamedTuple):
    """A server and its predecessor."""

    server: str
    before: str
    cells: tuple[CellComparison, ...]  # throughput alone, without figures


def steps(
    document: RunDocument, policy: Policy, ledger_entries: Iterable[LedgerEntry] = ()
) -> tuple[Step, ...]:
    """The servers whose predecessor is not the run's base, with which it compares them anyway.

    The cells of a step are judged among all those that have its predecessor as base.
    """
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
                decisions.as_cell(decided, policy)
                for decided in decisions.of_run(document, policy, before, entries).cells
                if (decided.pair.cell.server, decided.pair.base.server) == (server, before)
            ),
        )
        for labels in families.values()
        for before, server in itertools.pairwise(labels)
        if before != base
    )
