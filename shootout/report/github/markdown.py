"""Verdicts on GitHub: Markdown for step summaries and comments, and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from shootout import numbers
from shootout.analysis import gate
from shootout.model.plan import Cell
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.report import wording
from shootout.report.sections import Section
from shootout.report.wording import escaped

Sections = Mapping[Cell, Sequence[Section]]  # what capabilities found out about cells
NO_SECTIONS: Sections = {}

MARKER = "<!-- shootout: verdicts -->"  # starts the one comment of a pull request
COMMENT_MAX = 60_000  # characters; GitHub takes 65 536
ANNOTATIONS_MAX = 10  # per step: GitHub shows no more
_ANNOTATED = (Verdict.REGRESSED, Verdict.FAILED)


def summary(comparison: Comparison, sections: Sections = NO_SECTIONS) -> str:
    """The headlines, a table of all cells that have a base, and why cells failed, regressed or lack."""
    return "\n".join(_lines(comparison, sections)) + "\n"


def comment(summaries: Iterable[str], link: str | None = None) -> str:
    """A pull request's comment: all runs' summaries, truncated to GitHub's limit; `link`: the report."""
    text = "\n".join([MARKER, *summaries])
    if len(text) > COMMENT_MAX:
        text = (
            text[: text.rindex("\n", 0, COMMENT_MAX)] + "\n\n… truncated to the length that GitHub allows.\n"
        )
    return text if link is None else f"{text}\n[The full report]({link})\n"


def annotate(comparison: Comparison) -> Iterator[str]:
    """Workflow commands that annotate regressions and failures, worst first."""
    annotated = [each for each in wording.worst_first(comparison.cells) if each.verdict in _ANNOTATED]
    shown = annotated if len(annotated) <= ANNOTATIONS_MAX else annotated[: ANNOTATIONS_MAX - 1]
    for each in shown:
        fails = each.verdict is Verdict.FAILED or gate.counts(each, comparison)
        level = "notice" if each.acknowledged else "error" if fails else "warning"
        title = f"{wording.verdict(each)}: {each.cell.workload}, {wording.threads(each.cell.threads)}"
        text = f"{each.cell.server}: {each.reason}"
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


def code(text: str) -> Iterator[str]:
    """A code block that `text` cannot close."""
    fence = _fence(text, 3)
    yield from (fence, wording.visible(text), fence)


def span(text: str) -> str:
    """Code within a line, which can be copied as it is; `text` cannot close it."""
    fence = _fence(text, 1)
    return f"{fence} {wording.visible(text)} {fence}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def _data(text: str) -> str:
    """The message of a workflow command, escaped as runners expect."""
    line = wording.visible(text.replace("\n", " ⏎ "))
    return line.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _lines(comparison: Comparison, sections: Sections) -> Iterator[str]:
    for headline in wording.headlines(comparison):
        yield f"**{escaped(headline.text)}**"
        yield ""
    if standing := wording.standing(comparison):
        yield escaped(standing)
        yield ""
    yield from wording.table_head(wording.VERDICT_COLUMNS)
    figures = {each.cell: each.figures for each in comparison.cells}
    compared = [each for each in comparison.cells if each.cell != each.base or each.verdict is Verdict.FAILED]
    for each in wording.worst_first(compared):
        base = figures.get(each.base)
        cells = (
            escaped(each.cell.workload),
            str(each.cell.threads),
            escaped(each.cell.server),
            numbers.number(base.tps.estimate) if base else wording.NONE,
            numbers.number(each.figures.tps.estimate) if each.figures else wording.NONE,
            wording.decided_change(each),
            wording.decided_range(each),
            wording.detectable(each),
            wording.verdict(each),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    for each in wording.worst_first(compared):
        if each.verdict is Verdict.REGRESSED:
            yield f"- {_place(each)}: {escaped(each.reason)}"
            yield from (f"  - {escaped(wording.cause(cause))}" for cause in each.causes[:3])
    yield from (f"- {escaped(failure)}" for failure in wording.failures(comparison))
    yield from (f"- {escaped(line)}" for line in wording.unmeasured(comparison))
    for section in chain.from_iterable(sections.values()):
        yield f"- Why: {escaped(section.title)}"
        for point in section.points:
            yield f"  - {escaped(point.text)}"
            yield from (f"    - {escaped(item)}" for item in point.items)
            yield from (f"    - {span(command)}" for command in point.commands)


def _place(each: CellComparison) -> str:
    return f"{escaped(each.cell.workload)}, {wording.threads(each.cell.threads)}, {escaped(each.cell.server)}"
