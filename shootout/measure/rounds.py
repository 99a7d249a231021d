"""One start of one block, on servers that already run: warm up until steady, then rounds of slices.

Knows neither processes nor sockets: what it loads is a `Driver`, what it reads is a `Subject`, and all
randomness comes from the generator it is given.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from shootout._engine import Histogram, LoadError, Slice
from shootout.analysis import stats
from shootout.errors import MeasureError
from shootout.model.plan import Isolation, Load, Sampling
from shootout.model.run import Samples, StartRecord

T = TypeVar("T")

ANSWER_TIMEOUT_S = 60.0
ROUNDS_MIN = 6
# After the pages are read once, what is left of a cold start is gone within a second or two of load
# (docs/method.md). Shorter slices show sooner how it fades. Where they are noisy, more of them are needed to
# know how little is left; but only up to some: then noise alone no longer keeps a block from being measured.
WARMUP_ROUNDS_MIN = 16
WARMUP_ROUNDS_NOISY = 24
WARMUP_SLICE_SHARE = 0.5  # of ramp and window
FADE_S = 1.5  # of load: the slowest time constant that is looked for
STEADY_TOLERANCE = 0.03  # of throughput: what is seen to be left, at most,
STEADY_BOUND = 0.05  # and what may be left unseen, with 95 % confidence
# A slice must hold its transactions: the ramp lets those of the common start drift apart, the window sees
# each connection go through at least about two cycles, of a transaction and its think time, or some arrive.
RAMP_CYCLES = 1.0
WINDOW_CYCLES = 2.0
WINDOW_ARRIVALS = 10.0
WINDOW_MAX_S = 10.0


class Driver(Protocol):
    """What loads a server: the engine."""

    def slice(self, server: int, ramp_s: float, window_s: float, timeout_s: float) -> Slice:
        """One slice; raises LoadError."""
        ...


@dataclass(frozen=True)
class Subject:
    """A running server, as far as measuring reads it."""

    label: str
    cpu_s: Callable[[], float] | None  # None: not visible
    counters: Callable[[], Mapping[str, float]]
    explain: Callable[[str], str]  # a load error's message, with what the server has to say to it
    stop: Callable[[bool], None] | None = None  # its process, or let it go on; None: that cannot be done


@dataclass(frozen=True)
class Measured:
    """What came of it: nothing of a server that failed before its first round."""

    record: StartRecord | None
    failures: Mapping[str, str]  # reasons, by label


Watch = Callable[[str, int, int], None]  # stage, round, rounds


def orders(servers: Sequence[int], rounds: int, generator: random.Random) -> tuple[tuple[int, ...], ...]:
    """For each round the servers in a random order, balanced: each stands equally often in each place.

    A random order and its rotations, shuffled, make one balanced set; then comes another. (Rows of a cyclic
    Latin square: Cochran and Cox, "Experimental Designs", chapter 4.)
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
    """Round and server of every slice, in the order of the slices."""
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
    subjects: Sequence[Subject],
    *,
    kinds: Sequence[str],
    driver: Driver,
    sampling: Sampling,
    load: Load,
    generator: random.Random,
    watch: Watch,
) -> Measured:
    """Measure one start of the block on `subjects`, which the driver numbers in this order.

    A server that fails is left out from there on; what was measured of it stays.
    """
    course = _Course(driver, subjects, sampling, load)
    with course.isolated():
        return _measure(course, block, start, kinds=kinds, generator=generator, watch=watch)


def _measure(
    course: _Course,
    block: str,
    start: int,
    *,
    kinds: Sequence[str],
    generator: random.Random,
    watch: Watch,
) -> Measured:
    subjects, sampling = course.subjects, course.sampling
    warmups = _warm_up(course, generator, watch)
    window_s = course.window_s()
    rounds = max(ROUNDS_MIN, round(course.measure_s() / window_s))
    tallies = {server: _Tally(kinds) for server in course.live}
    before = {server: course.counters(server) for server in course.live}
    order: list[list[int]] = [[] for _ in range(rounds)]
    for number, server in turns(course.live, rounds, sampling.isolation, generator):
        watch("measure", number + 1, rounds)
        cpu_s = subjects[server].cpu_s
        before_s = course.read(server, cpu_s, 0.0) if cpu_s else None
        if (taken := course.slice(server, window_s)) is not None:
            used_s = None
            if cpu_s is not None and before_s is not None:
                used_s = course.read(server, cpu_s, before_s) - before_s
            tallies[server].add(taken, used_s)
            order[number].append(server)
    samples = []
    for server, tally in tallies.items():
        if tally.transactions:
            counted = _counted(before[server], course.counters(server))
            samples.append(tally.samples(subjects[server].label, warmups[server], counted))
    taken_part = tuple(tuple(measured) for measured in order if measured)
    record = StartRecord(block=block, start=start, order=taken_part, samples=tuple(samples))
    failures = {subjects[server].label: reason for server, reason in course.failures.items()}
    return Measured(record if samples else None, failures)


def _counted(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What came to each counter; one that went back was reset meanwhile, and says nothing."""
    known = ((name, value, after[name]) for name, value in before.items() if name in after)
    return {name: now - then for name, then, now in known if now >= then}


@dataclass
class _Course:
    """The slices of a block as they go: who still takes part, and how long a slice must be."""

    driver: Driver
    subjects: Sequence[Subject]
    sampling: Sampling
    load: Load
    latency_s: float = 0.0  # the slowest server's mean, so far
    slowest_tps: float = math.inf  # of the servers, at the end of the warm-up
    failures: dict[int, str] = field(default_factory=dict)

    @property
    def live(self) -> list[int]:
        return [server for server in range(len(self.subjects)) if server not in self.failures]

    @property
    def cycle_s(self) -> float:
        """From one transaction of a connection to its next."""
        return self.latency_s + self.load.think_s

    def window_s(self, share: float = 1.0) -> float:
        """The length of a slice's window, of `share` times the usual while transactions are short."""
        arrivals_s = WINDOW_ARRIVALS / self.load.rate if self.load.rate else 0.0
        return min(max(share * self.sampling.slice_s, WINDOW_CYCLES * self.cycle_s, arrivals_s), WINDOW_MAX_S)

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """All servers stopped, where the idle ones are to be; on the way out they go on."""
        self._stop_all(True)
        try:
            yield
        finally:
            self._stop_all(False)

    def _stop_all(self, stopped: bool) -> None:
        for server in range(len(self.subjects)):
            self._stop(server, stopped)

    def _stop(self, server: int, stopped: bool) -> None:
        stop = self.subjects[server].stop
        if self.sampling.stops_idle and stop is not None:
            stop(stopped)

    @contextmanager
    def _in_turn(self, server: int) -> Iterator[None]:
        """The server goes on, for what needs it."""
        self._stop(server, False)
        try:
            yield
        finally:
            self._stop(server, True)

    def counters(self, server: int) -> Mapping[str, float]:
        """What a live server counts; nothing of one that has failed."""
        none: Mapping[str, float] = {}
        with self._in_turn(server):
            return self.read(server, self.subjects[server].counters, none)

    def measure_s(self) -> float:
        """The counted time of each server: the profile's, or what the slowest takes for its transactions."""
        wanted = self.sampling.transactions
        return self.sampling.measure_s if wanted is None else wanted / self.slowest_tps

    def read(self, server: int, reading: Callable[[], T], otherwise: T) -> T:
        """What a live server's reading says; of one that has failed, or fails at it, `otherwise`."""
        if server in self.failures:
            return otherwise
        try:
            return reading()
        except MeasureError as error:
            self.failures[server] = str(error)
            return otherwise

    def speed(self, taken: Slice, latency_s: float) -> float:
        """The logarithm of what shows a cold start: throughput, or at a given rate how soon answers come."""
        # A slice without a transaction counts as half of one: it has a logarithm, and it looks unsteady.
        return -math.log(latency_s if self.load.rate else taken.window_s / max(taken.transactions, 0.5))

    def slice(self, server: int, window_s: float, share: float = 1.0) -> Slice | None:
        """One slice on a server, with `share` of the usual ramp; None where it has failed, now or before."""
        if server in self.failures:
            return None
        ramp_s = min(max(share * self.sampling.ramp_s, RAMP_CYCLES * self.cycle_s), WINDOW_MAX_S)
        with self._in_turn(server):
            try:
                return self.driver.slice(server, ramp_s, window_s, ANSWER_TIMEOUT_S)
            except LoadError as error:
                _, code, message = error.args
                words = f"error {code}: {message}" if code else str(message)
                self.failures[server] = self.subjects[server].explain(words)
                return None


@dataclass(frozen=True)
class _WarmUp:
    rounds: int
    drift: float
    steady: bool


def _warm_up(course: _Course, generator: random.Random, watch: Watch) -> dict[int, _WarmUp]:
    """Slices that do not count, until those of every server have settled or their time is over."""
    history: dict[int, list[float]] = {server: [] for server in course.live}
    spent_s = 0.0
    while course.live:
        rounds = 1 + max(len(history[server]) for server in course.live)
        watch("warm-up", rounds, 0)
        (order,) = orders(course.live, 1, generator)
        window_s = course.window_s(WARMUP_SLICE_SHARE)
        latencies_s = []
        for server in order:
            if (taken := course.slice(server, window_s, WARMUP_SLICE_SHARE)) is not None:
                latencies_s.append(taken.window_s if taken.latencies.count == 0 else taken.latencies.mean_s)
                history[server].append(course.speed(taken, latencies_s[-1]))
        spent_s += window_s
        course.latency_s = max(latencies_s, default=0.0)
        if rounds < WARMUP_ROUNDS_MIN:
            continue
        found = {server: _settled(history[server], course, window_s) for server in course.live}
        known = rounds >= WARMUP_ROUNDS_NOISY or all(known for _, known in found.values())
        steady = all(warm_up.steady for warm_up, _ in found.values())
        if (steady and known) or spent_s > course.sampling.warmup_max_s:
            newest = (history[server][rounds // 2 :] for server in course.live)
            means = (sum(values) / len(values) for values in newest)
            course.slowest_tps = math.exp(min(means, default=math.inf))
            return {server: warm_up for server, (warm_up, _) in found.items()}
    return {}


def _settled(speeds: Sequence[float], course: _Course, window_s: float) -> tuple[_WarmUp, bool]:
    """How far a server's slices of that length have settled, and whether noise leaves that open."""
    newest = speeds[len(speeds) // 2 :]
    left = stats.settling(speeds, FADE_S / window_s, course.sampling.measure_s / window_s)
    fades = left.shown and abs(left.left) > STEADY_TOLERANCE
    steady = not (fades or stats.drifts(newest, STEADY_TOLERANCE))
    return _WarmUp(len(speeds), stats.drift(newest)[0], steady), left.most <= STEADY_BOUND


class _Tally:
    """One server's slices, added up round by round."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self.transactions: list[float] = []
        self._window_s: list[float] = []
        self._server_cpu_s: list[float | None] = []
        self._client_cpu_s: list[float] = []
        self._completed: list[int] = []
        self._latencies = Histogram()
        self._statements = {kind: Histogram() for kind in kinds}
        self._effects: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    def add(self, taken: Slice, server_cpu_s: float | None) -> None:
        self.transactions.append(round(taken.transactions, 4))
        self._window_s.append(round(taken.window_s, 6))
        self._server_cpu_s.append(None if server_cpu_s is None else round(server_cpu_s, 6))
        self._client_cpu_s.append(round(taken.client_cpu_s, 6))
        self._completed.append(taken.completed)
        self._latencies.add(taken.latencies)
        for histogram, one in zip(self._statements.values(), taken.statements, strict=True):
            histogram.add(one)
        self._effects.update(reads=taken.reads, writes=taken.writes, other=taken.other)
        self._errors.update({str(code): count for code, count in taken.errors.items()})

    def samples(self, server: str, warmup: _WarmUp, counters: Mapping[str, float]) -> Samples:
        server_cpu_s = tuple(each for each in self._server_cpu_s if each is not None)
        return Samples(
            server=server,
            steady=warmup.steady,
            warmup_rounds=warmup.rounds,
            drift=round(warmup.drift, 6),
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
            counters=dict(counters),
        )
