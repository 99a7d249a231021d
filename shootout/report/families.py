"""The headline of a run with many servers: by family, for workloads that only read and for all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import structs

from shootout.model.plan import THROUGHPUT
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.report import headlines, no_effect, wording
from shootout.report.figures import counted, percent
from shootout.report.headlines import Headline

TITLES = {"mysql": "MySQL", "mariadb": "MariaDB", "percona": "Percona Server"}
NAMED_MAX = 3  # servers in a line
SIDES = {
    Verdict.REGRESSED: ("slower", "worse"),  # in throughput or latency, in any other metric
    Verdict.IMPROVED: ("faster", "better"),
}


def overall(comparison: Comparison) -> Headline:
    """One headline for all heads of a run that are available."""
    absent = {server.label for server in comparison.header.servers if server.absent}
    here = structs.replace(
        comparison, cells=tuple(c for c in comparison.cells if c.cell.server not in absent)
    )
    heads = wording.heads(here)
    if len(heads) < 2:
        return headlines.of_heads(here if heads else comparison)[0]
    cells = [c for c in comparison.cells if c.cell.server in heads and wording.needs_verdict(c)]
    said = (no_effect.of(here, head).line(head) for head in heads)
    return Headline(_claim(cells, len(heads)), (*_lines(cells, comparison), *filter(None, said)))


def _claim(cells: Sequence[CellComparison], heads: int) -> str:
    (base, _), *_ = Counter(c.base.server for c in cells if c.cell.server != c.base.server).most_common(1)
    for verdict in SIDES:
        if changed := [c for c in cells if c.verdict is verdict]:
            count = len({c.cell.server for c in changed})
            are = f"{'is' if count == 1 else 'are'} {_word(changed, verdict)}"
            where = f"{len(changed)} of {counted(len(wording.measured(cells)), 'cell')}"
            return f"{count} of {heads} servers {are} than {base} in {where}{wording.unconfirmed(changed)}"
    if all(c.verdict is Verdict.EQUIVALENT for c in cells):
        return f"All {heads} servers are as fast as {base}"
    if all(c.verdict is Verdict.FAILED or c.figures is None for c in cells):
        return f"None of the {heads} servers could be measured"
    both = f"{base} and the other {heads} servers"
    if all(c.verdict in (Verdict.FAILED, Verdict.UNJUDGED) for c in cells):
        return f"No verdict on {both}: {next(c.reason for c in cells if c.verdict is Verdict.UNJUDGED)}"
    if any(c.leaning for c in cells):
        return f"No proven difference between {both}"
    if headlines.too_few_starts(cells):
        return f"No verdict on {both}: too few starts"
    if headlines.noisy(cells):
        return f"Too noisy to compare {both}"
    return f"No significant difference between {both}"


def _lines(cells: Sequence[CellComparison], comparison: Comparison) -> Iterator[str]:
    """What each family's servers show, `MariaDB reads +21 to +61 % in 20 of 28 cells`."""
    families = {server.label: server.family for server in comparison.header.servers}
    writing = {c.cell.workload for c in comparison.cells if c.figures and c.figures.writes}
    for family in dict.fromkeys(families[c.cell.server] for c in cells):
        its = [c for c in cells if families[c.cell.server] == family]
        for kind in ("reads", "writes"):
            of = [c for c in its if (c.cell.workload in writing) == (kind == "writes")]
            if of:
                shown = ", ".join(parts(of, wording.margins(of, comparison.policy))) or "undecided"
                yield f"{TITLES.get(family, family)} {kind} {shown}"
    if missing := len(cells) - len(wording.measured(cells)):
        yield f"{counted(missing, 'more cell')} not measured"


def parts(cells: Sequence[CellComparison], margin: str) -> Iterator[str]:
    """What these cells show, `+3 to +9 %`, in how many of those measured; nothing if all are undecided."""
    cells = wording.measured(cells)
    by_verdict = {verdict: [c for c in cells if c.verdict is verdict] for verdict in Verdict}
    changed = [(size(of, verdict), of, _named(of, cells)) for verdict in SIDES if (of := by_verdict[verdict])]
    others = [
        *((f"likely {side}", [c for c in cells if c.leaning == side]) for side in ("slower", "faster")),
        (f"within ±{margin}", by_verdict[Verdict.EQUIVALENT]),
        ("failed", by_verdict[Verdict.FAILED]),
    ]
    total = f" of {counted(len(cells), 'cell')}"
    for words, of, named in (*changed, *((words, of, "") for words, of in others if of)):
        yield f"{words} in {len(of)}{total}{named}"
        total = ""


def _named(some: Sequence[CellComparison], among: Sequence[CellComparison]) -> str:
    """The servers of these cells, ` (mysql-8.0.33, mysql-9.7)`; empty if they are many, or all."""
    here, every = {c.cell.server for c in some}, dict.fromkeys(c.cell.server for c in among)
    named = [server for server in every if server in here]
    return "" if len(named) > NAMED_MAX or len(named) == len(every) else f" ({', '.join(named)})"


def size(cells: Sequence[CellComparison], verdict: Verdict) -> str:
    """The range of these cells' changes, `+21 to +61 %`; a word if throughput did not decide them all."""
    decided = filter(None, map(wording.decisive, cells))
    changes = [ratio.estimate for metric, ratio in decided if metric == THROUGHPUT]
    if len(changes) < len(cells):
        return _word(cells, verdict)
    places = 0 if min(abs(ratio - 1) for ratio in changes) >= 0.01 else 1
    low, high = (percent(ratio, places) for ratio in (min(changes), max(changes)))
    return high if low == high else f"{low[:-2]} to {high}"


def _word(cells: Sequence[CellComparison], verdict: Verdict) -> str:
    speed, other = SIDES[verdict]
    return speed if all(map(wording.is_speed, cells)) else other
