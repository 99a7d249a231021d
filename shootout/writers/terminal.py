"""The terminal: the progress of a run, and the lines and tables of results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Literal, Self, TextIO

import rich.progress
import rich.table
from rich.console import Console, Group
from rich.live import Live
from rich.measure import Measurement
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from shootout import answer as answers
from shootout.answer import Answer, Mark, Topic
from shootout.characters import visible
from shootout.figures import duration
from shootout.model.run import Progress
from shootout.model.verdict import Verdict

BAR_WIDTH = 28  # characters
LOG_EVERY_S = 10.0  # between two lines of progress in a log, at least
LOG_WIDTH = 132  # columns, if the output is not a terminal
STYLES = {
    Verdict.REGRESSED: "bold red",
    Verdict.FAILED: "bold magenta",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNJUDGED: "dim",
    Verdict.EQUIVALENT: "green",
    Verdict.IMPROVED: "bold cyan",
}
WIDTH_MAX = 1000  # columns of a table; wider than any terminal


class Display:
    """A run's progress: live on a terminal; elsewhere a line per start, and at most one every LOG_EVERY_S."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._began_s = clock()
        self._next_s = self._began_s
        self._done = 0.0  # the share of the time that is over; it never goes back
        self._changes: tuple[str, ...] = ()
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
            say(self._console, progress.detail)
            return
        self._changes = progress.changes or self._changes
        extent = self._extent(now_s - self._began_s, progress.left_s)
        if self._live is not None:
            changes = (_text(f"  {change}") for change in self._changes)
            self._live.update(Group(self._line(_activity(progress), extent), *changes))
        elif now_s >= self._next_s or progress.stage == "changes":
            self._next_s = now_s + LOG_EVERY_S
            say(self._console, "; ".join(filter(None, (_activity(progress), extent))))

    def _extent(self, elapsed_s: float, left_s: float | None) -> str:
        """Say how much of the whole run is done and left; nothing where neither is known."""
        if left_s is not None:
            self._done = max(self._done, elapsed_s / max(elapsed_s + left_s, 1e-9))
        left = "" if left_s is None else f", ≤ {duration(left_s)} left"
        return f"{self._done:.0%} done{left}" if left or self._done else ""

    def _line(self, activity: str, extent: str) -> Text:
        if not extent:
            return _text(activity)
        filled = round(BAR_WIDTH * self._done)
        line = Text("━" * filled, style="cyan", no_wrap=True, overflow="ellipsis")
        line.append("─" * (BAR_WIDTH - filled), style="dim")
        line.append(f" {extent}  ", style="default")
        return line.append(visible(activity), style="dim")


def _activity(progress: Progress) -> str:
    if not progress.start:
        return f"preparing {progress.detail}"
    if not progress.block:
        doing = "" if progress.stage == "changes" else "starting "
        return f"start {progress.start}: {doing}{progress.detail}"
    where = f"start {progress.start}: {progress.block} ({progress.block_number}/{progress.blocks})"
    what = f"round {progress.round}/{progress.rounds}" if progress.rounds else f"warm-up {progress.round}"
    return f"{where}, {what}"


def console(file: TextIO) -> Console:
    """Open a console as wide as the terminal, or LOG_WIDTH if there is none."""
    return Console(file=file) if file.isatty() else Console(file=file, width=LOG_WIDTH)


def write(console: Console, answer: Answer) -> None:
    """Print an answer: its headline, if it has one, and its topics."""
    if answer.headline:
        console.print()
        say(console, answer.headline, "bold")
    if answer.conditions:
        say(console, answer.conditions)
    if answer.headline:
        console.print()
    for number, topic in enumerate(answers.shown(answer)):
        if number and not answer.headline:
            console.print()
        write_topic(console, topic)
        if answer.headline:
            console.print()


def write_topic(console: Console, topic: Topic) -> None:
    style = "magenta" if topic.is_problem else ""
    if topic.title:
        say(console, topic.title, "bold")
    for line in topic.lines:
        say(console, line, style)
    for point in topic.points:
        say(console, point.text)
        for item in (*point.items, *point.commands):
            say(console, f"  {item}")
    for table in topic.tables:
        _print_whole(console, _fields(table))
        if table.more:
            say(console, table.more)
    for command in topic.commands:
        say(console, f"  {command}")


def _fields(table: answers.Table) -> rich.table.Table:
    """The table, whose verdicts have their colours."""
    drawn = _empty(zip(table.columns, table.numeric, strict=True))
    for row in table.first:
        styles = (STYLES[field.verdict] if isinstance(field, Mark) else "" for field in row)
        texts = ("" if field is None else answers.text(field) for field in row)
        drawn.add_row(*map(_text, texts, styles))
    return drawn


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
            line.reset(task, description=visible(now))

        yield report


def say(console: Console, text: str, style: str = "") -> None:
    console.print(_text(text, style), soft_wrap=True)


def _text(text: str, style: str = "") -> Text:
    """Anything that is shown, as it is: without markup, and with control characters visible."""
    return Text(visible(text), style)


def _empty(columns: Iterable[tuple[str, bool]]) -> rich.table.Table:
    """A table of these columns, with whether each has numbers; without a header if none has a name."""
    named = [*columns]
    drawn = rich.table.Table(
        box=None, pad_edge=False, header_style="dim", show_header=any(name for name, _ in named), expand=False
    )
    for name, is_number in named:
        side: Literal["left", "right"] = "right" if is_number else "left"
        drawn.add_column(_text(name), justify=side, no_wrap=True)
    return drawn


def _print_whole(console: Console, table: rich.table.Table) -> None:
    """Print a table at full width: wrapped lines are readable, truncated numbers mislead."""
    table.width = Measurement.get(console, console.options.update(max_width=WIDTH_MAX), table).maximum
    console.print(table, crop=False)
