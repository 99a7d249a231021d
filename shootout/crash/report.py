"""The words of crashes."""

from __future__ import annotations

from collections.abc import Iterator

from shootout.crash.values import CrashDocument
from shootout.numbers import SPACE, number

COUNTS = ("acknowledged", "lost", "in_flight", "unexpected")
COLUMNS = ("server", "#crashes", "#confirmed", "#lost", "#in flight", "#unexpected", "#recovery", "syncs")


def headline(document: CrashDocument) -> str:
    """The result in a sentence."""
    lost = sum(each.lost for each in document.crashes)
    confirmed = sum(each.acknowledged for each in document.crashes)
    count = len(document.crashes)
    crashes = "1 crash" if count == 1 else f"{count} crashes"
    return f"{lost} of {number(confirmed, 0)} confirmed commits were lost in {crashes}."


def exit_code(document: CrashDocument) -> int:
    """3: a server failed; 1: a commit was lost, or a row was there that should not be; else 0."""
    if document.failures:
        return 3
    return 1 if any(each.lost or each.unexpected for each in document.crashes) else 0


def rows(document: CrashDocument) -> Iterator[tuple[str, ...]]:
    """A table's lines, in the order of COLUMNS."""
    for server in document.servers:
        found = [each for each in document.crashes if each.server == server.label]
        if not found:
            continue
        times = [each.recovery_s for each in found]
        sums = (sum(getattr(each, name) for each in found) for name in COUNTS)
        syncs = {name: [each.syncs[name] for each in found if name in each.syncs] for name in found[0].syncs}
        yield (
            server.label,
            str(len(found)),
            *(number(each, 0) for each in sums),
            f"{number(min(times), 1)} to {number(max(times), 1)}{SPACE}s",
            ", ".join(f"{name} {number(sum(each) / len(each), 2)}" for name, each in syncs.items()),
        )
