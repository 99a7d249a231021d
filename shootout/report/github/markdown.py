"""A run in Markdown, for step summaries and the comment of a pull request; and annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from shootout.analysis import gate
from shootout.characters import visible
from shootout.figures import threads
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.report import circumstances, headlines, next_steps, wording
from shootout.report.github.request import BEFORE, MARKER, WAITING
from shootout.report.sections import NO_SECTIONS, Sections
from shootout.writers.markdown import code, escaped, folded, points, span, table

ROWS_SHOWN = 6  # of the table of verdicts; the others are folded
COMMENT_MAX = 60_000  # characters; GitHub takes 65 536
ANNOTATIONS_MAX = 10  # per step: GitHub shows no more
_ANNOTATED = (Verdict.REGRESSED, Verdict.FAILED)


def summary(comparison: Comparison, sections: Sections = NO_SECTIONS) -> str:
    """The headlines, a table of all cells that have a base, and why cells failed, regressed or lack."""
    return "\n".join(_lines(comparison, sections)) + "\n"


def _lines(comparison: Comparison, sections: Sections) -> Iterator[str]:
    for headline in headlines.of_heads(comparison):
        yield f"**{escaped(headline.text)}**"
        yield ""
    yield escaped(circumstances.setup(comparison))
    yield ""
    for remark in circumstances.remarks(comparison):
        yield from (escaped(remark), "")
    if standing := wording.explain_gate(comparison):
        yield escaped(standing)
        yield ""
    if (worst := next_steps.worst(comparison)) is not None:
        yield from _first(comparison, worst, sections)
    compared = wording.worst_first(
        [c for c in comparison.cells if c.cell != c.base or c.verdict is Verdict.FAILED]
    )
    rows = [*wording.verdict_rows(compared)]
    columns: Sequence[str] = wording.VERDICT_COLUMNS
    if len({c.cell.server for c in compared}) == 1:  # whom the headline names; else the verdict is cut off
        columns, rows = (*columns[:2], *columns[3:]), [(*row[:2], *row[3:]) for row in rows]
    yield from table(columns, rows[:ROWS_SHOWN])
    yield ""
    if len(rows) > ROWS_SHOWN:
        more = table(columns, rows[ROWS_SHOWN:])
        yield from folded(f"{len(rows) - ROWS_SHOWN} more cells", more)
    if others := [c for c in compared if c.verdict is Verdict.REGRESSED and c is not worst]:
        lines = chain.from_iterable(_regression(comparison, c, sections) for c in others)
        yield from folded(f"{len(others)} more {'regressions' if len(others) > 1 else 'regression'}", lines)
    yield from (f"- {escaped(failure)}" for failure in wording.failures(comparison))
    yield from (f"- {escaped(line)}" for line in wording.unmeasured(comparison))
    for section in chain.from_iterable(sections.values()):
        yield from folded(f"Why: {section.title}", points(section.points))


def _first(comparison: Comparison, c: CellComparison, sections: Sections) -> Iterator[str]:
    """A regression, and what follows it."""
    steps = next_steps.steps_after(comparison, c)
    yield from _regression(comparison, c, sections)
    yield f"  - Compared: {escaped(steps.compared)}"
    yield f"  - Measure it again: {span(steps.again)}"
    yield ""
    yield from folded(f"Acknowledge it, in {next_steps.FILE}", code(steps.acknowledgement))


def _regression(comparison: Comparison, c: CellComparison, sections: Sections) -> Iterator[str]:
    place = f"{escaped(c.cell.workload)}, {threads(c.cell.threads)}, {escaped(c.cell.server)}"
    yield f"- {place}: {escaped(wording.change_sentence(c))}"
    yield f"  - {escaped(c.reason)}"
    title, causes, command = wording.leading_causes(c, sections.get(c.cell, ()), comparison.header.run)
    yield from (f"  - {escaped(f'{title}: {cause}')}" for cause in causes)
    if command:
        yield f"  - {title}: {span(command)}"


def comment(summaries: Iterable[str], into: str, link: str | None = None) -> str:
    """A pull request's comment: all runs' summaries, truncated to GitHub's limit.

    `into`: the branch that it is to be merged into; `link`: the report.
    """
    text = "\n".join([MARKER, *summaries])
    if len(text) > COMMENT_MAX:
        text = (
            text[: text.rindex("\n", 0, COMMENT_MAX)] + "\n\n… truncated to the length that GitHub allows.\n"
        )
    report = "" if link is None else f" [The full report]({link})"
    return f"{text}\nMeasured as merged into {escaped(into)}.{report}\n"


def beside(old: str, new: str, run: str) -> str:
    """What replaces a comment when that run ended: `new`, below the announcement of another run."""
    announced, before, _ = old.partition(BEFORE)
    if not before or WAITING.format(run) in announced:
        return new
    return announced + before + new.removeprefix(MARKER)


def annotate(comparison: Comparison) -> Iterator[str]:
    """Workflow commands that annotate regressions and failures, worst first."""
    annotated = [c for c in wording.worst_first(comparison.cells) if c.verdict in _ANNOTATED]
    shown = annotated if len(annotated) <= ANNOTATIONS_MAX else annotated[: ANNOTATIONS_MAX - 1]
    for c in shown:
        fails = c.verdict is Verdict.FAILED or gate.counts(c, comparison)
        level = "notice" if c.acknowledged else "error" if fails else "warning"
        title = f"{wording.verdict(c)}: {c.cell.workload}, {threads(c.cell.threads)}"
        text = f"{c.cell.server}: {'. '.join(filter(None, (wording.change_sentence(c), c.reason)))}"
        yield f"::{level} title={_property(title)}::{_data(text)}"
    if more := len(annotated) - len(shown):
        yield f"::warning title={more} more cells::The job's summary lists all that regressed or failed."


def refusal(link: str | None = None) -> str:
    """The comment on a pull request that changes workflows, in place of its verdicts."""
    text = (
        f"{MARKER}\n**No verdicts are shown here: this pull request changes files under `.github`.** "
        "So its gate may not be the one of the default branch, and its run document may be forged. "
        "Reviewers find what it measured in the run.\n"
    )
    return text if link is None else f"{text}\n[The run]({link})\n"


def _data(text: str) -> str:
    """The message of a workflow command, escaped as runners expect."""
    line = visible(text.replace("\n", " ⏎ "))
    return line.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
