"""What documents may hold that nobody vouches for, and what commands must do with them."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console

from shootout import app
from shootout.analysis import compare
from shootout.capability import Capability
from shootout.document import journal
from shootout.errors import InputError
from shootout.model.run import RunDocument, Samples
from shootout.report import terminal
from tests import builders
from tests.mutations import mutations

ROUNDS, STARTS = 3, 3
LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,2000}")

# The least and the most that documents may hold, and what lies beyond.
NUMBERS = st.sampled_from([
    0, 1, -1, 2, 3, 0.5, -0.5, 1e-300, 5e-324, 1e-9, 1e-15, 1e9, 1e15, -1e15, 1e18, 1e20, 1e300, 1e308,
    -1e308, 1 - 1e-16, 10**6, 10**15, 65_535, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400,
])  # fmt: skip
TEXTS = st.sampled_from([
    "", "\x1b[31m", "a\nb", "\x00", "\u2028", 300 * "a", "/", "../../x", "*", "1e999", "2026", "0001-01-01",
    "9999-12-31T23:59:59+00:00", builders.BASE, builders.HEAD,
])  # fmt: skip
SCALARS = NUMBERS | TEXTS | st.booleans() | st.none()
NESTED = st.sampled_from([
    [], {}, [[]], [{}], {"": {}}, [0], [0, 0], ROUNDS * [0.0], ROUNDS * [1e15], ROUNDS * [1e-9], [1e15, 0, 0],
])  # fmt: skip
DEEPER = st.recursive(SCALARS, lambda each: st.lists(each, max_size=3), max_leaves=4)
ANYTHING = NUMBERS | SCALARS | NESTED | DEEPER


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def records(document: RunDocument) -> list[Any]:
    return [json.loads(line) for line in journal.encoded(document).splitlines()]


def sealed(lines: Sequence[Any]) -> bytes:
    """A document of these records, with the digests that belong to them."""
    digest, written = b"", []
    for record in lines:
        unsealed = {k: v for k, v in record.items() if k != "digest"} if isinstance(record, dict) else record
        line, digest = journal.sealed(json.dumps(unsealed).encode(), digest)
        written.append(line)
    return b"".join(written)


def fewer(samples: Samples) -> Samples:
    arrays = ("transactions", "window_s", "server_cpu_s", "client_cpu_s", "completed")
    return replace(samples, **{name: getattr(samples, name)[:ROUNDS] for name in arrays})


def a_run() -> RunDocument:
    """Two blocks, one of which fails, with an A/A cell and a confirming start."""
    header = builders.a_header(workloads=["oltp_point_select"], threads=[1, 8])
    document = builders.a_run(replace(header, workloads=(builders.a_record("oltp_point_select"),)))
    starts = tuple(
        replace(
            start,
            order=start.order[:ROUNDS],
            samples=tuple(map(fewer, start.samples)),
            aa_control=fewer(start.samples[0]),
            confirming=start.start == STARTS,
        )
        for start in document.starts
        if start.start <= STARTS
    )
    return replace(document, starts=starts)


RUN = a_run()
COMPARED = compare.compare(RUN)

often = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
seldom = settings(often, max_examples=20)  # where most examples are accepted, and published


def changed(*documents: Any) -> st.SearchStrategy[Any]:
    return mutations([plain(each) for each in documents], TEXTS, ANYTHING)


def accepted(work: Callable[[], object]) -> bool:
    """Whether the work was done; otherwise one line says why not."""
    try:
        work()
    except InputError as refusal:
        left_out(str(refusal))
        return False
    return True


def left_out(reason: str) -> None:
    assert LINE.fullmatch(reason), reason


def require_finite(value: Any, where: str) -> None:
    """JSON has no infinity: it would read as null."""
    if isinstance(value, dict | list | tuple):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            require_finite(inner, f"{where}.{key}")
    assert not isinstance(value, float) or math.isfinite(value), where


def nowhere() -> Console:
    return Console(file=io.StringIO(), width=200)


def publish(results: Path) -> None:
    app.publish(results, results / "site", (), left_out)


def require_judged(capability: Capability, path: Path) -> None:
    """A document of that kind is judged, printed and published, or refused with one line."""

    def judge() -> None:
        judged = capability.judge(path)
        require_finite(msgspec.to_builtins(judged.value), "value")
        terminal.show(nowhere(), judged.text)

    if accepted(judge):
        accepted(lambda: publish(path.parents[1]))
