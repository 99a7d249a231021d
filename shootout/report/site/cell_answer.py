"""The answer of a cell: everything beside its verdict, from the starts that the verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from shootout import figures
from shootout.analysis import metrics, pairs, stats
from shootout.analysis.histograms import merged
from shootout.analysis.stats import STARTS_MIN
from shootout.analysis.warnings import RETRIED
from shootout.answer import (
    SEEN,
    Answer,
    Detail,
    Drawn,
    Field,
    Figure,
    Link,
    Point,
    Range,
    Table,
    Topic,
    beside,
    factor,
    filled,
    joined,
)
from shootout.chart import Series
from shootout.figures import NOT_VISIBLE
from shootout.model.plan import Cell, block_key
from shootout.model.run import FLUSH_S, FLUSHES, Samples
from shootout.model.verdict import CellComparison, CellFigures, MetricComparison, Verdict
from shootout.numbers import percents
from shootout.report import commands, run_answer, wording
from shootout.report.site import charts
from shootout.report.site.names import runner_page
from shootout.report.site.run import Run
from shootout.settings.differences import called

SERVER_CPU = "server CPU, µs"
# Counted by the server's kernel.
HOST_FIGURES = (SERVER_CPU, "context_switches", "disk_written_bytes", "run_queue_s", FLUSHES, FLUSH_S)
LATENCIES = {
    "min_s": "fastest", "p50_s": "50 %", "mean_s": "mean", "p95_s": "95 %", "p99_s": "99 %",
    "p999_s": "99.9 %", "max_s": "slowest",
}  # fmt: skip
UNITS = {"s": ("ms", 1e3), "bytes": ("bytes", 1.0), "": ("", 1.0)}
RARE = 0.001  # per transaction: the change of what is rarer says little
ERRORS = RETRIED | {
    "1040": "too many connections",
    "1053": "server shutting down",
    "1317": "interrupted",
    "2002": "server not reached",
    "2003": "server not reached",
    "2013": "connection lost",
}
DOTS = (
    "Each dot is one fresh start of both servers. The coloured band is the interval over all starts; the "
    "grey band is the margin."
)
GAPS = "Starts are numbered over the whole run; those not listed measured other cells, or were not steady."
MEANS = (
    "Base and head are means over starts; a change comes from the starts' own changes, so their quotient may "
    "differ."
)
Starts = tuple[tuple[int, Samples], ...]


@dataclass(frozen=True)
class Evidence:
    """A cell, with what was measured of it and of its base."""

    run: Run
    c: CellComparison

    @property
    def base(self) -> Cell | None:
        """The cell it is compared with; None if it is a base itself."""
        return None if self.c.cell == self.c.base or self.c.base not in self.run.cells else self.c.base

    @cached_property
    def both(self) -> tuple[tuple[Series, Starts, CellFigures | None], ...]:
        """The series, samples and figures of the base, if there is one, and of the cell."""
        sides = [(self.base, self.c.base_figures)] if self.base else []
        return tuple(
            (self.run.series[cell.server], self.run.samples(cell), of)
            for cell, of in (*sides, (self.c.cell, self.c.figures))
        )

    @property
    def legend(self) -> tuple[Series, ...]:
        return tuple(series for series, _, _ in self.both)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(series.label for series in self.legend)

    @cached_property
    def changes(self) -> dict[int, float]:
        """Each start's change, head / base, by its number; none of a failed cell."""
        base, head = (dict(starts) for _, starts, _ in (self.both[0], self.both[-1]))
        starts = pairs.log_ratios(base, head) if self.base else {}
        return dict(zip(starts, self.c.per_start, strict=False))

    @property
    def left_out(self) -> str:
        """The starts that no figure is of, except those of statements' latencies; empty: none."""
        numbers = sorted({start for _, _, of in self.both if of for start in of.left_out})
        if not numbers:
            return ""
        every = ", ".join(map(str, numbers))
        return f"Not steady, and left out of the verdict and its figures: start {every}."


def answer(of: Evidence) -> Answer:
    """Say everything of a cell that its verdict does not."""
    c = of.c
    return Answer(
        name=run_answer.name(c),
        headline=wording.sentence(c, of.run.comparison.policy, alone=not of.run.heads),
        topics=joined(
            (
                _failure(of), _starts(of), _causes(c),
                *chain.from_iterable(section.topics for section in of.run.sections.get(c.cell, ())),
                _metrics(of), _statement_times(of), _slices(of), _latency(of), _statements(of), _costs(of),
                _counters(of), _settings(of), _machine(of),
                _again(of),
            )
        ),
    )  # fmt: skip


def placed(topics: tuple[Topic, ...]) -> Iterator[tuple[str, Topic]]:
    """Give each topic its place on the page: its title."""
    seen: dict[str, int] = {}
    for topic in topics:
        place = topic.title.lower().replace(" ", "-") or "topic"
        seen[place] = seen.get(place, 0) + 1
        yield place if seen[place] == 1 else f"{place}-{seen[place]}", topic


def _failure(of: Evidence) -> Topic | None:
    failures = [(f"Start {failure.start}", failure.reason) for failure in of.run.failures(of.c.cell)]
    if not failures and "\n" in of.c.reason:
        failures = [("Why", of.c.reason)]
    if not failures:
        return None
    details = tuple(Detail(title, ((of.c.cell.server, reason),), open=True) for title, reason in failures)
    return Topic("Failure", details=details)


def _starts(of: Evidence) -> Topic | None:
    c, policy = of.c, of.run.comparison.policy
    if not c.per_start:
        return None
    key = block_key(c.cell.workload, c.cell.threads)
    confirming = {s.start for s in of.run.document.starts if s.block == key and s.confirming}
    fresh = ", ".join(str(start) for start in of.changes if start in confirming)
    chart = charts.per_start(c, [*of.changes], policy, of.run.series[c.cell.server])
    said = [DOTS] if chart else []
    if chart and fresh:
        said.append(f"Starts made to confirm the change: {fresh}.")
    if chart and [*of.changes] != [*range(1, len(of.changes) + 1)]:
        said.append(GAPS)
    if len(c.per_start) >= STARTS_MIN:
        logs = [math.log(ratio) for ratio in c.per_start]
        plain = factor(stats.over_starts(logs, policy.confidence).ratio)
        said.append(f"Student’s interval over these starts alone: {plain.range}.")
    if run_answer.is_apart(c):
        said.append(f"{run_answer.APART}.")
    label = "Change in throughput by start, with the interval; the table next to it has the numbers"
    rows = tuple((Figure(start, places=0), factor(ratio)) for start, ratio in of.changes.items())
    return Topic(
        "Change by start",
        tuple(said),
        (Table(("start", "change"), rows, f"Throughput against {c.base.server}", sortable=True),),
        charts=(Drawn(chart, label),) if chart else (),
        is_paired=True,
    )


def _causes(c: CellComparison) -> Topic | None:
    if not c.causes:
        return None
    about = (
        "Statements, CPU time and counters describe the same time in different ways, so these shares overlap."
    )
    lines = (about,) if len(c.causes) > 1 else ()
    return Topic(wording.causes_title(c), lines, points=tuple(map(Point, wording.causes(c))))


def _metrics(of: Evidence) -> Topic | None:
    c = of.c
    detectable = c.judged[0].detectable if c.judged else None
    if not c.metrics and detectable is None:
        return None
    said = []
    if detectable is not None:
        said = [f"Four out of five such runs would have flagged a loss of {percents(detectable)} or more."]
    heads = [_measured(of, each) for each in c.metrics]
    rows = tuple(map(_metric, c.metrics, heads))
    printed = [factor(each.ratio) if each.ratio else None for each in c.metrics]
    quotients = [head / each.base if each.base else 0.0 for each, head in zip(c.metrics, heads, strict=True)]
    if any(by and str(replace(by, value=q)) != str(by) for by, q in zip(printed, quotients, strict=True)):
        said.append(MEANS)
    columns = ("metric", "base", "head", "change", "interval", "p")
    caption = "Latencies, and cost per transaction; p is corrected for the number of metrics"
    return Topic(
        "Changes by metric",
        tuple(said),
        (Table(columns, rows, caption, sortable=True),) if rows else (),
    )


def _measured(of: Evidence, metric: MetricComparison) -> float:
    """The head's mean over starts, which the comparison's estimate is not."""
    _, starts, figures_ = of.both[-1]
    source, left_out = metrics.BY_NAME[metric.name].source, figures_.left_out if figures_ else ()
    values = [source(samples) for start, samples in starts if start not in left_out] if source else []
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else metric.head


def _metric(each: MetricComparison, head: float) -> tuple[Field, ...]:
    metric = metrics.BY_NAME[each.name]
    unit, scale = ("µs", 1e6) if each.name == "server_cpu" else UNITS[metric.unit]
    title = f"{metric.title}, background included" if metric.background else metric.title
    judged = None if each.ratio is None else factor(each.ratio)
    return (
        f"{title}, {unit}" if unit else title, *beside(each.base * scale, head * scale, seen=SEEN / 10),
        judged, judged and Range(judged), figures.p_value(each.p_value),
    )  # fmt: skip


def _statement_times(of: Evidence) -> Topic | None:
    rows = []
    for each in of.c.statements:
        by_s = each.difference_s
        by = Figure(by_s.estimate * 1000, form="signed", low=by_s.low * 1000, high=by_s.high * 1000)
        rows.append((each.kind, *beside(each.base_s * 1000, each.head_s * 1000), by, Range(by)))
    if not rows:
        return None
    columns = ("statement", "base, ms", "head, ms", "difference, ms", "interval, ms")
    caption = "A transaction's time by statement, largest change first"
    return Topic("Time by statement", tables=(Table(columns, tuple(rows), caption, sortable=True),))


def _slices(of: Evidence) -> Topic | None:
    chart = charts.slices([(series, starts) for series, starts, _ in of.both])
    if chart is None:
        return None
    label = "Throughput of every round in order of starts"
    lines = tuple(filter(None, (of.left_out,)))
    return Topic("Slices over time", lines, charts=(Drawn(chart, label, legend=of.legend),))


def _latency(of: Evidence) -> Topic | None:
    if of.c.figures is None and of.c.base_figures is None:
        return None
    histograms = [
        (series, merged(tuple(s.latencies for start, s in starts if start not in left_out)))
        for series, starts, figures_ in of.both
        for left_out in [figures_.left_out if figures_ else ()]
        if starts
    ]
    chart = charts.latencies(histograms)
    label = "Distribution of transaction latencies; the table next to it has the percentiles"
    rows = _compared(
        of, lambda f: {title: 1000 * getattr(f.latency, field) for field, title in LATENCIES.items()}
    )
    return Topic(
        "Latency",
        tables=(_table(of, "statistic", rows, "Transaction latency, milliseconds"),),
        charts=(Drawn(chart, label, legend=of.legend),) if chart else (),
        is_paired=True,
    )


def _statements(of: Evidence) -> Topic | None:
    *theirs, here = ({} if f is None else f.statements for _, _, f in of.both)
    rows: list[tuple[Field, ...]] = []
    for kind, mine in here.items():
        base = theirs[0].get(kind) if theirs else None
        means = beside(base.mean_s * 1000 if base else None, mine.mean_s * 1000)
        tails = beside(base.p95_s * 1000 if base else None, mine.p95_s * 1000)
        ratio = factor(mine.mean_s / base.mean_s) if base and base.mean_s else None
        others = (Figure(mine.p99_s * 1000), Figure(mine.max_s * 1000))
        rows.append((kind, Figure(mine.count, places=0), *means, ratio, *tails, *others))
    if not rows:
        return None
    columns = ("statement", "count", "mean, base", "mean", "change", "95 %, base", "95 %", "99 %", "slowest")
    more = ", over all starts, including those that all other figures leave out" if of.left_out else ""
    table = Table(columns, tuple(rows), f"Statement latency, milliseconds{more}", sortable=True)
    return Topic("Latency by kind of statement", tables=(filled(table),))


class Row(NamedTuple):
    """A figure of a cell and of its base."""

    name: str
    base: float | None
    here: float | None
    base_hidden: bool  # unknown rather than absent: counted on a host not visible from the runner
    here_hidden: bool

    @property
    def fields(self) -> tuple[Field, ...]:
        base, here = beside(self.base, self.here)
        new = "new" if self.here and self.base is None and not self.base_hidden else None
        by = factor(self.here / self.base) if self.here is not None and self.base else new
        return NOT_VISIBLE if self.base_hidden else base, NOT_VISIBLE if self.here_hidden else here, by

    @property
    def weight(self) -> float:
        return abs(math.log((max(self.here or 0, 0) + RARE) / (max(self.base or 0, 0) + RARE)))


def _compared(of: Evidence, figures_of: Callable[[CellFigures], Mapping[str, float | None]]) -> list[Row]:
    there, here = ({} if f is None else figures_of(f) for f in (of.c.base_figures, of.c.figures))

    def hidden(side: Mapping[str, float | None], name: str) -> bool:
        return name in HOST_FIGURES and bool(side) and side.get(name) is None

    return [
        Row(name, there.get(name), here.get(name), hidden(there, name), hidden(here, name))
        for name in dict.fromkeys((*here, *there))
    ]


def _table(of: Evidence, first: str, rows: list[Row], caption: str) -> Table:
    columns = (first, *of.columns, *(("change",) if of.base else ()))
    fields = ((row.name, *(row.fields if of.base else row.fields[1:2])) for row in rows)
    return Table(columns, tuple(fields), caption, sortable=True)


def _costs(of: Evidence) -> Topic | None:
    if of.c.figures is None:
        return None
    judged = {metric.name for metric in of.c.metrics}
    rows = _compared(of, lambda f: ({} if "server_cpu" in judged else {
        SERVER_CPU: None if f.server_cpu_s is None else f.server_cpu_s * 1e6,
    }) | {
        "client CPU, µs": f.client_cpu_s * 1e6,
        "reads": f.reads,
        "writes": f.writes,
        "other statements": f.other,
    })  # fmt: skip
    listed: list[tuple[Field, ...]] = []
    for row in _compared(of, lambda f: f.errors):
        name = f"{row.name} {ERRORS.get(row.name, '')}".rstrip()
        counts = (row.base, row.here) if of.base else (row.here,)
        listed.append((name, *(Figure(count or 0, places=0) for count in counts)))
    none = "No transaction was retried, and no connection was lost."
    caption = "Transactions rolled back and retried, and lost connections"
    return Topic(
        "Cost of a transaction",
        () if listed else (none,),
        (
            _table(of, "cost", rows, "Per transaction"),
            Table(("error", *of.columns), tuple(listed), caption, sortable=True),
        ),
        is_paired=bool(listed),
    )


def _counters(of: Evidence) -> Topic | None:
    rows = _compared(of, lambda f: f.counters)
    if not rows:
        return None
    rows.sort(key=lambda row: (-row.weight if of.base else 0, row.name))
    caption = f"The server's counters per transaction{', largest change first' if of.base else ''}"
    return Topic("Counters", tables=(_table(of, "counter", rows, caption),))


def _settings(of: Evidence) -> Topic:
    here = of.run.servers[of.c.cell.server]
    base = of.run.servers[of.base.server] if of.base else here
    theirs = {setting.name: setting.effective for setting in base.settings}
    others = [
        called(setting.name, here, base)
        for setting in here.settings
        if setting.differs or setting.lacking or theirs.get(setting.name) != setting.effective
    ]
    than = f"the request{' or from the base' if of.base else ''}"
    said = (
        f"{figures.counted(len(others), 'setting')} of {here.label} differ from {than}: {', '.join(others)}."
    )
    if not others:
        said = f"All settings are as requested{' and the same as on the base' if of.base else ''}."
    link = Link("All settings side by side", f"{of.run.folder}/settings.html")
    return Topic("Settings", (said,), links=(link,))


def _machine(of: Evidence) -> Topic | None:
    runner = of.run.document.header.runner_of(of.c.cell)
    if runner is None or len(of.run.machines) == 1:
        return None
    fingerprint = Link(runner.fingerprint, runner_page(runner.fingerprint))
    return Topic("Machine", facts=(("Processor", runner.cpu), ("Fingerprint", fingerprint)))


def _again(of: Evidence) -> Topic | None:
    if of.c.verdict is Verdict.REGRESSED:
        return None
    command = commands.measure_again(of.run.document.header, of.c.base.server, of.c.cell)
    return Topic("Measure it again", commands=(command,))
