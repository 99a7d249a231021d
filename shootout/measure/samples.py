"""One server's slices, added up round by round into what a run document records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shootout._engine import Histogram, Slice
from shootout.model.program import Program
from shootout.model.run import STANDSTILL_S, Returned, Samples


@dataclass(frozen=True)
class WarmUp:
    """How a server's warm-up ended."""

    rounds: int
    drift: float  # change of log throughput over its second half
    steady: bool


class SampleBuilder:
    """Adds up one server's slices, round by round."""

    def __init__(self, program: Program) -> None:
        self.transactions: list[float] = []
        self._window_s: list[float] = []
        self._server_cpu_s: list[float | None] = []
        self._client_cpu_s: list[float] = []
        self._completed: list[int] = []
        self._latencies = Histogram()
        self._program = program
        self._statements = {kind.name: Histogram() for kind in program.kinds}
        # For each kind, slices with executions: their number, rows and bytes.
        self._returned: dict[str, list[tuple[int, int, int]]] = {kind.name: [] for kind in program.kinds}
        self._effects: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._of_disk: dict[str, float] = {}
        self._standstills: dict[str, float] = {}

    def add(self, taken: Slice, server_cpu_s: float | None, of_disk: Mapping[str, float]) -> None:
        self.transactions.append(round(taken.transactions, 4))
        self._window_s.append(round(taken.window_s, 6))
        self._server_cpu_s.append(None if server_cpu_s is None else round(server_cpu_s, 6))
        self._client_cpu_s.append(round(taken.client_cpu_s, 6))
        self._completed.append(taken.completed)
        self._latencies.add(taken.latencies)
        for histogram, one in zip(self._statements.values(), taken.statements, strict=True):
            histogram.add(one)
        for slices, returned in zip(self._returned.values(), taken.returned, strict=True):
            if returned[0]:
                slices.append(returned)
        self._effects.update(reads=taken.reads, writes=taken.writes, other=taken.other)
        self._errors.update({str(code): count for code, count in taken.errors.items()})
        for name, grown in of_disk.items():
            self._of_disk[name] = round(self._of_disk.get(name, 0.0) + grown, 6)

    def stood_still(self, seconds: Mapping[str, float]) -> None:
        """Count what stood still around a slice, where it is long enough to matter."""
        for name, stood_s in seconds.items():
            if stood_s > STANDSTILL_S:
                self._standstills[name] = round(self._standstills.get(name, 0.0) + stood_s, 3)

    def samples(self, server: str, warm_up: WarmUp, counters: Mapping[str, float]) -> Samples:
        server_cpu_s = tuple(used_s for used_s in self._server_cpu_s if used_s is not None)
        return Samples(
            server=server,
            steady=warm_up.steady,
            warmup_rounds=warm_up.rounds,
            drift=round(warm_up.drift, 6),
            transactions=tuple(self.transactions),
            window_s=tuple(self._window_s),
            server_cpu_s=server_cpu_s if len(server_cpu_s) == len(self._server_cpu_s) else None,
            client_cpu_s=tuple(self._client_cpu_s),
            completed=tuple(self._completed),
            latencies=self._latencies.encode(),
            statements={kind: h.encode() for kind, h in self._statements.items() if h.count},
            reads=self._effects["reads"],
            writes=self._effects["writes"],
            other=self._effects["other"],
            errors=dict(self._errors),
            counters={**counters, **self._of_disk, **self._standstills},
            returned={
                kind: returned(slices, alike=self._program.alike)
                for kind, slices in self._returned.items()
                if slices and kind not in self._program.about_server
            },
        )


def returned(slices: Sequence[tuple[int, int, int]], *, alike: bool = True) -> Returned:
    """Sum over slices with executions: each slice's executions, rows and bytes."""
    executions, rows, bytes_ = (sum(column) for column in zip(*slices, strict=True))
    return Returned(
        executions=executions,
        slices=len(slices),
        rows=rows,
        rows_error=_error([(count, of_slice) for count, of_slice, _ in slices], rows, executions),
        bytes=bytes_,
        bytes_error=_error([(count, of_slice) for count, _, of_slice in slices], bytes_, executions),
        alike=alike,
    )


def _error(slices: Sequence[tuple[int, int]], total: int, executions: int) -> float:
    """The standard error of a ratio of sums over slices (Cochran, "Sampling Techniques", chapter 6).

    In integers, so that what is constant has an error of exactly 0.
    """
    squares = sum((of_slice * executions - total * count) ** 2 for count, of_slice in slices)
    scale = len(slices) / max(len(slices) - 1, 1)
    return float(f"{math.sqrt(scale * (squares / executions**2)) / executions:.6g}")
