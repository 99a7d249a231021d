"""Verdicts in words and sentences, shared by pages, terminal output and comments."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from shootout import figures
from shootout.analysis import gate, ledger, metrics
from shootout.analysis.acknowledgements import worsening
from shootout.analysis.remaining import remaining
from shootout.answer import SYMBOLS
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.verdict import (
    Cause,
    CellComparison,
    ClaimResult,
    Comparison,
    FalseAlarms,
    Interval,
    Outcome,
    Verdict,
)
from shootout.numbers import MINUS, SPACE, number, percents, share
from shootout.report import commands, evidence
from shootout.report.sections import Section

ALONE = "Measured alone, with nothing to compare it with"

MEANINGS = {
    Verdict.REGRESSED: "Significantly slower than the base: the whole interval lies below zero, "
    "and the change is at least the margin.",
    Verdict.IMPROVED: "Significantly faster than the base, by the same criteria.",
    Verdict.EQUIVALENT: "As fast as the base: the whole interval lies within the margin around zero.",
    Verdict.INCONCLUSIVE: "The measurement is too noisy or the change too small for a verdict. "
    "This is neither a pass nor a failure: the interval shows which changes remain possible.",
    Verdict.FAILED: "No result: the server did not start, crashed, or reported an error. "
    "The cell's page quotes the error.",
    Verdict.UNJUDGED: "Nothing to compare with. The base itself is always unjudged.",
}
LEANINGS = {"slower": "▽", "faster": "△"}  # of inconclusive cells: hollow, for unproven
CAUSES_SHOWN = 2
UNTOLD = 0.9  # an interval of a share that is wider tells nothing
LITTLE = 0.25  # of a change: a cause of less explains little
OUTCOME_SYMBOLS = {Outcome.HOLDS: "✓", Outcome.FAILS: "✗", Outcome.INCONCLUSIVE: "?"}
WORST_FIRST = (
    Verdict.REGRESSED,
    Verdict.FAILED,
    Verdict.INCONCLUSIVE,
    Verdict.UNJUDGED,
    Verdict.EQUIVALENT,
    Verdict.IMPROVED,
)


def first_line(text: str) -> str:
    """The first line of a reason, whose others quote a log; empty if it is empty."""
    return next(iter(text.splitlines()), "")


def symbol(cell: CellComparison) -> str:
    return LEANINGS[cell.leaning] if cell.leaning else SYMBOLS[cell.verdict]


def reading(cell: CellComparison) -> str:
    """The verdict, or what an inconclusive cell still shows."""
    return f"likely {cell.leaning}, unproven" if cell.leaning else cell.verdict


def far_from_baseline(cells: Sequence[CellComparison]) -> str:
    """Say which cells are how far from their baselines, the worst first."""
    first, *others = worst_first(cells)
    more = f", and {figures.counted(len(others), 'other cell')}" if others else ""
    name = f"{first.cell.workload}, {figures.threads(first.cell.threads)}: {first.cell.server}"
    return f"{name} is {decided_change(first)} from its accepted runs{more}"


def comment(text: str) -> str:
    """A server's version_comment; NONE instead of MariaDB's request for stars on GitHub."""
    return figures.NONE if "://" in text else text


# --- sentences ------------------------------------------------------------------------------------


def more_minutes(comparison: Comparison) -> str:
    """Say how many more minutes would decide undecided cells; empty if none likely would."""
    if (wanting := remaining(comparison)) is None:
        return ""
    undecided = f"the {wanting.cells} undecided cells" if wanting.cells > 1 else "the undecided cell"
    minutes = figures.counted(max(1, math.ceil(wanting.minutes)), "more minute")
    which = undecided if wanting.decided == wanting.cells else f"{wanting.decided} of {undecided}"
    return f"About {minutes} would likely decide {which}"


def explain_gate(comparison: Comparison) -> str:
    """Say which regressions fail a gate, and why; empty if all do."""
    state = gate.judge_false_alarms(comparison)
    if state == "proven" or not heads(comparison):
        return ""
    rate, policy = comparison.false_alarms, comparison.policy
    if state == "refuted":
        seen = f"{figures.counted(rate.alarms, 'false alarm')} in {figures.counted(rate.cells, 'A/A cell')}"
        why = f"{seen} show that more than {share(policy.false_alarms_max)} of gates alarm by chance, so"
    else:
        needed = ledger.cells_needed(rate, policy)
        more = figures.counted(needed, "more A/A cell" if rate.cells else "A/A cell")
        calibrate = "(shootout doctor --calibrate measures them)"
        unknown = f"this runner's false-alarm rate is unknown until {more} show no false alarm {calibrate}"
        why = f"{unknown}; until then,"
    beyond = "three margins" if state == "refuted" else "the margin"
    rule = f"{why} only a confirmed regression whose whole interval lies beyond {beyond} counts"
    regressed = [c for c in comparison.cells if c.verdict is Verdict.REGRESSED and c.acknowledged is None]
    if not regressed:
        return f"No regression fails the gate: {rule}"
    failing = sum(gate.counts(c, comparison) for c in regressed)
    verb = "fail" if failing > 1 else "fails"
    return f"{failing or 'None'} of {figures.counted(len(regressed), 'regression')} {verb} the gate: {rule}"


def false_alarms(known: FalseAlarms, of: str) -> str:
    """Say what A/A cells tell of the runs `of` a kind."""
    seen = f"{figures.counted(known.alarms, 'false alarm')} in {figures.counted(known.cells, 'A/A cell')}"
    low, high = known.share.low, known.share.high
    told = f"{percents(low)} to {percents(high)} of" if high - low <= UNTOLD else "too few to say how many"
    return f"{seen}, servers compared with themselves: {told} {of} would raise one"


def gate_exemption(c: CellComparison, comparison: Comparison) -> str:
    """Say why a regression does not fail the gate; empty if it does."""
    if (accepted := c.acknowledged) is not None:
        return f"acknowledged by {accepted.owner} until {accepted.expires}: {accepted.reason}"
    return "" if gate.counts(c, comparison) else explain_gate(comparison)


def causes_title(c: CellComparison) -> str:
    """The title of a cell's causes, above them or before each."""
    changed = c.verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
    return "Likely cause" if changed else "Changed without a verdict on throughput"


def causes(c: CellComparison) -> tuple[str, ...]:
    """The likely causes of a cell's change, or what changed without one; those that explain little say so."""
    return tuple(f"{cause(each)}{', explains little' if _is_little(each, c) else ''}" for each in c.causes)


def _is_little(part: Cause, c: CellComparison) -> bool:
    """Whether a cause explains little of the change that was decided."""
    if c.verdict not in (Verdict.REGRESSED, Verdict.IMPROVED) or (decided := decisive(c)) is None:
        return False
    metric, ratio = decided
    whole = 1 / ratio.estimate - 1 if metric == THROUGHPUT else ratio.estimate - 1
    return part.share / whole < LITTLE


def change_sentence(c: CellComparison) -> str:
    """Say by how much a cell regressed or improved, and the evidence; empty for other verdicts."""
    if c.verdict not in (Verdict.REGRESSED, Verdict.IMPROVED):
        return ""
    size, (metric, ratio) = decided_change(c), decisive(c) or ("", None)
    if metric == THROUGHPUT and ratio:
        word, times = ("slower", 1 / ratio.estimate) if ratio.estimate < 1 else ("faster", ratio.estimate)
        size = f"×{number(times, digits=2)}" if times >= figures.MULTIPLE else size.lstrip(f"+{MINUS}")
        size = f"{size} {word}"
    return "; ".join((size, *evidence.evidence(c)))


def undecided(c: CellComparison) -> str:
    """Say what is missing for a verdict on an undecided cell whose interval lies beyond zero; else empty."""
    _, ratio = decisive(c) or ("", None)
    if c.verdict is not Verdict.INCONCLUSIVE or ratio is None or ratio.low <= 1 <= ratio.high:
        return ""
    return c.reason.partition(": ")[2] or c.reason


def leading_causes(
    c: CellComparison, sections: Iterable[Section], run: str, out: Path | None = None
) -> tuple[str, tuple[str, ...], str]:
    """Explain a change beside its evidence: a title, sentences, and the command that looks for more.

    Explanations come first, after the kind of statement that explains most; without one, the likely
    causes. All are empty where the evidence is enough. `out`: the folder that the command names.
    """
    if explained := tuple(section.cause for section in sections if section.cause):
        statements = (each for each in c.causes if each.kind == "statement" and not _is_little(each, c))
        return "Cause", (*map(cause, islice(statements, 1)), *explained), ""
    if likely := [
        text for each, text in zip(c.causes, causes(c), strict=True) if not evidence.has(c, each.name)
    ]:
        return causes_title(c), tuple(likely[:CAUSES_SHOWN]), ""
    if evidence.evidence(c):
        return "", (), ""
    return "No cause found yet", (), commands.look_further(run, c.cell, out)


def cause(cause: Cause) -> str:
    """Say what changed per transaction, and its approximate share of the transaction's time."""
    metric = metrics.BY_NAME.get(cause.name) if cause.kind == "work" else None
    title, unit = (metric.title, metric.unit) if metric else (cause.name, "s")
    base, head = figures.amount(cause.base, unit), figures.amount(cause.head, unit)
    growth = f" ({figures.percent(cause.head / cause.base)})" if cause.base else ""
    about = "about" if cause.kind == "statement" else "roughly"
    part = f"{figures.signed_to(100 * cause.share, 0 if abs(cause.share) >= 0.01 else 1)}{SPACE}%"
    return f"{title}: {head} per transaction instead of {base}{growth}, {about} {part} of transaction time"


def heads(comparison: Comparison) -> tuple[str, ...]:
    """The servers compared with a base; the run's base is none, even where another stands in for it."""
    compared = [c for c in comparison.cells if c.cell != c.base]
    bases = {c.base.server for c in compared}
    base = next((server.label for server in comparison.header.servers if server.label in bases), None)
    return tuple(dict.fromkeys(c.cell.server for c in compared if c.cell.server != base))


def needs_verdict(c: CellComparison) -> bool:
    """Whether the cell is compared with a base, or is a base that failed."""
    return c.cell != c.base or c.verdict is not Verdict.UNJUDGED


def measured(cells: Iterable[CellComparison]) -> tuple[CellComparison, ...]:
    """The cells that were measured, or failed: counts are of these."""
    return tuple(c for c in cells if c.verdict is not Verdict.UNJUDGED or c.figures is not None)


def unconfirmed(changed: Sequence[CellComparison]) -> str:
    """Count the changes that no fresh starts have confirmed, `, 2 of them unconfirmed`; empty if none."""
    count = sum(not any(metric.confirmed for metric in c.judged[:1]) for c in changed)
    if not count:
        return ""
    return ", unconfirmed" if count == len(changed) else f", {count} of them unconfirmed"


def failures(comparison: Comparison) -> Iterator[str]:
    """Say why cells failed, each reason once: both servers may refuse a statement, or one fail everywhere."""
    servers: defaultdict[tuple[str, int, str], list[str]] = defaultdict(list)
    for c in comparison.cells:
        if c.verdict is Verdict.FAILED:
            servers[c.cell.workload, c.cell.threads, c.reason].append(c.cell.server)
    everywhere = Counter((c.cell.workload, c.cell.threads) for c in comparison.cells)
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (workload, count, reason), labels in servers.items():
        all_ = len(labels) == everywhere[workload, count] > 1
        who = ("both servers" if len(labels) == 2 else "all servers") if all_ else ", ".join(labels)
        blocks[who, reason].append(f"{workload}, {figures.threads(count)}")
    for (who, reason), (first, *more) in blocks.items():
        also = f", and {len(more)} more" if more else ""
        yield f"{first}{also}, {who}: {reason}"


def unmeasured(comparison: Comparison) -> Iterator[str]:
    """Say which cells were not measured, each reason once; a base only where nothing is compared with it."""
    alone = not heads(comparison)
    reasons: dict[str, list[str]] = {}
    for c in gate.unmeasured(comparison):
        if alone or c.cell != c.base:
            reasons.setdefault(c.reason.removeprefix("not measured: "), []).append(c.cell.name)
    for reason, names in reasons.items():
        yield f"Not measured, {reason}: {', '.join(names)}"


def worst_first(cells: Sequence[CellComparison]) -> tuple[CellComparison, ...]:
    """Sort cells by verdict, then from the slowest to the fastest."""

    def rank(c: CellComparison) -> tuple[int, float]:
        decided = decisive(c)
        loss = worsening(decided[0], decided[1].estimate) if decided else 0.0
        return WORST_FIRST.index(c.verdict), -loss

    return tuple(sorted(cells, key=rank))


def decisive(c: CellComparison) -> tuple[str, Interval] | None:
    """The metric that decided the verdict, and its ratio; None if nothing was compared."""
    if c.judged:
        return c.judged[0].metric, c.judged[0].ratio
    return None if c.ratio is None else (THROUGHPUT, c.ratio)


def is_speed(c: CellComparison) -> bool:
    """Whether throughput or a latency decided the verdict."""
    metric, _ = decisive(c) or (THROUGHPUT, None)
    return metric == THROUGHPUT or metric.startswith("latency")


def decided_change(c: CellComparison) -> str:
    """The decisive change, `−21 %`; with the metric's name unless it is throughput."""
    if (decided := decisive(c)) is None:
        return figures.NONE
    metric, ratio = decided
    title = "" if metric == THROUGHPUT else f"{metrics.TITLES[metric]} "
    return f"{title}{figures.change(ratio)}"


def finding(result: ClaimResult) -> str:
    """The result of a published claim, with the figures behind it."""
    why = f"{result.claim.ratio_words}: {figures.factor(result.ratio)}" if result.ratio else result.reason
    also = f"; {result.reason}" if result.ratio and result.reason else ""
    return f"{result.claim.text} ({result.outcome}). {why}{also}"


def margin(c: CellComparison, policy: Policy) -> float:
    """The margin of the metric that decided, or of throughput."""
    return c.judged[0].margin if c.judged else policy.margin_of(THROUGHPUT, c.cell.workload)


def margins(cells: Sequence[CellComparison], policy: Policy) -> str:
    """The cells' margin, or from which to which: `2 %`, `2 % to 5 %`."""
    every = {margin(c, policy) for c in cells} or {policy.margin}
    return " to ".join(dict.fromkeys(map(share, (min(every), max(every)))))


def sentence(c: CellComparison, policy: Policy, *, alone: bool = False) -> str:
    """A cell's verdict in words, with the decisive figure; `alone`: the run has no head."""
    base = c.base.server
    if c.cell == c.base and c.verdict is Verdict.UNJUDGED:
        return ALONE if alone else "This is the base: the other servers are compared with it"
    if c.verdict is Verdict.FAILED:
        return "Only partly measured" if c.figures else "Could not be measured"
    if (decisive_ratio := decisive(c)) is None:
        return "Measured, with nothing to compare it with" if c.figures else "Not measured"
    metric, ratio = decisive_ratio
    is_throughput, title = metric == THROUGHPUT, metrics.TITLES.get(metric, "")
    if is_throughput and c.leaning:
        return f"Likely {c.leaning} than {base}, {figures.change_range(ratio)}, but unproven: {undecided(c)}"
    size, titled = figures.change(ratio).lstrip(f"+{MINUS}"), f"{title[:1].upper()}{title[1:]}"
    worse = c.verdict is Verdict.REGRESSED
    if worse or c.verdict is Verdict.IMPROVED:
        if is_throughput:
            return f"{size} {'slower' if worse else 'faster'} than {base}"
        return f"{titled} {size} {'higher' if worse else 'lower'} than on {base}"
    if c.verdict is Verdict.EQUIVALENT:
        same = f"As fast as {base}" if is_throughput else f"{titled} the same as on {base}"
        return f"{same}, within ±{share(margin(c, policy))}"
    what = "" if is_throughput else f" in {title}"
    open_ = f"Inconclusive: the difference{what} from {base} may be anywhere from"
    return "; ".join(filter(None, (f"{open_} {figures.change_range(ratio)}", undecided(c))))
