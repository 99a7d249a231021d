"""The answer to a soak."""

from __future__ import annotations

from collections.abc import Iterator

from shootout import figures
from shootout.analysis.exit_codes import exit_code
from shootout.answer import Answer, Field, Figure, Form, Mark, Table, Topic, Whole, change, joined
from shootout.model.verdict import Interval, Verdict
from shootout.numbers import SPACE, number
from shootout.soak import charts
from shootout.soak.values import (
    Finding,
    FindingKind,
    FootprintChange,
    Measure,
    SoakComparison,
    SoakHeader,
    SoakResult,
)

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
    "fsyncs": "InnoDB's fsyncs per transaction",
    "start": "start",
    "shutdown": "shutdown",
}
OTHERS_BAR = 0.05  # CPUs
# A finding's form: the factor to the unit in which it is printed, decimals, that unit, and the form.
UNITS: dict[FindingKind, tuple[float, int, str, Form]] = {
    "level": (100.0, 1, "%", "signed"),
    "slope": (100.0, 2, "%", "signed"),
    "step": (100.0, 1, "%", "signed"),
    "stalls": (1.0, 2, "", "number"),
    "dips": (100.0, 1, "%", "number"),
    "memory": (60e-6, 2, "", "signed"),
}
Row = tuple[str, tuple[Field, ...], Field]  # title, values of base, head and their difference, verdict
EXPLAINED = (
    "Level, slope and step are changes during the load; for how fast servers are, see runs. “Head beside "
    "base” compares the two in each part of the load, which removes the drift that both have: it is not the "
    "difference of their own values. Stalls are episodes below a tenth of the median throughput."
)


def answer(result: SoakResult) -> Answer:
    """Describe what became of each server under load."""
    header, failures = result.document.header, result.document.failures
    lasted = figures.duration(header.duration_s)
    return Answer(
        name=f"Soak: {header.workload.name}, {figures.threads(header.threads)}",
        headline=headline(result),
        topics=joined(
            (
                *(_findings(result, each) for each in result.comparisons),
                *(_footprint(each) for each in result.comparisons),
                _failed(result),
                Topic(lines=(EXPLAINED,), page_only=True),
                Topic("Curves", charts=charts.drawn_of(result.document), page_only=True),
                _servers(result),
            )
        ),
        value={"soak": header.soak, "comparisons": result.comparisons, "failures": failures},
        exit_code=exit_code(
            failed=bool(failures),
            regressed=any(
                each.verdict is Verdict.REGRESSED for one in result.comparisons for each in one.findings
            ),
        ),
        conditions=f"{conditions(header)}; no server was started again",
        footer=f"Measured {figures.moment(header.started)} by shootout {header.shootout}.",
        listed=(
            figures.moment(header.started),
            ", ".join(header.servers),
            ", ".join((header.workload.name, figures.threads(header.threads), lasted)),
        ),
    )


def headline(result: SoakResult) -> str:
    """Sum up the result in one sentence for each head."""
    said = [_sentence(pair) for pair in result.comparisons if pair.head != pair.base]
    return " ".join(said) or "One server under load, compared with none."


def _findings(result: SoakResult, comparison: SoakComparison) -> Topic:
    """A head beside its base; a server alone has no other columns."""
    alone = comparison.base == comparison.head
    servers = (comparison.head,) if alone else (comparison.base, comparison.head, "head beside base")
    every = (*_levels(result, comparison), *map(_finding, comparison.findings))
    rows = tuple((title, *(own[1:2] if alone else own), verdict) for title, own, verdict in every)
    table = Table(("finding", *servers, "verdict"), rows, "Intervals hold for all findings together")
    lines = tuple(remarks(comparison))
    lines = (f"{comparison.reason}.", *lines) if comparison.reason else lines
    return Topic("Findings" if alone else f"{comparison.head} beside {comparison.base}", lines, (table,))


def _levels(result: SoakResult, comparison: SoakComparison) -> Iterator[Row]:
    """The speed of both servers at the beginning and at the end."""
    base, head = (comparison.levels.get(label) for label in (comparison.base, comparison.head))
    if head is None:
        return
    unit = "tps" if result.document.header.load.rate is None else "1 / 95 % latency, s"
    for place, title in enumerate(("beginning", "end")):
        own = tuple(None if each is None else _speed(each[place]) for each in (base, head))
        yield f"{title}, {unit}", (*own, None), ""


def _finding(finding: Finding) -> Row:
    kind, verdict = finding.kind, finding.verdict
    absent = "none found" if kind == "dips" else figures.NOT_VISIBLE
    base, head, by = (_value(kind, each) for each in (finding.base, finding.head, finding.difference))
    title = f"{TITLES[kind]}{f', {finding.note}' if finding.note else ''}"
    return title, (base, head or absent, by), "" if verdict is Verdict.UNJUDGED else Mark(verdict)


def _footprint(comparison: SoakComparison) -> Topic | None:
    if not comparison.footprint or comparison.base == comparison.head:
        return None
    rows = tuple(
        (
            MEASURES[each.measure],
            _amount(each, each.base),
            _amount(each, each.head),
            change(each.head / each.base) if each.base else None,
        )
        for each in comparison.footprint
        if each.changed
    )
    same = ", ".join(MEASURES[each.measure] for each in comparison.footprint if not each.changed)
    caption = "Differences beyond the margin, by one measurement of each server"
    table = Table(("measure", comparison.base, comparison.head, "change"), rows, caption)
    lines = (f"Within the margins: {same}.",) if same else ()
    return Topic(f"Footprint of {comparison.head}", lines, (table,) if rows else ())


def _failed(result: SoakResult) -> Topic | None:
    lines = tuple(f"{each.server}: {each.reason}" for each in result.document.failures)
    return Topic("Ended early", lines, is_problem=True) if lines else None


def _servers(result: SoakResult) -> Topic:
    header = result.document.header
    return Topic(
        "Servers",
        facts=(
            *((each.server.label, figures.server(each.server)) for each in result.document.servers),
            ("Runner", header.runner.fingerprint),
            ("Seed", str(header.seed)),
        ),
        page_only=True,
    )


def remarks(comparison: SoakComparison) -> Iterator[str]:
    """Say what such a soak can find, and whether the machine was the same for both servers."""
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
    """Describe what was loaded, how, and for how long."""
    pace = "closed loop" if header.load.rate is None else f"{number(header.load.rate)} transactions/s"
    turns = f"in turns of {header.turn_s:g}{SPACE}s" if header.turn_s else "one after the other"
    return ", ".join((
        header.workload.name, figures.threads(header.threads), pace, figures.dataset(header.dataset),
        f"settings {header.settings}", f"{figures.duration(header.duration_s)} for each server", turns,
    ))  # fmt: skip


def _value(kind: FindingKind, interval: Interval | None) -> Whole | None:
    if interval is None:
        return None
    scale, places, unit, form = UNITS[kind]
    middle, low, high = (scale * end for end in (interval.estimate, interval.low, interval.high))
    return Whole(Figure(middle, unit, places, form, low, high))


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


def _speed(speed: Interval) -> Whole:
    return Whole(Figure(speed.estimate, low=speed.low, high=speed.high))


def _amount(change: FootprintChange, amount: float) -> Figure | str:
    if change.measure in ("memory", "disk"):
        return figures.size(int(amount))
    return Figure(amount, "s" if change.measure in ("start", "shutdown") else "")
