"""A server's load by second, from the slices of a soak."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from shootout.soak.values import Gauge, SoakHeader, SoakSlice

SETTLING_S = 30  # at most a tenth of the load: what a cold start may take is not judged
PARTS = 60  # at least, of a load
BEYOND = 2.0  # standard deviations; what is farther away is a disturbance (docs/decisions.md)
DEVIATION = 1.4826  # that of noise without disturbances, by the median of its amounts
STALL = 0.1  # of the median throughput
EPISODE_S = 5  # stalls that are not farther apart are one

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """Logarithms of the speed's medians over parts of a load, which keep its course without its stalls."""

    logs: Values
    width_s: float

    @cached_property
    def steady(self) -> Values:
        """The logarithms, none much farther than usual from their running median over a quarter of the load.

        A shared machine's disturbances take half of the throughput for seconds, in one server's turns only.
        """
        median = median_filter(self.logs, len(self.logs) // 4 | 1, mode="nearest")
        beyond = self.logs - median
        usual = BEYOND * DEVIATION * float(np.median(np.abs(beyond)))
        steady: Values = median + np.clip(beyond, -usual, usual)
        return steady

    def over(self, other: Parts) -> Parts:
        """Divide by another server's, over as many seconds."""
        return Parts(self.logs - other.logs, self.width_s)


@dataclass(frozen=True)
class Curve:
    """One server's load by second."""

    tps: Values
    latency_s: Values  # the 95 % latency; NaN: nothing ended
    gauges: Mapping[Gauge, Values] = field(default_factory=dict)  # NaN: not read in that second
    open_loop: bool = False  # at a given rate, latency shows the server's speed

    @cached_property
    def speed(self) -> Values:
        """The speed that a healthy server keeps: throughput, or in an open loop the inverse latency."""
        return 1 / np.maximum(filled(self.latency_s), 1e-6) if self.open_loop else self.tps

    def until(self, seconds: int) -> Curve:
        """Cut it after its first seconds."""
        gauges = {name: values[:seconds] for name, values in self.gauges.items()}
        visible = {name: values for name, values in gauges.items() if not np.isnan(values).all()}
        return Curve(self.tps[:seconds], self.latency_s[:seconds], visible, self.open_loop)

    @property
    def settled_s(self) -> int:
        """Seconds at the beginning that are not judged."""
        return min(SETTLING_S, len(self.tps) // 10)

    @cached_property
    def parts(self) -> Parts:
        """The course of its speed."""
        judged = self.speed[self.settled_s :]
        width = max(1, len(judged) // PARTS)
        medians = np.median(judged[: len(judged) // width * width].reshape(-1, width), axis=1)
        least = 0.01 * max(float(np.median(judged)), 1e-6)
        return Parts(np.log(np.maximum(medians, least)), float(width))

    @cached_property
    def stalls(self) -> tuple[tuple[int, int], ...]:
        """First and last second of each episode whose throughput is below a tenth of the median."""
        low = np.flatnonzero(self.tps < STALL * np.median(self.tps))
        low = low[low >= self.settled_s]
        episodes = np.split(low, np.flatnonzero(np.diff(low) > EPISODE_S) + 1) if len(low) else []
        return tuple((int(seconds[0]), int(seconds[-1])) for seconds in episodes)

    @cached_property
    def residual(self) -> Values:
        """Throughput relative to its running median, less one."""
        judged = self.tps[self.settled_s :]
        median = median_filter(judged, len(judged) // 4 | 1, mode="nearest")
        relative: Values = np.clip(judged / np.maximum(median, 1e-9) - 1, -1, 1)
        return relative


def curves(header: SoakHeader, slices: Iterable[SoakSlice]) -> dict[str, Curve]:
    """Return each server's curve."""
    by_server: dict[str, list[SoakSlice]] = {}
    for taken in slices:
        by_server.setdefault(taken.server, []).append(taken)
    open_loop = header.load.rate is not None
    return {server: _curve(slices, open_loop) for server, slices in by_server.items()}


def _curve(slices: Sequence[SoakSlice], open_loop: bool) -> Curve:
    """Slices spread over whole seconds: transactions of a window and of its drain evenly over each."""
    count = int(max(taken.begins_s + taken.lasts_s for taken in slices))
    times, done = [0.0], [0.0]
    latency_s, gauges = np.full(count, np.nan), {name: np.full(count, np.nan) for name in get_args(Gauge)}
    for taken in slices:
        ends_s = taken.begins_s + taken.lasts_s
        for at_s, more in (
            (taken.begins_s, 0.0),
            (taken.begins_s + taken.window_s, taken.transactions),
            (ends_s, max(0.0, taken.completed - taken.transactions)),
        ):
            times.append(max(at_s, times[-1]))
            done.append(done[-1] + more)
        first = min(int(taken.begins_s), count - 1)
        if taken.completed:
            latency_s[first : int(ends_s)] = taken.p95_s
        for name, value in taken.gauges.items():
            gauges[name][first] = value
    tps = np.diff(np.interp(np.arange(count + 1), times, done))
    return Curve(tps, latency_s, gauges, open_loop).until(count)


def filled(values: Values) -> Values:
    """Fill gaps in the values linearly; zeros without any."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return np.zeros(len(values))
    return np.interp(np.arange(len(values)), known, values[known])
