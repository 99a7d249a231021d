"""The words of crashes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shootout.analysis.exit_codes import exit_code
from shootout.crash.values import CrashDocument
from shootout.numbers import SPACE, number
from shootout.report import figures
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
            regressed=any(crash.lost or crash.unexpected for crash in document.crashes),
        ),
    )


def headline(document: CrashDocument) -> str:
    """The result in a sentence."""
    lost = sum(crash.lost for crash in document.crashes)
    confirmed = sum(crash.acknowledged for crash in document.crashes)
    crashes = figures.counted(len(document.crashes), "crash", "crashes")
    return f"{lost} of {number(confirmed, 0)} confirmed commits were lost in {crashes}."


def rows(document: CrashDocument) -> Iterator[tuple[str, ...]]:
    """A table's lines, in the order of COLUMNS."""
    for server in document.servers:
        crashes = [crash for crash in document.crashes if crash.server == server.label]
        if not crashes:
            continue
        times_s = [crash.recovery_s for crash in crashes]
        sums = (sum(getattr(crash, name) for crash in crashes) for name in COUNTS)
        syncs = {
            name: [crash.syncs[name] for crash in crashes if name in crash.syncs] for name in crashes[0].syncs
        }
        yield (
            server.label,
            str(len(crashes)),
            *(number(total, 0) for total in sums),
            f"{number(min(times_s), 1)} to {number(max(times_s), 1)}{SPACE}s",
            ", ".join(f"{name} {number(sum(counts) / len(counts), 2)}" for name, counts in syncs.items()),
        )
