"""Twenty weekly runs, the second workload slower from REGRESSED_AT on."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import cache

from msgspec.structs import replace

from shootout.model.run import RunDocument
from shootout.model.verdict import Comparison, Interval, MetricVerdict, Verdict
from shootout.report import judged_runs
from shootout.report.judged_runs import JudgedRun
from tests.support import builders

FIRST = datetime(2026, 1, 3, 2, 41, tzinfo=UTC)
REGRESSED_AT = 14  # the week from which on the second workload is slower


@cache
def _result() -> tuple[RunDocument, Comparison]:
    header = builders.a_header(workloads=("oltp_point_select", "oltp_read_only"), threads=(1, 8))
    return builders.a_result(builders.a_run(header, failing=False))


def a_week(number: int, drop: float = 0.08, fingerprint: str = "5e7c0f2a91d4") -> JudgedRun:
    """A run whose second workload is slower from REGRESSED_AT on, and whose A/A cells say so once."""
    document, comparison = _result()
    started = FIRST + timedelta(weeks=number)
    header = replace(
        document.header,
        run=f"{started:%Y%m%dT%H%M%SZ}-{number:04x}",
        started=started.isoformat(),
        runner=replace(document.header.runner, fingerprint=fingerprint),
    )
    document = replace(document, header=header)
    comparison = replace(comparison, header=header)
    dice = random.Random(number)
    cells = []
    for cell in comparison.cells:
        if cell.cell == cell.base:
            cells.append(cell)
            continue
        slower = number >= REGRESSED_AT and cell.cell.workload == "oltp_read_only"
        level = (1 - drop if slower else 1.0) * (1 + dice.gauss(0, 0.003))
        ratio = Interval(estimate=level, low=level - 0.01, high=level + 0.01)
        verdict = Verdict.REGRESSED if slower else Verdict.EQUIVALENT
        judged = MetricVerdict(
            metric="throughput", verdict=verdict, ratio=ratio, p_value=0.001, margin=0.02, spread=0.004,
            floor=None, detectable=0.02, confirmed=None,
        )  # fmt: skip
        cells.append(replace(cell, ratio=ratio, verdict=verdict, judged=(judged,), reason="as measured"))
    aa_control = replace(
        cells[1], cell=replace(cells[1].cell, server=f"{builders.BASE} again"), per_start=(1.0, 1.004),
        verdict=Verdict.REGRESSED if number == 3 else Verdict.EQUIVALENT,
    )  # fmt: skip
    return judged_runs.in_memory(document, replace(comparison, cells=tuple(cells), aa_controls=(aa_control,)))
