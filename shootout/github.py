"""What GitHub shows of a run: its verdicts as Markdown, for a step summary or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shootout import wording
from shootout.model import CellComparison, Comparison, Verdict

# Everything that could begin markup, a mention or a reference to an issue, and the table's own bar.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#!|~@&:$^])")


def escaped(text: str) -> str:
    """Any text as it is, on one line: nothing in it is markup, a link or a mention."""
    one_line = " ".join(wording.visible(text).split())
    return _ACTIVE.sub(lambda found: f"&#{ord(found[1])};", one_line)


def summary(comparison: Comparison) -> str:
    """The headline, a table of every cell that has a base, and why a cell failed or regressed."""
    return "\n".join(_lines(comparison)) + "\n"


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
            wording.number(base.tps.estimate) if base else wording.NONE,
            wording.number(each.figures.tps.estimate) if each.figures else wording.NONE,
            wording.change(each.ratio) if each.ratio else wording.NONE,
            wording.change_range(each.ratio) if each.ratio else "",
            wording.detectable(each),
            wording.verdict(each),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    for each in wording.worst_first(shown):
        if each.verdict in (Verdict.REGRESSED, Verdict.FAILED):
            yield f"- {_place(each)}: {escaped(each.reason)}"
            for cause in each.causes[:3] if each.verdict is Verdict.REGRESSED else ():
                yield f"  - {escaped(wording.cause(cause))}"


def _place(each: CellComparison) -> str:
    return f"{escaped(each.cell.workload)}, {wording.threads(each.cell.threads)}, {escaped(each.cell.server)}"
