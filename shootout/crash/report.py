"""The words of crashes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shootout.analysis.exit_codes import exit_code
from shootout.crash.values import CrashDocument
from shootout.numbers import SPACE, number
from shootout.report import wording
from shootout.report.judged import Judged, Line, Table

COUNTS = ("acknowledged", "lost", "in_flight", "unexpected")
COLUMNS = ("server", "#crashes", "#confirmed", "#lost", "#in flight", "#unexpected", "#recovery", "syncs")


def judged(document: CrashDocument) -> Judged:
    """What was lost, and each server's crashes together."""
    return Judged(
        text=(
            Line(),
            Line(headline(document), "bold"),
            Line(),
            Table(COLUMNS, tuple(rows(document))),
            *(Line(f"{failure.server}: {failure.reason}", "magenta") for failure in document.failures),
            Line(),
        ),
        value=msgspec.to_builtins(document),
        exit_code=exit_code(
            failed=bool(document.failures),
            regressed=any(each.lost or each.unexpected for each in document.crashes),
        ),
    )


def headline(document: CrashDocument) -> str:
    """The result in a sentence."""
    lost = sum(each.lost for each in document.crashes)
    confirmed = sum(each.acknowledged for each in document.crashes)
    crashes = wording.counted(len(document.crashes), "crash", "crashes")
    return f"{lost} of {number(confirmed, 0)} confirmed commits were lost in {crashes}."


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
