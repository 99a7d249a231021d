"""Names, and commands, with sensible places for line breaks."""

from __future__ import annotations

import re
from functools import lru_cache

from markupsafe import Markup, escape

from shootout import characters

WHOLE_MAX = 20  # characters that stay on one line: they fit a headline on a phone
HANG_MAX = 20  # characters: beyond, a phone has no room
OPTION_MAX = 34  # characters of an option with its value that stay on one line
# A name such as `mysql-8.0.12`, which browsers would break after the hyphen, or a character to break after.
_PIECES = re.compile(r"(?<![A-Za-z0-9.-])[A-Za-z0-9.]+(?:-[A-Za-z0-9.]+)+|[_/@,]")
_OPTIONS = re.compile(r" (?=--?[a-z])")


@lru_cache(4096, typed=True)  # every page of a run has the same names
def breakable(name: str) -> Markup:
    """A name with sensible places for line breaks; hyphenated parts stay whole while they are short."""
    return Markup(_PIECES.sub(_piece, str(escape(characters.visible(name)))))


def _piece(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) == 1:
        return f"{text}<wbr>"
    return f'<span class="whole">{text}</span>' if len(text) <= WHOLE_MAX else text


def command(text: str) -> Markup:
    """A command for a shell, which breaks between options, and in long values after commas and slashes."""
    return Markup(" ").join(map(_option, _OPTIONS.split(characters.visible(text))))


def _option(text: str) -> Markup:
    name, space, value = text.partition(" ")
    if len(text) <= OPTION_MAX:
        return Markup('<span class="whole">{}</span>').format(text)
    return Markup('<span class="whole">{}</span>{}{}').format(name, space, breakable(value))


def hanging(text: str) -> Markup:
    """Lines of a plan, which wrap below their own beginnings: the indentation is what they mean."""
    return Markup("").join(
        Markup('<span style="--at: {}">{}\n</span>').format(
            min(len(line) - len(line.lstrip()), HANG_MAX) + 3, line
        )
        for line in characters.visible(text).splitlines()
    )
