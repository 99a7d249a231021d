"""Measure one start of one block on running servers: warm up until steady, then rounds of slices.

Knows neither processes nor sockets: a `Driver` makes the load, a `ServerHandle` reads the server, and all
randomness comes from the given generator.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from shootout._engine import LoadError, Slice
from shootout.analysis import stats
from shootout.errors import MeasureError, without_values
from shootout.measure.refusals import Refused
from shootout.measure.samples import SampleBuilder, WarmUp
from shootout.model.plan import Isolation, Load, Sampling
from shootout.model.program import Program
from shootout.model.run import JUMPED_S, STOOD_S, STOPPED_S, Samples, StartRecord

T = TypeVar("T")

ANSWER_TIMEOUT_S = 60.0
ROUNDS_MIN = 4  # each of two servers, and of four, takes each position equally often
# Once all pages are read, the rest of a cold start fades within a second or two of load (docs/results.md).
# Shorter slices show the fade sooner. Noisy slices need more rounds to bound what is left, up to a limit:
# noise alone must not keep a block from being measured.
WARMUP_ROUNDS_MIN = 16
WARMUP_ROUNDS_NOISY = 24
# A slow statement's slices last longer: fewer warm a server up as long, and the fit has too few values.
WARMUP_ROUNDS_SLOW = 2
WARMUP_SHARE_SLOW = 0.4  # of the warm-up's time, after which fewer rounds than usual will do
WARMUP_VALUES_MIN = 4  # in the newest half, to see whether they drift
WARMUP_SLICE_SHARE = 0.5  # of ramp and window
FADE_S = 1.5  # of load: the slowest time constant that the fit assumes
STEADY_TOLERANCE = 0.03  # of throughput: the largest estimated remainder of a cold start,
STEADY_BOUND = 0.05  # and its upper bound, with 95 % confidence
# A slice must be long enough for its transactions: in the ramp, connections that start together drift apart;
# the window holds about two cycles (transaction and think time) of each connection, or some arrivals. A slow
# one suffices, as transactions that cross its edges count by their share, and the ramp is short.
RAMP_CYCLES = 1.0
WINDOW_CYCLES = 2.0
WINDOW_CYCLES_SLOW = 1.0
WINDOW_ARRIVALS = 10.0
DRAIN_CYCLES = 5.0  # after the window, without that a server stalls
WINDOW_MAX_S = 10.0


class Driver(Protocol):
    """The maker of the load: the engine."""

    def slice(self, server: int, ramp_s: float, window_s: float, timeout_s: float) -> Slice:
        """Load the server for one slice; raises LoadError."""
        ...


@dataclass(frozen=True)
class ServerHandle:
    """A running server, as far as measuring needs it."""

    label: str
    cpu_s: Callable[[], float] | None  # None: not visible
    # Before the load they are read in this order, after it in the other: what comes later counts none of what
    # the earlier ones do themselves.
    counters: Sequence[Callable[[], Mapping[str, float]]]
    explain: Callable[[str], str]  # adds the server's post-mortem to a load error's message
    stop: Callable[[bool], None] | None = None  # stop (True) or resume its process; None: not possible
    control: bool = False  # a second instance of the base, for an A/A cell
    disk: Callable[[], Mapping[str, float]] = dict  # counters of the disk, which others use in turn


@dataclass(frozen=True)
class Measured:
    """A measured start; a server that failed before its first round has no samples."""

    record: StartRecord | None
    failures: tuple[MeasureError | None, ...]  # for each server: why it failed, or None


OnRound = Callable[[str, int, int], None]  # stage, round, rounds


def reason(error: LoadError) -> str:
    """Write a load error's message, with its code if the server sent one."""
    _, code, message = error.args
    message = without_values(str(message))
    return f"{message} ({code})" if code else message


def orders(servers: Sequence[int], rounds: int, generator: random.Random) -> tuple[tuple[int, ...], ...]:
    """Draw a random order of the servers for each round; each server takes each position equally often.

    A random order and its rotations, shuffled, make one balanced set: the rows of a cyclic Latin square
    (Cochran and Cox, "Experimental Designs", chapter 4).
    """
    drawn: list[tuple[int, ...]] = []
    while servers and len(drawn) < rounds:
        first = list(servers)
        generator.shuffle(first)
        rotations = [tuple(first[i:] + first[:i]) for i in range(len(first))]
        generator.shuffle(rotations)
        drawn.extend(rotations)
    return tuple(drawn[:rounds])


def turns(
    servers: Sequence[int], rounds: int, isolation: Isolation, generator: random.Random
) -> tuple[tuple[int, int], ...]:
    """Round and server of every slice, in slice order."""
    if isolation == "exclusive":
        return tuple(
            (number, server)
            for order in orders(servers, 1, generator)
            for server in order
            for number in range(rounds)
        )
    drawn = orders(servers, rounds, generator)
    return tuple((number, server) for number, order in enumerate(drawn) for server in order)


def measure_block(
    block: str,
    start: int,
    servers: Sequence[ServerHandle],
    *,
    program: Program,
    driver: Driver,
    sampling: Sampling,
    load: Load,
    generator: random.Random,
    on_round: OnRound,
    on_measuring: Callable[[], None] | None = None,
) -> Measured:
    """Measure one start of the block; a server that fails drops out and keeps the samples it has."""
    names = [kind.name for kind in program.kinds]
    slices = _Slices(driver, servers, sampling, load, [Refused(names) for _ in servers])
    with slices.stopped(servers):
        warmups = _warm_up(slices, generator, on_round)
        windows_s = {server: slices.window_s(server) for server in slices.live}
        rounds = max(ROUNDS_MIN, round(slices.measure_s() / max(windows_s.values(), default=1.0)))
        builders = {server: SampleBuilder(program) for server in slices.live}
        before = {server: slices.counters(server, 1) for server in slices.live}
        order: list[list[int]] = [[] for _ in range(rounds)]
        if on_measuring is not None:
            on_measuring()
        for number, server in turns(slices.live, rounds, sampling.isolation, generator):
            clocks = _clocks()
            on_round("measure", number + 1, rounds)
            cpu_s = servers[server].cpu_s
            before_s = slices.read(server, cpu_s, 0.0) if cpu_s else None
            of_disk = servers[server].disk()
            if (taken := slices.slice(server, windows_s[server])) is not None:
                used_s = None
                if cpu_s is not None and before_s is not None:
                    used_s = slices.read(server, cpu_s, before_s) - before_s
                builders[server].add(taken, used_s, _counted(of_disk, servers[server].disk()))
                builders[server].stood_still(slices.standstills(server, taken, clocks, _clocks()))
                order[number].append(server)
        samples: dict[bool, list[Samples]] = {True: [], False: []}  # by whether they are the control's
        for server, builder in builders.items():
            if builder.transactions:
                counted = _counted(before[server], slices.counters(server, -1))
                handle = servers[server]
                samples[handle.control].append(builder.samples(handle.label, warmups[server], counted))
    record = StartRecord(
        block=block,
        start=start,
        order=tuple(tuple(taken) for taken in order if taken),
        samples=tuple(samples[False]),
        aa_control=next(iter(samples[True]), None),
    )
    failures = tuple(map(slices.failures.get, range(len(servers))))
    return Measured(record if record.samples else None, failures)


def _clocks() -> tuple[float, ...]:
    """Seconds by the clock that only counts while the machine runs, and by those that may jump."""
    clocks = (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_REALTIME)
    return tuple(map(time.clock_gettime, clocks))


def _counted(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Compute how much each counter grew; one that decreased was reset, and is left out."""
    return {name: after[name] - then for name, then in before.items() if after.get(name, -math.inf) >= then}


@dataclass
class _Slices:
    """Runs slices: tracks which servers are live and how long a slice must be."""

    driver: Driver
    servers: Sequence[ServerHandle]
    sampling: Sampling
    load: Load
    refused: Sequence[Refused]
    latencies_s: dict[int, float] = field(default_factory=dict)  # each server's newest mean
    slowest_tps: float = math.inf  # in a closed loop, at the end of the warm-up
    failures: dict[int, MeasureError] = field(default_factory=dict)
    took_s: float = 0.0  # the last slice

    @property
    def live(self) -> list[int]:
        return [server for server in range(len(self.servers)) if server not in self.failures]

    def cycle_s(self, server: int) -> float:
        """Compute the time from one transaction of a connection to its next."""
        return self.latencies_s.get(server, 0.0) + self.load.think_s

    @property
    def longest_s(self) -> float:
        """The longest window of which ROUNDS_MIN fit; infinite where the profile asks for long cycles."""
        bound = not self.load.think_s and self.sampling.transactions is None
        return self.sampling.measure_s / ROUNDS_MIN if bound else math.inf

    def window_s(self, server: int, share: float = 1.0) -> float:
        """Compute the length of a slice's window; `share` shortens it as far as transactions allow."""
        cycle_s = self.cycle_s(server)
        cycles_s = max(min(WINDOW_CYCLES * cycle_s, self.longest_s), WINDOW_CYCLES_SLOW * cycle_s)
        arrivals_s = WINDOW_ARRIVALS / self.load.rate if self.load.rate else 0.0
        return min(max(share * self.sampling.slice_s, cycles_s, arrivals_s), WINDOW_MAX_S)

    def ramp_s(self, server: int, share: float = 1.0) -> float:
        """Compute the length of a slice's ramp; `share` shortens it likewise."""
        cycles_s = min(RAMP_CYCLES * self.cycle_s(server), self.longest_s)
        return min(max(share * self.sampling.ramp_s, cycles_s), WINDOW_MAX_S)

    @property
    def slow_warmup_s(self) -> float:
        """How long slow transactions warm a server up: no less than the longest warm-up by noise takes."""
        usual_s = WARMUP_ROUNDS_NOISY * WARMUP_SLICE_SHARE * (self.sampling.slice_s + self.sampling.ramp_s)
        return max(WARMUP_SHARE_SLOW * self.sampling.warmup_max_s, usual_s)

    @contextmanager
    def stopped(self, servers: Sequence[ServerHandle], stopped: bool = True) -> Iterator[None]:
        """Stop servers inside the block, or resume them, if idle ones must be stopped."""
        stops = [each.stop for each in servers if self.sampling.stops_idle and each.stop is not None]
        for stop in stops:
            stop(stopped)
        try:
            yield
        finally:
            for stop in stops:
                stop(not stopped)

    def counters(self, server: int, step: int) -> Mapping[str, float]:
        """Read a live server's counters, in order (`step` 1) or in reverse (-1); none if it has failed."""
        readings = self.servers[server].counters[::step]
        with self.stopped([self.servers[server]], False):
            return self.read(server, lambda: {name: n for read in readings for name, n in read().items()}, {})

    def measure_s(self) -> float:
        """Compute the measured time per server: the profile's, or what the slowest's transactions take."""
        wanted = self.sampling.transactions
        return self.sampling.measure_s if wanted is None else wanted / (self.load.rate or self.slowest_tps)

    def read(self, server: int, reading: Callable[[], T], otherwise: T) -> T:
        """Take a live server's reading; `otherwise` if it has failed or fails now."""
        if server in self.failures:
            return otherwise
        try:
            return reading()
        except MeasureError as error:
            self.failures[server] = error
            return otherwise

    def standstills(
        self, server: int, taken: Slice, before: Sequence[float], after: Sequence[float]
    ) -> Mapping[str, float]:
        """Compute how long the server, this process and the clocks stood still around a slice."""
        passed_s, *others = (now - then for then, now in zip(before, after, strict=True))
        planned_s = self.ramp_s(server) + taken.window_s + DRAIN_CYCLES * self.cycle_s(server)
        return {
            STOOD_S: 0.0 if self.load.rate else self.took_s - planned_s - taken.stopped_s,
            STOPPED_S: passed_s - self.took_s + taken.stopped_s,
            JUMPED_S: max(abs(other - passed_s) for other in others),
        }

    def speed(self, taken: Slice, latency_s: float) -> float:
        """Compute the log of what a cold start slows: throughput or, at a given rate, the inverse latency."""
        # A slice without a transaction counts as half of one: that has a logarithm, and looks unsteady.
        return -math.log(latency_s if self.load.rate else taken.window_s / max(taken.transactions, 0.5))

    def slice(self, server: int, window_s: float, share: float = 1.0) -> Slice | None:
        """Run one slice, with `share` of the usual ramp; None if the server has failed, now or before."""
        if server in self.failures:
            return None
        with self.stopped([self.servers[server]], False):
            begun_s = time.monotonic()
            try:
                taken = self.driver.slice(server, self.ramp_s(server, share), window_s, ANSWER_TIMEOUT_S)
                self.took_s = time.monotonic() - begun_s
                self.refused[server].add([each.count for each in taken.statements], taken.refusals)
                self.refused[server].check()
            except LoadError as error:
                self.failures[server] = MeasureError(self.servers[server].explain(reason(error)))
                self.failures[server].__cause__ = error
            except MeasureError as error:
                self.failures[server] = error
            else:
                return taken
            return None


def _warm_up(slices: _Slices, generator: random.Random, on_round: OnRound) -> dict[int, WarmUp]:
    history: dict[int, list[float]] = {server: [] for server in slices.live}
    windows_s = loaded_s = 0.0  # of the slowest server: all windows, and all slices
    while slices.live:
        rounds = 1 + max(len(history[server]) for server in slices.live)
        on_round("warm-up", rounds, 0)
        (order,) = orders(slices.live, 1, generator)
        window_s = max(slices.window_s(server, WARMUP_SLICE_SHARE) for server in order)
        loaded_s += max(slices.ramp_s(server, WARMUP_SLICE_SHARE) for server in order) + window_s
        for server in order:
            if (taken := slices.slice(server, window_s, WARMUP_SLICE_SHARE)) is not None:
                # A slice in which nothing ended was shorter than a transaction, for which it waited.
                took_s = max(taken.window_s, slices.took_s)
                slices.latencies_s[server] = taken.latencies.mean_s if taken.latencies.count else took_s
                history[server].append(slices.speed(taken, slices.latencies_s[server]))
        windows_s += window_s
        loaded_s += max((slices.cycle_s(server) for server in slices.live), default=0.0)
        slow = loaded_s > slices.slow_warmup_s and rounds >= WARMUP_ROUNDS_SLOW
        if rounds < WARMUP_ROUNDS_MIN and not slow:
            continue
        warmups = {server: _assess(history[server], slices, window_s) for server in slices.live}
        certain = slow or rounds >= WARMUP_ROUNDS_NOISY or all(certain for _, certain in warmups.values())
        steady = all(warm_up.steady for warm_up, _ in warmups.values())
        if (steady and certain) or windows_s > slices.sampling.warmup_max_s:
            newest = (history[server][rounds // 2 :] for server in slices.live)
            means = (sum(values) / len(values) for values in newest)
            slices.slowest_tps = math.exp(min(means, default=math.inf))
            return {server: warm_up for server, (warm_up, _) in warmups.items()}
    return {}


def _assess(speeds: Sequence[float], slices: _Slices, window_s: float) -> tuple[WarmUp, bool]:
    """A server's warm-up so far, and whether the rest of its cold start is certainly small."""
    newest = speeds[len(speeds) // 2 :]
    if len(newest) < WARMUP_VALUES_MIN:
        return WarmUp(len(speeds), 0.0, True), False
    left = stats.settling(speeds, FADE_S / window_s, slices.sampling.measure_s / window_s)
    fades = left.significant and abs(left.remaining) > STEADY_TOLERANCE
    steady = not (fades or stats.drifts(newest, STEADY_TOLERANCE))
    return WarmUp(len(speeds), stats.drift(newest)[0], steady), left.bound <= STEADY_BOUND
