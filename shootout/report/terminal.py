"""Terminal output: the progress of a run, its verdicts as a table, and what other commands print."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import rich.progress
from rich.console import Console
from rich.live import Live
from rich.measure import Measurement
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from shootout import numbers
from shootout.analysis.explained import Explained
from shootout.learn.session import LearnedWorkload
from shootout.measure.session import Endpoint
from shootout.model.bisection import Answer
from shootout.model.crash import CrashDocument
from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.plan import Cell
from shootout.model.run import Progress
from shootout.model.soak import SoakResult
from shootout.model.verdict import CellComparison, ClaimResult, Comparison, Outcome, Verdict
from shootout.model.work import WorkComparison, WorkSeries
from shootout.report import bisection, crashes, explanation, soak, wording, work
from shootout.runner.doctor import Report
from shootout.servers.cache import Cleared, Contents, Entry
from shootout.servers.catalogue import Fetched, Offer

STYLES = {
    Verdict.REGRESSED: "bold red",
    Verdict.FAILED: "bold magenta",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNJUDGED: "dim",
    Verdict.EQUIVALENT: "green",
    Verdict.IMPROVED: "bold cyan",
}
OUTCOME_STYLES = {Outcome.HOLDS: "green", Outcome.FAILS: "bold red", Outcome.INCONCLUSIVE: "dim"}
OFFER_STYLES = {"ready": "green", "fetchable": "", "unavailable": "yellow"}
BAR_WIDTH = 28  # characters
LOG_EVERY_S = 10.0  # between two lines of progress in a log, at least
LOG_WIDTH = 132  # columns, if the output is not a terminal
PRINTED_WARNINGS = ("not-restarted", "not-visible")  # about servers, which the table has no room for
WIDTH_MAX = 1000  # columns of a table; wider than any terminal


class Display:
    """A run's progress: one live line on a terminal; elsewhere at most one line every LOG_EVERY_S."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._began_s = clock()
        self._next_s = self._began_s
        self._live = (
            Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        """Show the current progress; notes remain on the screen."""
        now_s = self._clock()
        if progress.stage == "note":
            _say(self._console, progress.detail)
        elif self._live is not None:
            self._live.update(_live_line(progress, now_s - self._began_s))
        elif now_s >= self._next_s:
            self._next_s = now_s + LOG_EVERY_S
            _say(self._console, _log_line(progress, now_s - self._began_s))


def _live_line(progress: Progress, elapsed_s: float) -> Text:
    """How much of the whole run is done and left, and what is being measured."""
    if progress.left_s is None:
        return Text(wording.visible(_activity(progress)))
    filled = round(BAR_WIDTH * _done(elapsed_s, progress.left_s))
    line = Text("━" * filled, style="cyan", no_wrap=True, overflow="ellipsis")
    line.append("─" * (BAR_WIDTH - filled), style="dim")
    line.append(f" {_extent(elapsed_s, progress.left_s)}  ", style="default")
    return line.append(wording.visible(_activity(progress)), style="dim")


def _log_line(progress: Progress, elapsed_s: float) -> str:
    if progress.left_s is None:
        return _activity(progress)
    return f"{_activity(progress)}; {_extent(elapsed_s, progress.left_s)}"


def _extent(elapsed_s: float, left_s: float) -> str:
    return f"{_done(elapsed_s, left_s):.0%} done, ≤ {wording.duration(left_s)} left"


def _done(elapsed_s: float, left_s: float) -> float:
    """The share of the run's time that is over."""
    return elapsed_s / max(elapsed_s + left_s, 1e-9)


def _activity(progress: Progress) -> str:
    if not progress.start:
        return f"preparing {progress.detail}"
    if not progress.block:
        return f"start {progress.start}: starting {progress.detail}"
    where = f"start {progress.start}: {progress.block} ({progress.block_number}/{progress.blocks})"
    what = f"round {progress.round}/{progress.rounds}" if progress.rounds else f"warm-up {progress.round}"
    known = progress.half_width
    precision = "" if known is None else f", ± {numbers.plain_percent(known)} so far"
    return f"{where}, {what}{precision}"


def verdict_table(comparison: Comparison) -> Table:
    """All cells that have a base, by block, with the base's throughput."""
    table = _table(*wording.VERDICT_COLUMNS)
    figures = {each.cell: each.figures for each in comparison.cells}
    absent = {server.label for server in comparison.header.servers if server.absent}  # a headline names them
    for each in comparison.cells:
        if each.cell.server in absent:
            continue
        if each.cell == each.base and each.verdict is not Verdict.FAILED and wording.heads(comparison):
            continue
        base = figures.get(each.base)
        table.add_row(
            Text(wording.visible(each.cell.workload)),
            str(each.cell.threads),
            Text(wording.visible(each.cell.server)),
            numbers.number(base.tps.estimate) if base else wording.NONE,
            numbers.number(each.figures.tps.estimate) if each.figures else wording.NONE,
            wording.decided_change(each),
            wording.decided_range(each),
            wording.detectable(each),
            Text(wording.verdict(each), style="dim" if each.acknowledged else STYLES[each.verdict]),
        )
    return table


def console(file: TextIO) -> Console:
    """A console as wide as the terminal, or LOG_WIDTH if there is none."""
    return Console(file=file) if file.isatty() else Console(file=file, width=LOG_WIDTH)


def print_conclusion(
    console: Console,
    comparison: Comparison,
    claims: Sequence[ClaimResult],
    document: Path,
    page: Path | None,
    *,
    more_starts: str | None,
) -> None:
    print_verdicts(console, comparison)
    print_claims(console, claims)
    _say(console, f"run document  {document}")
    print_report(console, page)
    if more_starts is not None:
        _say(console, f"more starts   {more_starts}")


def print_report(console: Console, page: Path | None) -> None:
    """Print where the report is; nothing if there is none."""
    if page is not None:
        _say(console, f"report        {page.as_uri()}")


def print_explanations(console: Console, explained: Iterable[Explained], out: Path) -> None:
    """Print what explains each change; `out`: the folder that commands name."""
    for found in explained:
        console.print()
        _say(console, explanation.title(found), "bold")
        for point in explanation.points(found, out):
            _say(console, point.text)
            for item in (*point.items, *point.commands):
                _say(console, f"  {item}")


def print_work(console: Console, comparison: WorkComparison) -> None:
    """Print the result, the table, and why counts are missing."""
    console.print()
    _say(console, work.headline(comparison), "bold")
    console.print()
    table = _table(*work.COLUMNS)
    for change in work.shown(comparison):
        *cells, verdict = map(wording.visible, work.row(change))
        table.add_row(*map(Text, cells), Text(verdict, style=STYLES[change.verdict]))
    _print_whole(console, table)
    for failure in work.failures(comparison):
        _say(console, failure, "magenta")
    console.print()


def print_learned(console: Console, outcome: LearnedWorkload) -> None:
    """Print how faithful a learned workload is, statement by statement, and what was left out."""
    learned, found = outcome.learned, outcome.fidelity
    console.print()
    _say(
        console,
        f"{100 * found.score:.1f} % of the log's statements are sent as often, with as many rows",
        "bold",
    )
    console.print()
    table = _table(
        "statement", "#log %", "#sent %", "#examined", "#sent", "#returned", "#sent", "as many rows"
    )
    for each in found.statements:
        rows = (each.examined, each.sent_examined, each.returned, each.sent_returned)
        cells = (
            each.name,
            f"{100 * each.share:.2f}",
            f"{100 * each.sent_share:.2f}",
            *(wording.NONE if value is None else numbers.grouped(value, 1) for value in rows),
            "yes" if each.faithful else "no",
        )
        table.add_row(*(Text(wording.visible(cell)) for cell in cells))
    _print_whole(console, table)
    console.print()
    for warning in learned.warnings:
        _say(console, f"warning       {warning}", "yellow")
    for left in learned.left_out:
        _say(console, f"left out      {left.statements} statements: {left.reason} {left.example}".rstrip())
    if lost := wording.lost(learned):
        _say(console, f"lost          {lost}")
    for statement in learned.statements:
        if statement.problem:
            _say(console, f"not parsed    {statement.name}: {statement.problem}")
    _say(console, f"workload      {outcome.workload}")


def print_soak(console: Console, result: SoakResult) -> None:
    """Print the result, the findings of each head, and what its server took differently."""
    console.print()
    _say(console, soak.headline(result), "bold")
    _say(console, soak.conditions(result.document.header), "dim")
    for each in result.comparisons:
        console.print()
        alone = each.base == each.head
        shown = (each.head,) if alone else (each.base, each.head, "difference")
        table = _table("finding", *shown, "verdict")
        styles = [STYLES[found.verdict] for found in each.findings]
        lines = [*soak.rows(result, each)]
        for cells, style in zip(lines, [""] * (len(lines) - len(styles)) + styles, strict=True):
            title, *values, verdict = (Text(wording.visible(cell)) for cell in cells)
            verdict.style = style
            table.add_row(title, *(values[1:2] if alone else values), verdict)
        _print_whole(console, table)
        if each.reason and each.findings:
            _say(console, each.reason, "magenta")
        for measure, base, head, change in soak.footprint(each):
            _say(console, f"{measure}: {base} on {each.base}, {head} on {each.head} ({change})")
    for failure in result.document.failures:
        _say(console, f"{failure.server}: {failure.reason}", "magenta")
    console.print()


def print_crashes(console: Console, document: CrashDocument, path: Path) -> None:
    """Print what was lost, and each server's crashes together."""
    console.print()
    _say(console, crashes.headline(document), "bold")
    console.print()
    table = _table(*crashes.COLUMNS)
    for cells in crashes.rows(document):
        table.add_row(*(Text(wording.visible(cell)) for cell in cells))
    _print_whole(console, table)
    for failure in document.failures:
        _say(console, f"{failure.server}: {failure.reason}", "magenta")
    _say(console, f"\ndocument      {path}")


def print_bisection(console: Console, answer: Answer, page: Path | None) -> None:
    """Print the answer, what is known of each revision, and where its page is."""
    console.print()
    _say(console, bisection.headline(answer), "bold")
    for step in bisection.steps(answer):
        _say(console, f"  {step}")
    console.print()
    table = _table(*bisection.COLUMNS)
    for found in bisection.shown(answer):
        style = "magenta" if found.reason else ""
        table.add_row(*(Text(wording.visible(cell), style=style) for cell in bisection.row(answer, found)))
    _print_whole(console, table)
    console.print()
    for note in bisection.notes(answer):
        _say(console, note)
    if command := bisection.why(answer):
        _say(console, f"why           {command}")
    print_report(console, page)


def print_claims(console: Console, results: Sequence[ClaimResult]) -> None:
    for each in results:
        line = f"{wording.OUTCOME_SYMBOLS[each.outcome]} {wording.finding(each)}"
        _say(console, line, OUTCOME_STYLES[each.outcome])
    if results:
        console.print()


def print_history(console: Console, found: Sequence[HistorySeries]) -> None:
    table = _table(
        "workload", "settings", "#threads", "server", "anchor", "#runs", "#first", "#newest", "change"
    )
    for each in found:
        changes = [_change_point(change) for change in each.changes] or [Text("none", style="dim")]
        table.add_row(
            Text(wording.visible(each.workload)),
            Text(wording.visible(each.settings)),
            str(each.threads),
            Text(wording.visible(each.server)),
            Text(wording.visible(each.anchor)),
            str(len(each.points)),
            wording.percent(each.points[0].ratio),
            wording.percent(each.points[-1].ratio),
            changes[0],
        )
        for more in changes[1:]:
            table.add_row(*[""] * 8, more)
    _print_whole(console, table)


def print_work_history(console: Console, found: Sequence[WorkSeries]) -> None:
    """Print how many instructions each kind of statement needed, and the steps of the bar or more."""
    table = _table("workload", "kind", "server", "#counts", "#first", "#newest", "steps")
    for each in found:
        steps = [f"{work.step(point)} in {point.run}" for point in each.steps] or ["none"]
        first, newest = (numbers.grouped(each.points[end].instructions, 0) for end in (0, -1))
        cells = (
            each.workload,
            each.kind,
            each.server,
            str(len(each.points)),
            first,
            newest,
            ", ".join(steps),
        )
        table.add_row(*(Text(wording.visible(cell)) for cell in cells))
    _print_whole(console, table)


def _change_point(change: ChangePoint) -> Text:
    worse = change.after < change.before
    size = wording.percent(change.after / change.before)
    state = "confirmed" if change.confirmed else "suspected"
    where = f"last good {change.last_good}, first {'bad' if worse else 'better'} {change.first_bad}"
    where += f"; commits {change.commits}" if change.commits else ""
    verdict = Verdict.REGRESSED if worse else Verdict.IMPROVED
    return Text(f"{wording.SYMBOLS[verdict]} {size}, {state}: {where}", style=STYLES[verdict])


@contextmanager
def fetching(console: Console) -> Iterator[Callable[[str], None]]:
    """Show what is being fetched and the elapsed time on a terminal; nothing elsewhere."""
    if not console.is_terminal:
        yield lambda now: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with rich.progress.Progress(*columns, console=console, transient=True) as line:
        task = line.add_task("", start=False)

        def report(now: str) -> None:
            line.reset(task, description=wording.visible(now))

        yield report


def print_servers(console: Console, offers: Sequence[Offer]) -> None:
    table = _table("server", "released", "edition", "state", "note")
    for offer in offers:
        style = OFFER_STYLES[offer.state]
        table.add_row(
            offer.id, offer.released, offer.edition, Text(_state(offer), style=style), Text(offer.note)
        )
    _print_whole(console, table)


def print_descriptions(console: Console, descriptions: Mapping[str, str]) -> None:
    """What comes with shootout, by name."""
    table = _table("name", "description")
    for name, description in descriptions.items():
        table.add_row(name, description)
    _print_whole(console, table)


def print_fetched(console: Console, fetched: Fetched) -> None:
    _say(console, f"{fetched.reference}  {fetched.family} {fetched.version}  {fetched.directory}")


def _state(offer: Offer) -> str:
    """`ready`, the client that can fetch the server, or what that requires."""
    if offer.state == "ready":
        return "ready"
    if offer.state == "fetchable":
        clients = [way.client for way in offer.ways if way.missing is None]
        return f"can be fetched with {clients[0]}" if clients[0] else "can be fetched"
    absent = [way.missing for way in offer.ways if way.missing is not None]
    return "; or ".join(
        f"needs {each.what}" + (f": {each.install}" if each.install else "") for each in absent
    )


def print_doctor(console: Console, report: Report) -> None:
    """Print the findings, the noise of A/A cells, and the power to detect losses."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in report.findings:
        sign = Text("✓", style="green") if finding.fit else Text("!", style="yellow")
        table.add_row(sign, finding.what, Text(wording.visible(finding.found)))
        if not finding.fit:
            table.add_row("", "", Text(wording.visible(finding.why), style="dim"))
        if not finding.fit and finding.mend:
            table.add_row("", "", Text(f"$ {wording.visible(finding.mend)}", style="cyan"))
    _print_whole(console, table)
    fingerprint = report.runner.fingerprint
    _say(console, f"\nrunner {fingerprint}; doctor changes nothing: run the commands yourself\n")
    if not report.noise:
        remedy = "run shootout doctor --calibrate or any larger run"
        _say(console, f"no A/A cells measured on this runner yet: {remedy}")
        return
    losses = tuple(report.noise[0].power)
    powers = (f"#detects −{100 * float(loss):g} %" for loss in losses)
    noise = _table("A/A cell", "dataset", "settings", "#threads", "#runs", "#spread per start", *powers)
    for each in report.noise:
        power = [f"{100 * each.power[loss]:.0f} %" for loss in losses]
        spread = numbers.percents(each.spread)
        names = map(wording.visible, (each.workload, each.dataset, each.settings or wording.NONE))
        noise.add_row(*map(Text, names), str(each.threads), str(each.runs), spread, *power)
    _print_whole(console, noise)
    known = report.false_alarms
    share = f"{numbers.percents(known.share.low)} to {numbers.percents(known.share.high)}"
    of_gates = f"{share} of gates of {wording.counted(known.comparisons, 'comparison')}"
    _say(console, f"\nfalse alarms: {known.alarms} in {known.cells} A/A cells ({of_gates})")
    if wanting := report.aa_cells_wanting:
        _say(
            console,
            f"until {wording.counted(wanting, 'more A/A cell')} show no false alarm, "
            "only confirmed regressions beyond the margin fail a gate",
        )


def print_cache(console: Console, contents: Contents) -> None:
    total, limit = wording.size(contents.total_bytes), wording.size(contents.limit_bytes)
    table = _table("kind", "content", "#size", "last used", "state")
    for entry in contents.entries:
        moment = wording.moment(entry.used.isoformat())
        size = wording.size(entry.size_bytes)
        table.add_row(entry.kind, Text(wording.visible(_content(entry))), size, moment, entry.state)
    if contents.entries:
        _print_whole(console, table)
    console.print(f"{total} of {limit}", highlight=False)


def print_cleared(console: Console, cleared: Cleared) -> None:
    """Print the entries still in use, and how much space was freed."""
    for entry in cleared.kept:
        _say(console, f"in use, not removed: {entry.kind} {_content(entry)}")
    count = len(cleared.removed)
    entries = "1 entry" if count == 1 else f"{count} entries"
    console.print(f"removed {entries}, {wording.size(cleared.freed_bytes)} freed", highlight=False)


def print_access(console: Console, server: str, access: Endpoint) -> None:
    lines = {
        "server": f"{server}, version {access.version}, running until Ctrl-C",
        "client": access.command,
        "socket": access.socket,
        "address": f"{access.host}:{access.port}",
        "user": access.user,
        "password": access.password,
        "error log": access.error_log,
    }
    width = max(map(len, lines))
    for name, value in lines.items():
        _say(console, f"{name:{width}}  {value}")


def _content(entry: Entry) -> str:
    """An entry's content; its name if the content is unknown."""
    return f"{entry.server}: {', '.join(entry.datasets)}" if entry.datasets else entry.name


def _say(console: Console, text: str, style: str = "") -> None:
    """Print text as it is; long lines stay whole."""
    console.print(Text(wording.visible(text), style=style), soft_wrap=True)


def _table(*columns: str) -> Table:
    """An empty table; `#` before a column's name: numbers, aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    for name in columns:
        table.add_column(
            name.removeprefix("#"), justify="right" if name.startswith("#") else "left", no_wrap=True
        )
    return table


def _print_whole(console: Console, table: Table) -> None:
    """Print a table at full width: wrapped lines are readable, truncated numbers mislead."""
    table.width = Measurement.get(console, console.options.update(max_width=WIDTH_MAX), table).maximum
    console.print(table, crop=False)


def print_verdicts(console: Console, comparison: Comparison) -> None:
    """Print the headlines, the table, the reason of each failed cell, and which cells were not measured."""
    console.print()
    for headline in wording.headlines(comparison):
        console.print(Text(wording.visible(headline.text), style="bold"))
    if load := wording.conditions(comparison.header):
        _say(console, f"load: {load}")
    for line in (wording.setup(comparison), *wording.setting_differences(comparison)):
        _say(console, line)
    console.print()
    _print_whole(console, verdict_table(comparison))
    for server in comparison.header.servers:
        for warning in server.warnings:
            if warning.code in PRINTED_WARNINGS:
                _say(console, f"{server.label}: {warning.text}", "dim")
    unjudged = [each for each in comparison.cells if each.verdict is Verdict.UNJUDGED and each.figures]
    for why in dict.fromkeys(each.reason for each in unjudged if each.cell != each.base):
        _say(console, f"unjudged: {why}", "dim")
    for cell in wording.worst_first(comparison.cells):
        _print_causes(console, cell)
    if more := wording.remaining(comparison):
        _say(console, more)
    if standing := wording.standing(comparison):
        _say(console, standing, "yellow")
    for failure in wording.failures(comparison):
        console.print()
        _say(console, failure, "magenta")
    for line in wording.unmeasured(comparison):
        _say(console, line, "magenta")
    console.print()


def _print_causes(console: Console, cell: CellComparison) -> None:
    """The two that explain most of a cell's change, unless it is an improvement."""
    name = _name(cell.cell)
    if cell.verdict is Verdict.REGRESSED and not cell.causes:
        _say(console, f"No cause found, {name}; `shootout explain` looks further", "dim")
    if cell.causes and cell.verdict is not Verdict.IMPROVED:
        causes = "; ".join(map(wording.cause, cell.causes[:2]))
        _say(console, f"{wording.causes_title(cell)}, {name}: {causes}", "dim")


def _name(cell: Cell) -> str:
    return f"{cell.workload}, {wording.threads(cell.threads)}, {cell.server}"
