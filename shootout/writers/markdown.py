"""Markdown for step summaries, comments and issues, which no text in it can break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from shootout import answer as answers
from shootout.answer import Answer, Field, Link, Point, Table, Topic
from shootout.characters import visible

# Starts of mentions, references, emoji and addresses. GitHub decodes entities before it looks for
# these, so a zero-width space has to break them (github/cmark-gfm#181).
_LINKED = re.compile(r"[@#:](?=\S)|www(?=\.)|GH-(?=\d)", re.IGNORECASE)
# The same space, characters that could start markup, and the bar of tables.
_MARKUP = re.compile(r"([\u200b\\`*_{}\[\]<>()#!|~@&:$^])")


def write(answer: Answer) -> str:
    """Write an answer for a step summary or a ticket."""
    lines = [f"**{escaped(answer.headline)}**", ""]
    for topic in answers.shown(answer):
        lines += _topic(topic)
    return "\n".join(lines).rstrip() + "\n"


def _topic(topic: Topic) -> Iterator[str]:
    if topic.title:
        yield from (f"### {escaped(topic.title)}", "")
    if topic.lines:
        yield from (*(f"- {escaped(line)}" for line in topic.lines), "")
    if topic.points:
        yield from (*points(topic.points), "")
    for each in topic.tables:
        yield from (*table_lines(each), "")
        if each.more:
            yield from (each.more, "")
    if topic.commands:
        yield from (*code("\n".join(topic.commands)), "")


def points(every: Iterable[Point]) -> Iterator[str]:
    """A list of sentences, with what they introduce."""
    for point in every:
        yield f"- {escaped(point.text)}"
        yield from (f"  - {escaped(item)}" for item in point.items)
        yield from (f"  - {span(command)}" for command in point.commands)


def table_lines(shown: Table) -> Iterator[str]:
    """Draw an answer's table."""
    columns = [
        f"{'#' * is_number}{name}" for name, is_number in zip(shown.columns, shown.numeric, strict=True)
    ]
    return table(columns, (map(_field, row) for row in shown.first))


def _field(value: Field) -> str:
    """A field, which leads to an address if it has one."""
    if isinstance(value, Link) and value.is_address:
        return Markup(f"[{escaped(value.text)}]({value.to})")
    return answers.text(value)


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that a click shows."""
    yield from (f"<details><summary>{escaped(title)}</summary>", "", *lines, "", "</details>", "")


def escaped(text: str) -> str:
    """Any text on one line, escaped so that it cannot form markup, links or mentions."""
    one_line = " ".join(visible(text).split())
    broken = _LINKED.sub("\\g<0>\N{ZERO WIDTH SPACE}", one_line)
    return _MARKUP.sub(lambda match: f"&#{ord(match[1])};", broken)


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
    """A code block that `text` cannot close."""
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
