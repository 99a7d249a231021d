"""Next steps after a regression: what it was measured on, how to measure it again, how to acknowledge it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date, timedelta

from shootout.analysis.acknowledgements import worsening
from shootout.model.plan import THROUGHPUT
from shootout.model.run import ServerRecord
from shootout.model.verdict import CellComparison, Comparison, MetricVerdict, Verdict
from shootout.paths import IS_CHECKOUT
from shootout.report import commands, wording

DAYS = 90  # for which a suggested acknowledgement holds
DIGITS = 12  # of a commit or a build
FILE = "fixtures/acknowledged.toml" if IS_CHECKOUT else "a file for --acknowledged"


@dataclass(frozen=True)
class NextSteps:
    compared: str  # base and head, with their commits or builds
    again: str  # the command that measures exactly this cell
    acknowledgement: str  # to paste into FILE


def worst(comparison: Comparison) -> CellComparison | None:
    """The regression to look at first: the worst that nobody has acknowledged; None without one."""
    regressed = [c for c in comparison.cells if c.verdict is Verdict.REGRESSED and c.acknowledged is None]
    return next(iter(wording.worst_first(regressed)), None)


def steps_after(comparison: Comparison, c: CellComparison) -> NextSteps:
    header = comparison.header
    records = {record.label: record for record in header.part(c.cell).servers}
    regressed = (metric for metric in c.judged if metric.verdict is Verdict.REGRESSED)
    return NextSteps(
        " → ".join(_built(label, records.get(label)) for label in (c.base.server, c.cell.server)),
        commands.measure_again(header, c.base.server, c.cell),
        "\n".join(_entry(c, metric, header.started) for metric in regressed),
    )


def _built(label: str, record: ServerRecord | None) -> str:
    if record is None:
        return label
    commit, build = f"commit {record.commit[:DIGITS]}", f"build {record.build[:DIGITS]}"
    return f"{label} ({commit if record.commit else build if record.build else record.version})"


def _entry(c: CellComparison, metric: MetricVerdict, started: str) -> str:
    loss = max(worsening(metric.metric, end) for end in (metric.ratio.low, metric.ratio.high))
    lines = [
        "[[change]]",
        f"workload = {json.dumps(c.cell.workload)}",  # TOML's escapes are JSON's
        f"server = {json.dumps(c.cell.server)}",
        f"threads = {c.cell.threads}",
        *([] if metric.metric == THROUGHPUT else [f'metric = "{metric.metric}"']),
        f"at_most = {math.ceil(100 * loss) / 100:.2f}",
        f"expires = {_expires(started)}",
        'owner = "…"',
        'reason = "…"',
    ]
    return "\n".join(lines)


def _expires(started: str) -> str:
    try:
        return str(date.fromisoformat(started[:10]) + timedelta(days=DAYS))
    except (ValueError, OverflowError):
        return "YYYY-MM-DD"
