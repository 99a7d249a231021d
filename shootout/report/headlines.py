"""The headline of each head of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.numbers import share
from shootout.report import no_effect
from shootout.report.figures import counted, threads
from shootout.report.no_effect import NoEffect
from shootout.report.wording import (
    WORST_FIRST,
    decided_change,
    decisive,
    heads,
    is_speed,
    margins,
    measured,
    needs_verdict,
    unconfirmed,
    worst_first,
)

NOISY = 0.1  # a change that no absence of a significant difference may hide


@dataclass(frozen=True)
class Headline:
    """The result for one head, or for all of a run: a claim, and the figures that support it."""

    claim: str
    details: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.claim}: {'; '.join(self.details)}" if self.details else self.claim


def of_heads(comparison: Comparison) -> tuple[Headline, ...]:
    """One headline for each head; a single one for a run without comparisons."""
    judged = [c for c in comparison.cells if needs_verdict(c)]
    claims = [
        _of_head(*_claim([c for c in judged if c.cell.server == head], comparison), nothing)
        for head in heads(comparison)
        for nothing in [no_effect.of(comparison, head)]
    ]
    if claims:
        return tuple(claims)
    servers = ", ".join(server.label for server in comparison.header.servers)
    return (Headline(f"{servers} was measured alone", ("nothing to compare it with",)),)


def _of_head(claim: str, detail: str, nothing: NoEffect) -> Headline:
    if nothing.itself:
        details = (*nothing.sentences, f"{claim}, {detail}")
        return Headline(f"{nothing.itself} was compared with itself", details)
    return Headline(claim, (detail, *nothing.sentences))


def _claim(cells: Sequence[CellComparison], comparison: Comparison) -> tuple[str, str]:
    """What a head's cells show: a claim and its detail."""
    (base, _), *_ = Counter(c.base.server for c in cells if c.cell != c.base).most_common(1)
    head = cells[0].cell.server
    tried = measured(cells)
    total = counted(len(tried), "cell")
    by_verdict = {verdict: [c for c in tried if c.verdict is verdict] for verdict in Verdict}
    slower, faster = worst_first(by_verdict[Verdict.REGRESSED]), worst_first(by_verdict[Verdict.IMPROVED])
    equal, failed = len(by_verdict[Verdict.EQUIVALENT]), len(by_verdict[Verdict.FAILED])
    missing = len(cells) - len(tried)
    more = f"; {counted(missing, 'more cell')} not measured" if missing else ""
    lost = f"; {counted(failed, 'cell')} failed{more}" if failed else more
    if changed := slower or faster:
        worse, better = ("slower", "faster") if all(map(is_speed, changed)) else ("worse", "better")
        where = f"{len(changed)} of {total}{unconfirmed(changed)}"
        claim = f"{head} is {worse if slower else better} than {base} in {where}"
        best = f"best {_place(faster[-1])}" if faster else ""
        if not slower:
            return claim, f"{best}; {worse} in none{lost}"
        gained = "faster" if all(map(is_speed, faster)) else "better"
        also = f"; {gained} in {len(faster)}, {best}" if faster else ""
        return claim, f"worst {_place(slower[0])}{also}{lost}"
    if equal == len(cells):
        everywhere = "its only cell" if equal == 1 else f"all {total}"
        return f"{head} is as fast as {base} in {everywhere}", f"within ±{margins(cells, comparison.policy)}"
    if not tried:
        return f"{head} was not measured", cells[0].reason
    if failed == len(cells):
        return f"{head} could not be measured", f"{failed} of {total} failed"
    counts = f"{_counts(by_verdict, total)}{more}"
    if failed + len(by_verdict[Verdict.UNJUDGED]) == len(tried):
        return f"No verdict on {head}", counts if failed else cells[0].reason
    return _undecided(head, base, tried, counts)


def _undecided(head: str, base: str, cells: Sequence[CellComparison], counts: str) -> tuple[str, str]:
    sides = [(side, sum(c.leaning == side for c in cells)) for side in ("slower", "faster")]
    if likely := " and ".join(f"{side} in {count}" for side, count in sides if count):
        return f"{head} is likely {likely} of {counted(len(cells), 'cell')} than {base}, unproven", counts
    if too_few_starts(cells):
        return f"No verdict on {head} and {base}: too few starts", counts
    if hiding := noisy(cells):
        return (
            f"Too noisy to compare {head} with {base}",
            f"{counts}; {hiding} could hide a change of {share(NOISY)}",
        )
    return f"No significant difference between {head} and {base}", counts


def too_few_starts(cells: Sequence[CellComparison]) -> bool:
    """Whether no cell has the starts that a verdict takes; summaries lack those of cells that are equal."""
    return all(c.verdict is not Verdict.EQUIVALENT and len(c.per_start) < 2 for c in cells)


def noisy(cells: Sequence[CellComparison]) -> int:
    """How many cells do not rule out that either server is slower than the other by NOISY.

    0 unless they are half of those compared or more.
    """
    compared = [ratio for c in cells if (ratio := (decisive(c) or (None, None))[1]) is not None]
    hiding = sum(max(-math.log(ratio.low), math.log(ratio.high)) > -math.log1p(-NOISY) for ratio in compared)
    return hiding if 2 * hiding >= len(compared) else 0


def _counts(by_verdict: Mapping[Verdict, Sequence[CellComparison]], total: str) -> str:
    """`87 of 112 cells inconclusive, 25 equivalent`."""
    (worst, cells), *others = [(v, by_verdict[v]) for v in WORST_FIRST if by_verdict[v]]
    return ", ".join([f"{len(cells)} of {total} {worst}", *(f"{len(cells)} {v}" for v, cells in others)])


def _place(c: CellComparison) -> str:
    return f"{decided_change(c)} ({c.cell.workload}, {threads(c.cell.threads)})"
