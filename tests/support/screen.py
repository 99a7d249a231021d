"""A terminal's screen."""

from __future__ import annotations

import io
import re

from rich.console import Console

from shootout import numbers
from shootout.answer import Answer
from shootout.writers import terminal


def answered(answer: Answer, width: int = 132) -> str:
    """Show an answer as a terminal does."""
    screen = io.StringIO()
    terminal.write(Console(file=screen, width=width), answer)
    return "\n".join(map(str.rstrip, screen.getvalue().replace(numbers.SPACE, " ").splitlines())) + "\n"


def row(line: str) -> list[str]:
    """The cells of a table's line."""
    return re.split(r"  +", line)
