"""The one rule for exit codes; docs/cli.md has their meanings."""

from __future__ import annotations

from collections.abc import Iterable

NOTHING, REGRESSED, UNMEASURED, UNDECIDED = 0, 1, 3, 4
_WORST_FIRST = (UNMEASURED, REGRESSED, UNDECIDED, NOTHING)


def exit_code(*, failed: bool, regressed: bool, unmeasured: bool = False, undecided: bool = False) -> int:
    """Choose a result's exit code, by the first of these facts; `undecided` only where that counts."""
    if failed:
        return UNMEASURED
    if regressed:
        return REGRESSED
    if unmeasured:
        return UNMEASURED
    return UNDECIDED if undecided else NOTHING


def worst(codes: Iterable[int]) -> int:
    """Combine the exit codes of several results."""
    return min(codes, key=_WORST_FIRST.index)
