"""The evidence beside a change: what the cell needs more of, which plans differ, what the server warns of."""

from __future__ import annotations

from collections.abc import Iterator

from shootout.analysis import metrics
from shootout.model.verdict import CellComparison, Verdict
from shootout.numbers import number
from shootout.report import differing

GROWTH_MIN = 1.5  # of an amount per transaction
AMOUNT_MIN = 0.1  # per transaction: less may be chance
AMOUNTS_MAX = 3
PLANS_MAX = 2
METRICS = ("rows_read", "lock_waits", "buffer_pool_reads")
COUNTERS = {
    "Created_tmp_disk_tables": "temporary tables on disk",
    "Sort_rows": "rows sorted",
    "Sort_merge_passes": "sort merge passes",
    "Select_full_join": "joins without an index",
}


def evidence(c: CellComparison) -> tuple[str, ...]:
    """List amounts, plans and warnings that go with a regression or an improvement."""
    if c.verdict not in (Verdict.REGRESSED, Verdict.IMPROVED):
        return ()
    amounts = (f"{title} {_amount(base)} → {_amount(head)}" for title, base, head in _grown(c))
    new = (text for plan in c.plans for text in plan.head.warnings if text not in plan.base.warnings)
    return (*amounts, *_plans(c), *(f"the server warns: {text}" for text in dict.fromkeys(new)))


def has(c: CellComparison, metric: str) -> bool:
    """Whether the evidence has that metric."""
    return metrics.TITLES.get(metric) in [title for title, _, _ in _grown(c)]


def _grown(c: CellComparison) -> list[tuple[str, float, float]]:
    """List amounts that grew with a regression, or shrank with an improvement, on base and head."""
    grown = []
    for title, base, head in _amounts(c):
        less, more = (base, head) if c.verdict is Verdict.REGRESSED else (head, base)
        if more - less >= AMOUNT_MIN and more >= GROWTH_MIN * less:
            grown.append((title, base, head))
    return grown[:AMOUNTS_MAX]


def _amounts(c: CellComparison) -> Iterator[tuple[str, float, float]]:
    known = {metric.name: metric for metric in c.metrics}
    for name in METRICS:
        if name in known:
            yield metrics.TITLES[name], known[name].base, known[name].head
    if c.figures and c.base_figures:
        for name, title in COUNTERS.items():
            base, head = (each.counters.get(name) for each in (c.base_figures, c.figures))
            if base is not None and head is not None:
                yield title, base, head


def _amount(value: float) -> str:
    return number(value, 0) if value >= 100 else number(value)


def _plans(c: CellComparison) -> Iterator[str]:
    changed = [plan for plan in c.plans if plan.changed]
    for plan in changed[:PLANS_MAX]:
        of = "" if len(c.statements) == 1 else f" of {plan.kind}"
        yield f"plan{of}: {differing.ways(plan)}"
    if len(changed) > PLANS_MAX:
        yield f"{len(changed) - PLANS_MAX} more plans changed"
