"""Markdown for step summaries, comments and issues, which no text in it can break."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from shootout import answer as answers
from shootout.answer import ROWS_MAX, Answer, Field, Link, Point, Table, Topic
from shootout.characters import visible
from shootout.figures import counted

# Beginnings of mentions, references, emoji, addresses and markers of ours. GitHub decodes entities before it
# looks for these, so a zero-width space has to break them (github/cmark-gfm#181).
_LINKED = re.compile(r"[@#:](?=\S)|www(?=\.)|GH-(?=\d)|<(?=!--)", re.IGNORECASE)
# Starts of markup: anywhere, underscores outside of words, and of blocks at the start of a line.
_MARKUP = re.compile(r"[\\`*\[\]<#|~&]|(?<![^\W_])_+|_+(?![^\W_])|^[-+](?=[-+\s]|$)|^>|(?<=^\d)[.)](?=\s|$)")
_MATHS = "&#36;"  # GitHub looks for formulas before Markdown unescapes


def write(answer: Answer) -> str:
    """Write an answer for a step summary or a ticket."""
    lines = [f"**{escaped(answer.headline)}**", ""]
    if answer.conditions:
        lines += [escaped(answer.conditions), ""]
    for topic in answers.shown(answer):
        lines += _topic(topic)
    return "\n".join(lines).rstrip() + "\n"


def _topic(topic: Topic) -> Iterator[str]:
    if topic.folded:
        yield from folded(topic.title, _content(topic))
        return
    if topic.title:
        yield from (f"### {escaped(topic.title)}", "")
    yield from _content(topic)


def _content(topic: Topic) -> Iterator[str]:
    if topic.lines:
        yield from (*(f"- {escaped(line)}" for line in topic.lines), "")
    if topic.points:
        yield from (*points(topic.points), "")
    for each in topic.tables:
        yield from table_lines(each)
    if topic.commands:
        yield from (*code("\n".join(topic.commands)), "")


def points(every: Iterable[Point]) -> Iterator[str]:
    """Write a list of sentences, with what they introduce."""
    for point in every:
        yield f"- {escaped(point.text)}"
        yield from (f"  - {escaped(item)}" for item in point.items)
        yield from (f"  - {span(command)}" for command in point.commands)


def table_lines(shown: Table) -> Iterator[str]:
    """Write an answer's table; a whole one's rows beyond the first are folded."""
    columns = [
        f"{'#' * is_number}{name}" for name, is_number in zip(shown.columns, shown.numeric, strict=True)
    ]
    rows = [[*map(_field, row)] for row in shown.first]
    yield from (*table(columns, rows[:ROWS_MAX]), "")
    if more := rows[ROWS_MAX:]:
        yield from folded(counted(len(more), "more row"), table(columns, more))
    if shown.more:
        yield from (shown.more, "")


def _field(value: Field) -> str:
    if isinstance(value, Link) and value.is_address:
        return Markup(f"[{escaped(value.text)}]({value.to})")
    return answers.text(value)


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Fold lines until a click shows them."""
    summary = html.escape(_broken(title))  # in HTML, no backslash escapes
    content = "\n".join(lines).rstrip("\n")
    yield from (f"<details><summary>{summary}</summary>", "", content, "", "</details>", "")


def escaped(text: str) -> str:
    """Any text on one line, escaped so that it cannot form markup, links or mentions."""
    return _MARKUP.sub(_escape, _broken(text)).replace("$", _MATHS)


def _broken(text: str) -> str:
    """Any text on one line, without mentions and links."""
    return _LINKED.sub("\\g<0>\N{ZERO WIDTH SPACE}", " ".join(visible(text).split()))


def _escape(match: re.Match[str]) -> str:
    return "".join(f"\\{character}" for character in match[0])


class Markup(str):
    """A text that is Markdown already."""


def table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Draw a table; everything in it but `Markup` is escaped. `#` before a column's name: numbers."""
    yield _row(name.removeprefix("#") for name in columns)
    yield f"|{'|'.join('--:' if name.startswith('#') else '---' for name in columns)}|"
    yield from map(_row, rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(each if isinstance(each, Markup) else escaped(each) for each in cells)} |"


def code(text: str) -> Iterator[str]:
    """Write a code block that `text` cannot close."""
    fence = _fence(text, 3)
    yield from (fence, _shown(text), fence)


def span(text: str) -> str:
    """Code within a line, which can be copied as it is; `text` cannot close it."""
    one_line = " ".join(_shown(text).splitlines())
    fence = _fence(one_line, 1)
    return f"{fence} {one_line} {fence}"


def _shown(text: str) -> str:
    """Text for code, where HTML comments stay as they are: none of it is a marker of ours."""
    return visible(text).replace("<!--", "<\N{ZERO WIDTH SPACE}!--")


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))
