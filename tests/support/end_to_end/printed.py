"""Pages as their readers see them: numbers with their rounding, tables with their columns."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shootout.numbers import MINUS, SPACE

_NUMBER = re.compile(rf"[+{MINUS}-]?\d{{1,3}}(?:[{SPACE}\d]*\d)?(?:\.\d+)?(?:e[{MINUS}-]?\d+)?")
_SCALE = {"ms": 1e-3, "µs": 1e-6, "s": 1.0}


class Printed(NamedTuple):
    """The numbers that are printed like this."""

    low: float
    high: float

    def agrees(self, other: Printed) -> bool:
        """Whether one number may be printed like both."""
        return self.low <= other.high and other.low <= self.high


def number(text: str) -> Printed | None:
    """The first number of a text; None without one."""
    if (match := _NUMBER.search(text)) is None:
        return None
    digits = match[0].replace(SPACE, "").replace(MINUS, "-")
    value = float(digits)
    mantissa, _, exponent = digits.partition("e")
    _, point, decimals = mantissa.partition(".")
    whole = mantissa.lstrip("+-")
    zeros = len(whole) - len(whole.rstrip("0")) if value else 0  # may be rounded away
    half = 0.51 * 10.0 ** (int(exponent or 0) + (-len(decimals) if point else zeros))
    return Printed(value - half, value + half)


def amount(text: str) -> Printed:
    """The first number of a text, with its unit of time."""
    found = number(text)
    assert found is not None, text
    match = re.search(rf"\d{SPACE}(ms|µs|s)\b", text)
    scale = _SCALE[match[1]] if match else 1.0
    return Printed(found.low * scale, found.high * scale)


def quotient(head: Printed, base: Printed) -> Printed:
    """The changes that these two may give, in percent."""
    ends = [h / b for h in head for b in base if b > 0]
    return Printed(100 * (min(ends) - 1), 100 * (max(ends) - 1)) if base.low > 0 else Printed(-100, 1e99)


def difference(head: Printed, base: Printed) -> Printed:
    return Printed(head.low - base.high, head.high - base.low)


def between(head: Printed, base: Printed) -> Printed:
    """The changes from one change to another, all in percent."""
    return quotient(*(Printed(100 + each.low, 100 + each.high) for each in (head, base)))


def every_table(page: Path) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """A page's tables: caption, columns, rows."""
    for table in re.findall(r"<table.*?</table>", page.read_text("utf-8"), flags=re.DOTALL):
        caption = re.findall(r"<caption.*?</caption>", table, flags=re.DOTALL)
        head, *rows = re.findall(r"<tr.*?</tr>", table, flags=re.DOTALL)
        yield text_of("".join(caption)), _fields(head), [_fields(row) for row in rows]


def _fields(row: str) -> list[str]:
    """The fields of a row, without what is printed small."""
    return [
        text_of(re.sub(r"<small>.*?</small>", "", field, flags=re.DOTALL))
        for field in re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.DOTALL)
    ]


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


def contradictions(page: Path) -> Iterator[str]:
    """The rows of a page's tables in which base, head and change do not agree."""
    for caption, columns, rows in every_table(page):
        yield from divided(caption, columns, rows)


def divided(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a table in which base, head and change do not agree."""
    for name, of in (("change", quotient), ("difference", difference)):
        places = [at for at, column in enumerate(columns) if column.partition(",")[0] == name and at >= 2]
        for row in rows:
            for at in filter(lambda at: at < len(row), places):
                base, head, shown = (number(text) for text in row[at - 2 : at + 1])
                if shown and "×" in row[at]:  # a factor
                    shown = Printed(*(100 * (end - 1) for end in shown))
                expected = between if of is difference and f"{SPACE}%" in row[at - 2] else of
                if base and head and shown and not expected(head, base).agrees(shown):
                    yield f"{caption}: {row}"


def causes(texts: Sequence[str]) -> Iterator[str]:
    """Likely causes that stand in another order than their shares, or whose growth is not head / base."""
    shares = []
    for text in texts:
        head, base = map(amount, text.partition(": ")[2].split(" per transaction instead of "))
        if growth := re.search(rf"\(([^)]*){SPACE}%\)", text):
            shown = number(growth[1])
            if shown and not quotient(head, base).agrees(shown):
                yield text
        (share,) = re.findall(rf" ([+{MINUS}]?[\d.{SPACE}]*){SPACE}% of transaction time", text)
        found = number(share)
        assert found is not None
        shares.append(abs(found.low + found.high) / 2)
    if shares != sorted(shares, reverse=True):
        yield f"not in the order of their shares: {texts}"
