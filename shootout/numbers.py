"""Number formatting, the same in sentences, tables and charts."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
SPACE = "\N{NARROW NO-BREAK SPACE}"  # between groups of digits, and before a unit


def decimals(half_width: float) -> int:
    """Decimal places for a number with this uncertainty; negative: round to tens, hundreds, …"""
    return -math.floor(math.log10(half_width / 2))


def percent_places(low: float, high: float) -> int:
    """Decimal places of a change in percent, whose interval has these ratios as ends: two at most."""
    half = (high - low) / 2 * 100
    return min(max(decimals(half), 0), 2) if half > 0 else 0


def number(value: float, places: int | None = None, digits: int = 3) -> str:
    """`value` with grouped digits, to `places` decimals or else to so many significant digits."""
    if value == 0:
        return "0"
    if places is None:
        if abs(value) < 1e-5:
            return f"{value:.1e}".replace("-", MINUS)
        places = significant(value, digits)
    text = f"{round(value, places) + 0.0:,.{max(places, 0)}f}"  # no negative zero
    return text.replace(",", SPACE).replace("-", MINUS)


def significant(value: float, digits: int) -> int:
    """Decimal places that show so many significant digits."""
    return max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0


def percents(part: float) -> str:
    """Format a fraction in percent, to one decimal."""
    return f"{number(part * 100, 1)}{SPACE}%"


def plain_percent(part: float, places: int = 1) -> str:
    """Format a fraction in percent, with a plain space, for the sentences of a comparison."""
    return f"{number(100 * part, places)} %"


def share(part: float) -> str:
    """Format a fraction such as a margin, in percent with as many digits as the user wrote."""
    return f"{part * 100:g}{SPACE}%"
