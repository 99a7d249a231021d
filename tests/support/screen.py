"""A terminal's screen."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from rich.console import Console

from shootout import numbers
from shootout.answer import Answer
from shootout.writers import terminal
from shootout.writers.judged import Judged, Line, Table


def shown(text: Iterable[Line | Table], width: int = 132) -> list[str]:
    """The lines that a terminal without colours shows; their narrow spaces are plain ones here."""
    screen = io.StringIO()
    terminal.show(Console(file=screen, width=width), text)
    return [line.rstrip().replace(numbers.SPACE, " ") for line in screen.getvalue().splitlines()]


def lines_judged(judged: Judged) -> list[str]:
    """The lines of a result."""
    return shown(judged.text)


def answered(answer: Answer, width: int = 132) -> str:
    """Show an answer as a terminal does."""
    screen = io.StringIO()
    terminal.write(Console(file=screen, width=width), answer)
    return "\n".join(map(str.rstrip, screen.getvalue().replace(numbers.SPACE, " ").splitlines())) + "\n"


def row(line: str) -> list[str]:
    """The cells of a table's line."""
    return re.split(r"  +", line)
