"""The words of soaks, for terminal and pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from shootout import figures
from shootout.analysis.exit_codes import exit_code
from shootout.model.verdict import Interval, Verdict
from shootout.numbers import SPACE, number
from shootout.report import wording
from shootout.soak.values import (
    FindingKind,
    FootprintChange,
    Gauge,
    Measure,
    SoakComparison,
    SoakHeader,
    SoakResult,
)
from shootout.writers.judged import STYLES, Judged, Line, Table

TITLES: dict[FindingKind, str] = {
    "level": "change from beginning to end",
    "slope": "slope, per minute",
    "step": "largest step",
    "stalls": "stalls, per minute",
    "dips": "depth of periodic dips",
    "memory": "growth of memory at the end, MB/min",
}
MEASURES: dict[Measure, str] = {
    "memory": "memory after the load",
    "disk": "data on disk after the load",
    "write_amplification": "bytes written for each byte of changed rows",
    "fsyncs": "InnoDB's fsyncs, per transaction",
    "start": "start",
    "shutdown": "shutdown",
}
GAUGES: dict[Gauge, str] = {
    "memory": "resident memory, MB",
    "disk": "data on disk, MB",
    "dirty_pages": "dirty pages",
    "checkpoint_age": "checkpoint age, MB",
    "history_list": "history list length",
    "others": "CPUs that other processes used",
}
OTHERS_BAR = 0.05  # CPUs
IN_MB = ("memory", "disk", "checkpoint_age")

Row = tuple[str, str, str, str, str]  # finding, base, head, difference, verdict


def headline(result: SoakResult) -> str:
    """The result in one sentence for each head."""
    said = [_sentence(pair) for pair in result.comparisons if pair.head != pair.base]
    return " ".join(said) or "One server under load, compared with none."


def judged(result: SoakResult) -> Judged:
    """The result, the findings of each head, and what its server took differently."""
    return Judged(
        text=(
            Line(),
            Line(headline(result), "bold"),
            Line(conditions(result.document.header), "dim"),
            *chain.from_iterable(_compared(result, each) for each in result.comparisons),
            *(Line(f"{each.server}: {each.reason}", "magenta") for each in result.document.failures),
            Line(),
        ),
        value={
            "soak": result.document.header.soak,
            "comparisons": result.comparisons,
            "failures": result.document.failures,
        },
        exit_code=exit_code(
            failed=bool(result.document.failures),
            regressed=any(
                each.verdict is Verdict.REGRESSED for one in result.comparisons for each in one.findings
            ),
        ),
    )


def _compared(result: SoakResult, comparison: SoakComparison) -> Iterator[Line | Table]:
    """A head beside its base."""
    alone = comparison.base == comparison.head
    shown = (comparison.head,) if alone else (comparison.base, comparison.head, "head beside base")
    yield Line()
    yield Table(
        ("finding", *shown, "verdict"),
        tuple(
            (title, *(values[1:2] if alone else values), Line(word, STYLES[verdict]))
            for (title, *values, word), verdict in rows(result, comparison)
        ),
    )
    if comparison.reason and comparison.findings:
        yield Line(comparison.reason, "magenta")
    for said in remarks(comparison):
        yield Line(said)
    for measure, base, head, change in footprint(comparison):
        yield Line(f"{measure}: {base} on {comparison.base}, {head} on {comparison.head} ({change})")


def remarks(comparison: SoakComparison) -> Iterator[str]:
    """What such a soak can find, and whether the machine was the same for both servers."""
    if comparison.detectable is not None:
        loss = number(100 * comparison.detectable, 0)
        yield f"Of five such soaks, four would find a loss of {loss}{SPACE}% that begins midway."
    base, head = (comparison.others.get(each) for each in (comparison.base, comparison.head))
    if base is not None and head is not None and abs(head - base) > OTHERS_BAR:
        yield (
            f"The machine was not the same for both: other processes used {number(base, 2)} CPUs beside "
            f"{comparison.base}, and {number(head, 2)} beside {comparison.head}."
        )


def conditions(header: SoakHeader) -> str:
    """What was loaded, how, and for how long."""
    pace = "closed loop" if header.load.rate is None else f"{number(header.load.rate)} transactions/s"
    return ", ".join(
        (
            header.workload.name,
            figures.threads(header.threads),
            pace,
            figures.dataset(header.dataset),
            f"settings {header.settings}",
            f"{figures.duration(header.duration_s)} for each server",
            f"in turns of {header.turn_s:g}{SPACE}s" if header.turn_s else "one after the other",
        )
    )


def rows(result: SoakResult, comparison: SoakComparison) -> Iterator[tuple[Row, Verdict]]:
    """A table's lines, and the verdicts of those that have one."""
    base, head = (comparison.levels.get(label) for label in (comparison.base, comparison.head))
    alone = comparison.base == comparison.head
    if head is not None:
        unit = "tps" if result.document.header.load.rate is None else "1 / 95 % latency, s"
        for place, title in enumerate(("beginning", "end")):
            of_base = "" if base is None or alone else _level(base[place])
            yield (f"{title}, {unit}", of_base, _level(head[place]), "", ""), Verdict.UNJUDGED
    for finding in comparison.findings:
        kind, verdict = finding.kind, finding.verdict
        row = (
            f"{TITLES[kind]}{f', {finding.note}' if finding.note else ''}",
            value(kind, finding.base),
            value(kind, finding.head) or ("none found" if kind == "dips" else figures.NOT_VISIBLE),
            value(kind, finding.difference),
            "" if verdict is Verdict.UNJUDGED else f"{wording.SYMBOLS[verdict]} {verdict}",
        )
        yield row, verdict


def footprint(comparison: SoakComparison) -> Iterator[tuple[str, str, str, str]]:
    """Measure, base, head and change of what changed beyond its margin."""
    for change in comparison.footprint:
        if change.changed:
            by = figures.percent(change.head / change.base) if change.base else ""
            yield MEASURES[change.measure], _amount(change, change.base), _amount(change, change.head), by


def unchanged(comparison: SoakComparison) -> str:
    """The measures that are not in that table."""
    return ", ".join(MEASURES[each.measure] for each in comparison.footprint if not each.changed)


def value(kind: FindingKind, interval: Interval | None) -> str:
    """A finding's value with its interval."""
    if interval is None:
        return ""
    scale, places, unit = {
        "level": (100.0, 1, f"{SPACE}%"),
        "slope": (100.0, 2, f"{SPACE}%"),
        "step": (100.0, 1, f"{SPACE}%"),
        "stalls": (1.0, 2, ""),
        "dips": (100.0, 1, f"{SPACE}%"),
        "memory": (60e-6, 2, ""),
    }[kind]
    ends = (interval.estimate, interval.low, interval.high)
    middle, low, high = (number(scale * end, places) for end in ends)
    return f"{middle}{unit} ({low} to {high})"


def _sentence(comparison: SoakComparison) -> str:
    if not comparison.findings:
        return f"{comparison.head} was not judged: {comparison.reason}."
    said = []
    for word, verdict in (("worse", Verdict.REGRESSED), ("better", Verdict.IMPROVED)):
        kinds = [each.kind for each in comparison.findings if each.verdict is verdict]
        said += [f"{word} in {', '.join(kinds)}"] if kinds else []
    if said:
        return f"{comparison.head} beside {comparison.base}: {'; '.join(said)}."
    return f"No difference found between {comparison.head} and {comparison.base}."


def _level(speed: Interval) -> str:
    return f"{number(speed.estimate)} ({number(speed.low)} to {number(speed.high)})"


def _amount(change: FootprintChange, amount: float) -> str:
    if change.measure in ("memory", "disk"):
        return figures.size(int(amount))
    return f"{number(amount)}{f'{SPACE}s' if change.measure in ('start', 'shutdown') else ''}"
