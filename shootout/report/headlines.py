"""The headline of each head of a run, and the one of all heads: one cascade of claims for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from shootout.figures import counted, percent, threads
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.numbers import SPACE, plain_percent
from shootout.report import no_effect, wording

NOISY = 0.1  # a loss that no absence of a significant difference may hide, in half of the cells
NAMED_MAX = 3  # servers in a line
TITLES = {"mysql": "MySQL", "mariadb": "MariaDB", "percona": "Percona Server"}
SIDES = {
    Verdict.REGRESSED: ("slower", "worse"),  # in throughput or latency, in any other metric
    Verdict.IMPROVED: ("faster", "better"),
}


@dataclass(frozen=True)
class Headline:
    """The result for one head, or for all of a run: a claim, and the figures that support it."""

    claim: str
    details: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.claim}: {'; '.join(self.details)}" if self.details else self.claim


def of_heads(comparison: Comparison) -> tuple[Headline, ...]:
    """Write one headline for each head; a single one for a run without comparisons."""
    if every := wording.heads(comparison):
        return tuple(_of_head(head, comparison) for head in every)
    servers = ", ".join(server.label for server in comparison.header.servers)
    return (Headline(f"{servers} was measured alone", ("nothing to compare it with",)),)


def overall(comparison: Comparison) -> Headline:
    """Write one headline for all heads that are available; of several, with lines by family."""
    absent = {server.label for server in comparison.header.servers if server.absent}
    here = structs.replace(
        comparison, cells=tuple(c for c in comparison.cells if c.cell.server not in absent)
    )
    every = wording.heads(here)
    if len(every) < 2:
        return of_heads(here if every else comparison)[0]
    cells = _cells(every, here)
    claim, why = _claim(every, cells)
    said = (no_effect.settings_without_effect(here, head).line(head) for head in every)
    return Headline(claim, tuple(filter(None, (why, *_lines(cells, comparison), *said))))


def _of_head(head: str, comparison: Comparison) -> Headline:
    cells = _cells((head,), comparison)
    claim, why = _claim((head,), cells)
    detail = _detail(cells, comparison.policy, why)
    nothing = no_effect.settings_without_effect(comparison, head)
    if nothing.itself:
        said = claim if claim.startswith(head) else f"{claim[:1].lower()}{claim[1:]}"
        details = (*nothing.sentences, f"{said}, {detail}")
        return Headline(f"{nothing.itself} was compared with itself", details)
    return Headline(claim, (detail, *nothing.sentences))


def _cells(names: Sequence[str], comparison: Comparison) -> list[CellComparison]:
    return [c for c in comparison.cells if c.cell.server in names and wording.needs_verdict(c)]


# --- the cascade ----------------------------------------------------------------------------------


def _claim(names: Sequence[str], cells: Sequence[CellComparison]) -> tuple[str, str]:
    """Find the first claim that all cells of these heads support, and why there is no better one."""
    (base, _), *_ = Counter(c.base.server for c in cells if c.cell != c.base).most_common(1)
    name = names[0] if len(names) == 1 else ""
    servers = f"{len(names)} servers"
    tried = wording.measured(cells)
    for verdict in SIDES:
        if changed := [c for c in cells if c.verdict is verdict]:
            count = len({c.cell.server for c in changed})
            who = f"{name or f'{count} of {servers}'} {'is' if count == 1 else 'are'}"
            where = f"{len(changed)} of {counted(len(tried), 'cell')}{wording.unconfirmed(changed)}"
            return f"{who} {_word(changed, verdict)} than {base} in {where}", ""
    verdicts = {c.verdict for c in cells}
    if verdicts == {Verdict.EQUIVALENT}:
        everywhere = "its only cell" if len(cells) == 1 else f"all {counted(len(cells), 'cell')}"
        one = f"{name} is as fast as {base} in {everywhere}"
        return one if name else f"All {servers} are as fast as {base}", ""
    reason = next((c.reason for c in cells if c.verdict is Verdict.UNJUDGED), "")
    if not tried:
        return f"{name} was not measured" if name else f"None of the {servers} was measured", reason
    if verdicts == {Verdict.FAILED}:
        return f"{name} could not be measured" if name else f"None of the {servers} could be measured", ""
    if verdicts <= {Verdict.FAILED, Verdict.UNJUDGED}:
        return f"No verdict on {name or f'{base} and the other {servers}'}", reason
    return _undecided(name, base, servers, tried)


def _undecided(name: str, base: str, servers: str, cells: Sequence[CellComparison]) -> tuple[str, str]:
    both = f"{name} and {base}" if name else f"{base} and the other {servers}"
    sides = [(side, sum(c.leaning == side for c in cells)) for side in ("slower", "faster")]
    if likely := " and ".join(f"{side} than {base} in {count}" for side, count in sides if count):
        one = f"{name} is likely {likely} of {counted(len(cells), 'cell')}, unproven"
        return one if name else f"No proven difference between {both}", ""
    if all(c.verdict is not Verdict.EQUIVALENT and len(c.per_start) < 2 for c in cells):
        return f"Too few starts for a verdict on {both}", ""
    # The largest loss of either server that each cell does not rule out.
    losses = [1 - min(of[1].low, 1 / of[1].high) for of in map(wording.decisive, cells) if of]
    hiding = [loss for loss in losses if loss > NOISY]
    if hiding and 2 * len(hiding) >= len(losses):
        least, most = (plain_percent(each, 0) for each in (min(hiding), max(hiding)))
        size = most if least == most else f"{least.removesuffix(' %')} to {most}"
        why = f"{counted(len(hiding), 'cell')} could hide a change of {size}"
        return f"Too noisy to compare {f'{name} with {base}' if name else both}", why
    return f"No significant difference between {both}", ""


def _word(cells: Sequence[CellComparison], verdict: Verdict) -> str:
    speed, other = SIDES[verdict]
    return speed if all(map(wording.is_speed, cells)) else other


# --- one head -------------------------------------------------------------------------------------


def _detail(cells: Sequence[CellComparison], policy: Policy, why: str) -> str:
    """Support a head's claim: its worst and best cell, or how many cells have which verdict."""
    tried = wording.measured(cells)
    by_verdict = {verdict: [c for c in tried if c.verdict is verdict] for verdict in wording.WORST_FIRST}
    slower, faster = (wording.worst_first(by_verdict[verdict]) for verdict in SIDES)
    failed, missing = len(by_verdict[Verdict.FAILED]), len(cells) - len(tried)
    lost = f"{counted(failed, 'cell')} failed" if failed else ""
    more = f"{counted(missing, 'more cell')} not measured" if missing else ""
    if slower:
        word = _word(faster, Verdict.IMPROVED)
        gained = f"{word} in {len(faster)}, best {_place(faster[-1])}" if faster else ""
        parts = [f"worst {_place(slower[0])}", gained, lost, more]
    elif faster:
        none = f"{_word(faster, Verdict.REGRESSED)} in none"
        parts = [f"best {_place(faster[-1])}", none, lost, more]
    elif len(by_verdict[Verdict.EQUIVALENT]) == len(cells):
        parts = [f"within ±{wording.margins(cells, policy)}"]
    elif len(by_verdict[Verdict.UNJUDGED]) == len(tried):
        parts = [why]
    else:
        (worst, of), *others = [(verdict, of) for verdict, of in by_verdict.items() if of]
        first = f"{len(of)} of {counted(len(tried), 'cell')} {worst}"
        parts = [", ".join([first, *(f"{len(of)} {verdict}" for verdict, of in others)]), more, why]
    return "; ".join(filter(None, parts))


def _place(c: CellComparison) -> str:
    return f"{wording.decided_change(c)} ({c.cell.workload}, {threads(c.cell.threads)})"


# --- many heads: by family, for workloads that only read and for all others -----------------------


def _lines(cells: Sequence[CellComparison], comparison: Comparison) -> Iterator[str]:
    """Say what each family's servers show, `MariaDB's reads +21 to +61 % in 20 of 28 cells`."""
    families = {server.label: server.family for server in comparison.header.servers}
    writing = {c.cell.workload for c in comparison.cells if c.figures and c.figures.writes}
    tried = wording.measured(cells)
    for family in dict.fromkeys(families[c.cell.server] for c in tried):
        its = [c for c in tried if families[c.cell.server] == family]
        for kind in ("reads", "writes"):
            of = [c for c in its if (c.cell.workload in writing) == (kind == "writes")]
            if of:
                shown = ", ".join(_parts(of, wording.margins(of, comparison.policy))) or "undecided"
                yield f"{TITLES.get(family, family)}'s {kind} {shown}"
    if tried and (missing := len(cells) - len(tried)):
        yield f"{counted(missing, 'more cell')} not measured"


def _parts(cells: Sequence[CellComparison], margin: str) -> Iterator[str]:
    """Say what measured cells show, `+3 to +9 %`, in how many; nothing if all are undecided."""
    by_verdict = {verdict: [c for c in cells if c.verdict is verdict] for verdict in Verdict}
    changed = [
        (_size(of, verdict), of, _named(of, cells)) for verdict in SIDES if (of := by_verdict[verdict])
    ]
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
    """Name the servers of these cells, ` (mysql-8.0.33, mysql-9.7)`; empty if they are many, or all."""
    here, every = {c.cell.server for c in some}, dict.fromkeys(c.cell.server for c in among)
    named = [server for server in every if server in here]
    return "" if len(named) > NAMED_MAX or len(named) == len(every) else f" ({', '.join(named)})"


def _size(cells: Sequence[CellComparison], verdict: Verdict) -> str:
    """Write the range of these changes, `+21 to +61 %`; a word if throughput did not decide them all."""
    decided = filter(None, map(wording.decisive, cells))
    changes = [ratio.estimate for metric, ratio in decided if metric == THROUGHPUT]
    if len(changes) < len(cells):
        return _word(cells, verdict)
    places = 0 if min(abs(ratio - 1) for ratio in changes) >= 0.01 else 1
    low, high = (percent(ratio, places) for ratio in (min(changes), max(changes)))
    return high if low == high else f"{low.removesuffix(f'{SPACE}%')} to {high}"
