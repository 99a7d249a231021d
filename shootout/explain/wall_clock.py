"""A transaction's response time, split: CPU of client and server, run queue, waits, elsewhere.

The server's figures are those of whole servers per transaction. Time beyond the response time is that of
background threads meanwhile: it delays nobody, and is no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shootout.analysis import stats
from shootout.analysis.histograms import decoded
from shootout.analysis.stats import STARTS_MIN
from shootout.explain.functions import Change
from shootout.model.run import RunDocument, Samples

RESPONSE = "response time"
CLIENT = "client on a CPU"
BACKGROUND = "not part of it: background threads on a CPU"
ON_CPU, RUN_QUEUE = "server on a CPU", "server ready to run, waiting for a CPU"
ROW_LOCKS = "row locks"
ELSEWHERE = "elsewhere: client, network and what the server does not count"


def spent(document: RunDocument, base: str, head: str, confidence: float) -> list[Change]:
    """Seconds per transaction: the response time, what it consists of, and what happened at the same time.

    Nothing with fewer than STARTS_MIN starts, or if the servers' CPU time is not visible. Raises ValueError
    for latencies that cannot be read.
    """
    every = ({of.server: _parts(of) for of in record.samples} for record in document.starts)
    pairs = [pair for parts in every if all(pair := [parts.get(server, {}) for server in (base, head)])]
    if len(pairs) < STARTS_MIN:
        return []
    names = dict.fromkeys(name for pair in pairs for parts in pair for name in parts)
    last = [name for name in (ELSEWHERE, BACKGROUND) if name in names]
    ordered = [*(name for name in names if name not in last), *last]
    return [
        _change(name, [[own.get(name, 0.0) for own in pair] for pair in pairs], confidence)
        for name in ordered
    ]


def _parts(samples: Samples) -> dict[str, float]:
    """By name, without those that are zero; empty if the CPU time is not visible."""
    if samples.server_cpu_s is None or not sum(samples.completed):
        return {}
    counters = samples.counters
    totals = {
        CLIENT: sum(samples.client_cpu_s),
        ROW_LOCKS: counters.get("Innodb_row_lock_time", 0.0) / 1e3,
        **{name: seconds for name, seconds in counters.items() if name.startswith("wait/")},
        ON_CPU: sum(samples.server_cpu_s),
        RUN_QUEUE: counters.get("run_queue_s", 0.0),
    }
    left = response_s = decoded(samples.latencies).mean_s
    parts = {RESPONSE: response_s}
    for name, seconds in totals.items():
        own = seconds / sum(samples.completed)
        parts[name] = max(0.0, min(own, left))
        left -= parts[name]
        if name == ON_CPU:
            parts[BACKGROUND] = own - parts[name]
    return {name: seconds for name, seconds in ({**parts, ELSEWHERE: left}).items() if seconds}


def _change(name: str, values: Sequence[Sequence[float]], confidence: float) -> Change:
    difference = stats.mean_interval([head - base for base, head in values], confidence)
    base, head = (sum(server) / len(values) for server in zip(*values, strict=True))
    return Change(name=name, base=base, head=head, difference=difference, p_value=math.nan)
