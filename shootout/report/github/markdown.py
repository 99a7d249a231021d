"""A run on GitHub: its verdicts in Markdown, for a step summary or a comment, and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shootout import numbers
from shootout.analysis import compare
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.report import wording

# Characters that could start markup, a mention or an issue reference, and the bar of tables.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#!|~@&:$^])")

MARKER = "<!-- shootout: verdicts -->"  # starts the one comment of a pull request
COMMENT_MAX = 60_000  # characters; GitHub takes 65 536
ANNOTATIONS_MAX = 10  # for each step: GitHub shows no more
_MARKED = (Verdict.REGRESSED, Verdict.FAILED)


def escaped(text: str) -> str:
    """Any text on one line, with nothing in it that acts as markup, a link or a mention."""
    one_line = " ".join(wording.visible(text).split())
    return _ACTIVE.sub(lambda found: f"&#{ord(found[1])};", one_line)


def summary(comparison: Comparison) -> str:
    """The headlines, a table of every cell that has a base, and the reasons of failures and regressions."""
    return "\n".join(_lines(comparison)) + "\n"


def comment(comparisons: Sequence[Comparison], link: str | None = None) -> str:
    """A pull request's comment: each run's summary, cut to GitHub's limit; `link`: the report."""
    text = "\n".join([MARKER, *(summary(each) for each in comparisons)])
    if len(text) > COMMENT_MAX:
        text = text[: text.rindex("\n", 0, COMMENT_MAX)] + "\n\n… cut: a comment has no room for more.\n"
    return text if link is None else f"{text}\n[The full report]({link})\n"


def marks(comparison: Comparison) -> Iterator[str]:
    """Workflow commands that annotate regressions and failures, worst first."""
    regressed = "warning" if compare.advisory(comparison) else "error"
    marked = [each for each in wording.worst_first(comparison.cells) if each.verdict in _MARKED]
    for each in marked[:ANNOTATIONS_MAX]:
        failed = each.verdict is Verdict.FAILED
        level = "notice" if each.acknowledged else "error" if failed else regressed
        title = f"{wording.verdict(each)}: {each.cell.workload}, {wording.threads(each.cell.threads)}"
        text = f"{each.cell.server}: {each.reason}"
        yield f"::{level} title={_property(title)}::{_data(text)}"


def code(text: str) -> Iterator[str]:
    """A code block that nothing in `text` can close."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    yield from (fence, wording.visible(text), fence)


def _data(text: str) -> str:
    """The message of a workflow command, escaped as runners expect."""
    shown = wording.visible(text.replace("\n", " ⏎ "))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _lines(comparison: Comparison) -> Iterator[str]:
    for headline in wording.headlines(comparison):
        yield f"**{escaped(headline.text)}**"
        yield ""
    if advice := wording.advice(comparison):
        yield escaped(advice)
        yield ""
    yield "| workload | threads | server | base, tps | tps | change | interval | detectable | verdict |"
    yield "|---|--:|---|--:|--:|--:|---|--:|---|"
    figures = {each.cell: each.figures for each in comparison.cells}
    shown = [each for each in comparison.cells if each.cell != each.base or each.verdict is Verdict.FAILED]
    for each in wording.worst_first(shown):
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
    for curve in wording.curves(comparison):
        yield f"- {escaped(curve)}"
    for each in wording.worst_first(shown):
        if each.verdict in (Verdict.REGRESSED, Verdict.FAILED):
            yield f"- {_place(each)}: {escaped(each.reason)}"
            for cause in each.causes[:3] if each.verdict is Verdict.REGRESSED else ():
                yield f"  - {escaped(wording.cause(cause))}"


def _place(each: CellComparison) -> str:
    return f"{escaped(each.cell.workload)}, {wording.threads(each.cell.threads)}, {escaped(each.cell.server)}"
