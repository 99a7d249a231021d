"""Order, warm-up, slice lengths and failures of a block, with a driver that needs neither server nor time."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout._engine import Histogram, LoadError, Slice
from shootout.inputs import workload
from shootout.measure import refusals, rounds
from shootout.measure.rounds import Measured, ServerHandle, measure_block, orders
from shootout.measure.samples import SampleBuilder, WarmUp
from shootout.model.plan import Dataset, Isolation, Load, Sampling
from shootout.model.run import JUMPED_S, STOOD_S, STOPPED_S, StartRecord

PROGRAM = workload.compile_program("oltp_point_select", workload.load("oltp_point_select"), Dataset())
SAMPLING = Sampling(slice_s=0.1, ramp_s=0.02, measure_s=1.2, warmup_max_s=3.0)
CLOSED = Load()


@dataclass
class FakeSlice:
    """Stands in for the engine's Slice."""

    transactions: float
    window_s: float
    completed: int
    latencies: Histogram
    statements: list[Histogram]
    reads: int = 0
    writes: int = 0
    other: int = 0
    errors: dict[int, int] = field(default_factory=dict)
    refusals: list[tuple[int, int, int, str]] = field(default_factory=list)
    client_cpu_s: float = 0.001
    returned: list[tuple[int, int, int]] = field(default_factory=lambda: [(3, 6, 60)])
    stopped_s: float = 0.0


@dataclass
class FakeDriver:
    """Turns (server, slice number) into a throughput; records the calls."""

    tps: Callable[[int, int], float]
    latency_s: float | Callable[[int, int], float] = 0.001
    fails: tuple[int, int] | None = None  # server, slice number
    refuses: int | None = None  # the server that refuses all
    asked: list[tuple[int, float, float]] = field(default_factory=list)

    def slice(self, server: int, ramp_s: float, window_s: float, timeout_s: float) -> Slice:
        number = sum(1 for other, *_ in self.asked if other == server)
        self.asked.append((server, ramp_s, window_s))
        if self.fails is not None and self.fails[0] == server and number >= self.fails[1]:
            raise LoadError(server, 1064, "You have an error in your SQL syntax")
        transactions = self.tps(server, number) * window_s
        latencies = Histogram()
        latency_s = self.latency_s if isinstance(self.latency_s, float) else self.latency_s(server, number)
        latencies.record(int(latency_s * 1e9))
        refusals = [(0, 1062, 30, "Duplicate entry 'bob' for key 'k'")] if server == self.refuses else []
        taken = FakeSlice(transactions, window_s, int(transactions), latencies, [Histogram()], reads=3)
        taken.refusals = refusals
        return cast(Slice, taken)


def constant(server: int, number: int) -> float:
    return 1000.0


def measured(
    driver: FakeDriver,
    servers: int = 2,
    sampling: Sampling = SAMPLING,
    load: Load = CLOSED,
    hidden: tuple[int, ...] = (),
    *,
    stop: Callable[[int, bool], None] = lambda server, stopped: None,
    control: int | None = None,
    disk: Callable[[], dict[str, float]] | None = None,
    readings: Sequence[Callable[[], dict[str, float]]] = (),
) -> Measured:
    used_s = [0.0] * servers
    work = [0.0] * servers

    def handle(index: int) -> ServerHandle:
        def spend() -> float:
            used_s[index] += 0.005
            return used_s[index]

        def count() -> dict[str, float]:
            work[index] += 7
            return {"Handler_read_key": work[index]}

        cpu_s = None if index in hidden else spend
        name = "abcdefgh"[index]
        return ServerHandle(
            name, cpu_s, readings or [count], lambda words: f"server says: {words}", partial(stop, index),
            index == control, disk or dict,
        )  # fmt: skip

    return measure_block(
        "block",
        3,
        [handle(index) for index in range(servers)],
        program=PROGRAM,
        driver=driver,
        sampling=sampling,
        load=load,
        generator=random.Random(1),
        on_round=lambda stage, round_, rounds: None,
    )


def recorded(driver: FakeDriver, **changes: Any) -> StartRecord:
    record = measured(driver, **changes).record
    assert record is not None
    return record


@pytest.mark.parametrize(("load", "rounds_"), [(CLOSED, 20), (Load(rate=250.0), 40)])
def test_a_number_of_transactions_lasts_until_the_slowest_has_done_them_or_they_have_arrived(
    load: Load, rounds_: int
) -> None:
    driver = FakeDriver(lambda server, number: (1000.0, 500.0)[server])
    record = recorded(driver, sampling=structs.replace(SAMPLING, transactions=1000), load=load)
    assert len(record.order) == rounds_  # 1000 at 500 or 250 a second, in slices of 0.1 s


@given(st.integers(1, 8), st.integers(1, 60), st.integers())
def test_every_round_has_every_server_and_places_are_balanced(servers: int, count: int, seed: int) -> None:
    drawn = orders(range(servers), count, random.Random(seed))
    assert len(drawn) == count
    assert all(sorted(order) == list(range(servers)) for order in drawn)
    first = Counter(order[0] for order in drawn)
    assert max(first.values()) - min(first.get(server, 0) for server in range(servers)) <= 1


def test_orders_are_random_and_repeatable() -> None:
    drawn = orders(range(3), 30, random.Random(5))
    assert drawn == orders(range(3), 30, random.Random(5))
    assert len(set(drawn)) > 3


def test_a_steady_block_is_measured_for_the_time_asked() -> None:
    driver = FakeDriver(tps=lambda server, number: 1000.0 * (server + 1))
    result = measured(driver, hidden=(1,))
    assert result.failures == (None, None)
    assert result.record is not None
    assert (result.record.block, result.record.start) == ("block", 3)
    assert len(result.record.order) == 12
    one, two = result.record.samples
    assert (one.server, two.server) == ("a", "b")
    assert one.transactions == (100.0,) * 12
    assert two.transactions == (200.0,) * 12
    assert one.steady
    assert (one.server_cpu_s, two.server_cpu_s) == ((0.005,) * 12, None)
    assert one.counters == {"Handler_read_key": 7.0}
    assert one.reads == 36
    assert Histogram.decode(one.latencies).count == 12


def test_a_disk_that_servers_share_is_counted_in_turns() -> None:
    driver = FakeDriver(tps=constant)
    record = recorded(
        driver, disk=lambda: {"disk_flushes": sum((1, 10)[server] for server, *_ in driver.asked)}
    )
    one, two = record.samples
    assert (one.counters["disk_flushes"], two.counters["disk_flushes"]) == (12.0, 120.0)


def test_a_counter_that_was_reset_is_left_out() -> None:
    readings = iter([{"reset": 9.0, "grew": 1.0, "went": 2.0}, {"reset": 3.0, "grew": 4.0, "came": 5.0}])
    assert counted(lambda: next(readings)) == {"grew": 3.0}


def test_what_is_read_last_before_the_load_is_read_first_after_it() -> None:
    """So the first reading counts the other's two rows, and the other none of the first's."""
    rows = [0.0, 0.0]

    def read(of: int, other: int) -> dict[str, float]:
        found = {f"of {of}": rows[of]}
        rows[other] += 2
        return found

    assert counted(lambda: read(0, 1), lambda: read(1, 0)) == {"of 0": 4.0, "of 1": 0.0}


def counted(*readings: Callable[[], dict[str, float]]) -> Mapping[str, float]:
    """Measure what a server's counters grew by."""
    return recorded(FakeDriver(tps=constant), servers=1, readings=readings).samples[0].counters


def warmed_up(
    tps: Callable[[int, int], float],
    latency_s: float | Callable[[int, int], float] = 0.001,
    load: Load = CLOSED,
) -> tuple[int, bool]:
    """The last of two servers: its warm-up rounds, and whether it was steady."""
    record = recorded(FakeDriver(tps=tps, latency_s=latency_s), load=load)
    return record.samples[-1].warmup_rounds, record.samples[-1].steady


def noisy(spread: float, seed: int, cold: float = 0.0, fade: float = 1.0) -> Callable[[int, int], float]:
    """Slices with a spread of `spread`, slower by `cold` at first, which fades within `fade` slices."""
    dice = random.Random(seed)
    return lambda server, number: 1000 * math.exp(dice.gauss(0, spread) - cold * math.exp(-number / fade))


def test_a_quiet_machine_is_known_to_be_steady_at_once() -> None:
    assert warmed_up(noisy(0.01, 1)) == (rounds.WARMUP_ROUNDS_MIN, True)


def test_noise_alone_takes_longer_to_know_and_marks_nothing() -> None:
    found = [warmed_up(noisy(0.12, seed)) for seed in range(25)]
    assert all(steady for _, steady in found)
    assert rounds.WARMUP_ROUNDS_MIN < mean(count for count, _ in found) <= rounds.WARMUP_ROUNDS_NOISY


def test_a_start_that_is_cold_for_seconds_is_warmed_for_longer_though_slices_are_noisy() -> None:
    """Half a second of load each: the measured slices are within 1 % of a warm server."""
    found = [warmed_up(noisy(0.12, seed, cold=0.3, fade=10)) for seed in range(25)]
    assert all(steady for _, steady in found)
    left = [0.3 * mean(math.exp(-n / 10) for n in range(count, count + 24)) for count, _ in found]
    assert mean(left) < 0.01


@pytest.mark.parametrize("rate", [2.0, 20.0, 500.0])
def test_arrivals_at_random_mark_nothing(rate: float) -> None:
    """Random counts, and with few arrivals an unreliable mean latency."""
    rng, window_s = np.random.default_rng(1), max(0.05, 10 / rate)

    def tps(server: int, number: int) -> float:
        return float(rng.poisson(rate * window_s)) / window_s

    def latency_s(server: int, number: int) -> float:
        return float(rng.gamma(10, 0.0005))

    found = [warmed_up(tps, latency_s=latency_s, load=Load(rate=rate)) for _ in range(50)]
    assert sum(not steady for _, steady in found) <= 1


def test_at_a_rate_a_cold_start_shows_in_the_latency() -> None:
    def latency_s(server: int, number: int) -> float:
        return 0.002 * (1 + 4 * math.exp(-number / 30))

    load = Load(rate=500.0)
    driver = FakeDriver(tps=lambda server, number: 500.0, latency_s=latency_s)
    record = recorded(driver, load=load)
    assert record.samples[0].warmup_rounds > 2 * rounds.WARMUP_ROUNDS_MIN


def test_a_server_that_never_settles_is_marked() -> None:
    driver = FakeDriver(tps=lambda server, number: 1000.0 * (1.05**number if server else 1))
    record = recorded(driver)
    settled, restless = record.samples
    assert settled.steady
    assert not restless.steady
    assert restless.drift > 0.1


@pytest.mark.parametrize(
    ("latency_s", "window_s", "ramp_s"),
    [(0.001, 0.1, 0.02), (0.1, 0.2, 0.1), (0.2, 0.3, 0.2), (2.0, 2.0, 0.3)],
)
def test_slices_grow_with_the_latency(latency_s: float, window_s: float, ramp_s: float) -> None:
    driver = FakeDriver(tps=lambda server, number: 100.0, latency_s=latency_s)
    record = recorded(driver)
    assert driver.asked[-1][1:] == pytest.approx((ramp_s, window_s), rel=0.01)
    assert len(record.order) == max(rounds.ROUNDS_MIN, round(SAMPLING.measure_s / window_s))


@pytest.mark.parametrize(("slow_s", "longest_s"), [(0.465, 5.0), (3.0, 28.0)])
def test_a_slow_statement_takes_a_few_of_its_own_time_for_each_start(slow_s: float, longest_s: float) -> None:
    """Two servers of unlike speed: the fast one's slices stay short, the slow one's rounds are few."""
    driver = FakeDriver(lambda server, number: 1.0, lambda server, number: (0.014, slow_s)[server])
    record = recorded(driver, sampling=Sampling())
    warm_up, of_slow = (
        [each for each in driver.asked[part] if each[0]]
        for part in (slice(0, -2 * rounds.ROUNDS_MIN), slice(-2 * rounds.ROUNDS_MIN, None))
    )
    assert len(record.order) == len(of_slow) == rounds.ROUNDS_MIN
    assert 2 <= len(warm_up) <= 4
    assert all(samples.steady for samples in record.samples)
    assert driver.asked[-1][1:] == pytest.approx(
        (0.3, slow_s) if driver.asked[-1][0] else (0.02, 0.1), rel=0.01
    )
    # With the transaction that it waits for at the end, which began before.
    assert sum(ramp_s + window_s for _, ramp_s, window_s in (*warm_up, *of_slow)) < longest_s


@pytest.mark.parametrize(
    ("load", "window_s", "ramp_s"),
    [
        (Load(think_s=0.3), 0.8, 0.4),  # two cycles of latency and thinking; the ramp is one
        (Load(think_s=30.0), 10.0, 10.0),
        (Load(rate=20.0), 0.5, 0.1),  # ten arrivals
        (Load(rate=1_000.0), 0.2, 0.1),
        (Load(rate=0.1), 10.0, 0.1),
    ],
)
def test_slices_grow_with_the_pace(load: Load, window_s: float, ramp_s: float) -> None:
    driver = FakeDriver(tps=lambda server, number: 100.0, latency_s=0.1)
    recorded(driver, load=load)
    assert driver.asked[-1][1:] == pytest.approx((ramp_s, window_s), rel=0.01)


def test_a_server_that_fails_leaves_the_others_measured() -> None:
    driver = FakeDriver(tps=constant, fails=(1, 20))
    result = measured(driver, servers=3)
    assert list(map(str, result.failures)) == [
        "None", "server says: You have an error in your SQL syntax (1064)", "None"
    ]  # fmt: skip
    assert [refusals.code(failure) for failure in result.failures if failure] == [1064]
    assert result.record is not None
    whole, torn, other = result.record.samples
    assert len(whole.transactions) == len(other.transactions) == 12
    assert len(torn.transactions) == 20 - whole.warmup_rounds
    assert all(1 not in order for order in result.record.order[len(torn.transactions) :])


def test_an_aa_control_has_a_place_of_its_own() -> None:
    record = recorded(FakeDriver(constant), servers=3, control=2)
    assert [samples.server for samples in record.samples] == ["a", "b"]
    assert record.aa_control is not None
    assert record.aa_control.server == "c"
    assert set(record.order[0]) == {0, 1, 2}


def test_a_server_that_fails_while_warming_is_not_in_the_record() -> None:
    driver = FakeDriver(tps=constant, fails=(0, 2))
    result = measured(driver)
    assert [reason is None for reason in result.failures] == [False, True]
    assert result.record is not None
    assert [samples.server for samples in result.record.samples] == ["b"]
    assert measured(FakeDriver(tps=constant, fails=(0, 0)), servers=1).record is None


def test_a_standstill_is_measured_as_one() -> None:
    driver = FakeDriver(tps=lambda server, number: 0.0 if server else 1000.0)
    record = recorded(driver)
    assert record.samples[1].transactions == (0.0,) * 12


# --- isolation ------------------------------------------------------------------------------------


@dataclass
class Processes:
    """Stopped servers, and how often each was asked for."""

    stopped: set[int] = field(default_factory=set)
    asked: int = 0

    def stop(self, server: int, stopped: bool) -> None:
        self.asked += 1
        (self.stopped.add if stopped else self.stopped.discard)(server)


@pytest.mark.parametrize("isolation", ["pause", "exclusive"])
def test_idle_servers_are_stopped_in_another_ones_turn(isolation: Isolation) -> None:
    processes = Processes()
    awake: list[set[int]] = []

    def tps(server: int, number: int) -> float:
        awake.append({0, 1, 2} - processes.stopped)
        return 1000.0

    driver = FakeDriver(tps)
    sampling = structs.replace(SAMPLING, isolation=isolation)
    recorded(driver, servers=3, sampling=sampling, stop=processes.stop)
    assert awake == [{server} for server, *_ in driver.asked]
    assert processes.stopped == set()


def test_servers_that_share_the_machine_are_never_stopped() -> None:
    processes = Processes()
    measured(FakeDriver(tps=constant), stop=processes.stop)
    assert processes.asked == 0


def test_a_server_that_fails_is_not_left_stopped() -> None:
    processes = Processes()
    sampling = structs.replace(SAMPLING, isolation="pause")
    driver = FakeDriver(tps=constant, fails=(1, 20))
    alive, failed = measured(driver, sampling=sampling, stop=processes.stop).failures
    assert (alive, failed is None) == (None, False)
    assert processes.stopped == set()


def test_an_exclusive_servers_slices_are_one_stretch() -> None:
    driver = FakeDriver(tps=constant)
    record = recorded(driver, sampling=structs.replace(SAMPLING, isolation="exclusive"))
    counted = [server for server, *_ in driver.asked[-24:]]
    assert counted in ([0] * 12 + [1] * 12, [1] * 12 + [0] * 12)
    assert len(set(record.order)) == 1
    assert len(record.order) == 12
    assert all(len(samples.transactions) == 12 for samples in record.samples)


@pytest.mark.parametrize(
    ("took_s", "stopped_s", "after", "load", "expected"),
    [
        (0.13, 0.0, (0.14, 0.14, 0.14), CLOSED, {}),
        (0.13, 0.0, (0.9, 0.9, 0.9), CLOSED, {}),
        (3.13, 0.0, (3.14, 3.14, 3.14), CLOSED, {STOOD_S: 3.005}),
        (3.13, 0.0, (3.14, 3.14, 3.14), Load(rate=250.0), {}),
        (20.13, 19.9, (20.14, 20.14, 20.14), CLOSED, {STOPPED_S: 19.91}),
        (0.13, 0.0, (20.14, 20.14, 20.14), CLOSED, {STOPPED_S: 20.01}),
        (0.13, 0.0, (0.14, 20.14, 20.14), CLOSED, {JUMPED_S: 20.0}),
        (0.13, 0.0, (0.14, 0.14, -9.86), CLOSED, {JUMPED_S: 10.0}),
    ],
)
def test_what_stands_still_around_a_slice_is_counted(
    took_s: float, stopped_s: float, after: tuple[float, ...], load: Load, expected: dict[str, float]
) -> None:
    slices = rounds._Slices(
        FakeDriver(constant), [], SAMPLING, load, [], latencies_s={0: 0.001}, took_s=took_s
    )
    taken = cast(Slice, FakeSlice(100, 0.1, 100, Histogram(), [Histogram()], stopped_s=stopped_s))
    builder = SampleBuilder(PROGRAM)
    builder.add(taken, None, {})
    builder.stood_still(slices.standstills(0, taken, (0.0, 0.0, 0.0), after))
    assert builder.samples("a", WarmUp(1, 0.0, True), {}).counters == pytest.approx(expected)


def test_rows_are_added_up_over_slices_where_they_come_from_tables() -> None:
    driver = FakeDriver(constant)
    (returned,) = recorded(driver).samples[0].returned.values()
    slices = returned.slices
    assert (returned.executions, returned.rows, returned.bytes) == (3 * slices, 6 * slices, 60 * slices)
    assert (returned.rows_error, returned.bytes_error) == (0.0, 0.0)


SHOW = "SHOW STATUS LIKE 'Threads%'"
SCHEMA = "SELECT COUNT(*) FROM `information_schema`.TABLES"


@pytest.mark.parametrize(
    ("sql", "counted"), [(SHOW, False), (SCHEMA, False), ("SELECT shows FROM sys", True)]
)
def test_rows_about_the_server_itself_are_not_counted(sql: str, counted: bool) -> None:
    (transaction,) = PROGRAM.transactions
    (step,) = transaction.steps
    (statement,) = step.statements
    step = structs.replace(step, statements=(structs.replace(statement, pieces=(sql,)),))
    builder = SampleBuilder(
        structs.replace(PROGRAM, transactions=(structs.replace(transaction, steps=(step,)),))
    )
    builder.add(FakeDriver(constant).slice(0, 0.0, 0.1, 1.0), None, {})
    assert bool(builder.samples("a", WarmUp(1, 0.0, True), {}).returned) == counted


def test_connections_with_rows_of_their_own_do_not_ask_alike() -> None:
    alike = {
        name: workload.compile_program(name, workload.load(name), Dataset()).alike
        for name in ("oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges")
    }
    assert [name for name, shared in alike.items() if not shared] == [
        "select_random_points",
        "select_random_ranges",
    ]


def test_a_server_that_mostly_refuses_a_statement_fails_at_once_with_its_words() -> None:
    driver = FakeDriver(constant, refuses=1)
    found = measured(driver)
    said = "statement `point_select`: Duplicate entry '…' for key 'k' (1062), in 100 % of its attempts"
    assert list(map(str, found.failures)) == ["None", said]
    assert sum(server == 1 for server, *_ in driver.asked) == 1
