"""An explanation evaluated: response time, functions, plans and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from shootout.analysis.histograms import decoded
from shootout.explain import cause, judge, wall_clock
from shootout.explain.answer import points
from shootout.explain.functions import Change
from shootout.model.run import RunDocument, Samples
from shootout.model.verdict import Interval, StatementTime, Verdict
from tests.support import builders
from tests.support.analysis import builders as analysis
from tests.support.explain.builders import TRANSACTIONS, an_explanation, profiled
from tests.support.report.compared import plain

EXPLAINED = judge.evaluate(an_explanation(), profiled())


def test_the_function_that_does_more_is_named_first() -> None:
    first, second = EXPLAINED.named
    assert (first.name, second.name) == ("row_search_mvcc", "old_only")
    assert first.difference.low < 600 / 500 / TRANSACTIONS < first.difference.high
    assert second.head == 0
    assert [each.name for each in EXPLAINED.narrowed] == ["row_search_mvcc"]


def test_parts_add_up_to_the_whole() -> None:
    assert EXPLAINED.cpu is not None
    assert sum(each.difference.estimate for each in EXPLAINED.parts) == pytest.approx(
        EXPLAINED.cpu.difference.estimate
    )
    assert {each.name for each in EXPLAINED.parts} == {
        "InnoDB", "the executor", "the parser", "elsewhere in the server", "libraries", "the kernel",
    }  # fmt: skip


def test_the_changed_plan_and_the_changed_settings_are_found() -> None:
    assert [(each.kind, each.changed) for each in EXPLAINED.plans] == [("SELECT", True)]
    found = {each.name: (each.origin, each.notable) for each in EXPLAINED.variables}
    assert found["performance_schema"] == ("requested", True)
    assert found["only_here"] == ("only one has it", False)
    assert found["back_log"][0] == "default"
    assert "port" not in found
    assert EXPLAINED.suspects == ("sync_binlog=0", "performance_schema=ON")


def test_what_was_tried_is_known_by_its_setting() -> None:
    """Beside the base, and beside the head without it."""
    document = with_a_trial(0.5)
    tried = structs.replace(an_explanation(), tried={"tried": "sync_binlog=0", "gone": "back_log=80"})
    found = judge.evaluate(tried, document)
    helped, gone = found.tried.values()
    assert EXPLAINED.ratio is not None
    assert helped.to_base is not None
    assert helped.to_head is not None
    assert helped.to_base.estimate == pytest.approx(2 * EXPLAINED.ratio.estimate)
    assert helped.to_head.estimate == pytest.approx(2)
    assert (helped.verdict, gone.to_base) == (Verdict.IMPROVED, None)
    texts = [plain(point.text) for point in points(found, None) if point.text.startswith("With ")]
    assert texts == [
        "With sync_binlog=0 on the head: +101 % (+98 to +104 %); beside the head without it "
        "+100.00 % (+100.00 to +100.00 %), decided: faster.",
        "With back_log=80 on the head: no steady start.",
    ]


def test_a_trial_whose_interval_is_wide_is_undecided() -> None:
    wide = judge.Trial(
        Interval(estimate=1, low=0.6, high=1.4), Interval(estimate=1, low=0.6, high=1.4), Verdict.INCONCLUSIVE
    )
    (said,) = (p.text for p in points(replace(EXPLAINED, tried={"a=1": wide}), None) if "With a=1" in p.text)
    assert said.endswith(", undecided.")


def test_functions_without_a_name_are_a_share() -> None:
    assert EXPLAINED.unnamed == 0
    tree = EXPLAINED.explanation.tree
    names = tuple("[mysqld]" if each == "row_search_mvcc" else each for each in tree.functions)
    found = judge.evaluate(
        structs.replace(EXPLAINED.explanation, tree=structs.replace(tree, functions=names)), profiled()
    )
    assert 0.3 < found.unnamed < 0.6


def test_a_single_start_explains_no_function() -> None:
    explanation = an_explanation()
    found = judge.evaluate(structs.replace(explanation, profiles=explanation.profiles[:2]), profiled())
    assert found.cpu is None
    assert (found.parts, found.functions, found.named, found.narrowed) == ((), (), (), ())
    assert found.plans == EXPLAINED.plans


def with_samples(changes: Callable[[Samples], dict[str, Any]]) -> RunDocument:
    return structs.replace(profiled(), starts=tuple(analysis.with_samples(profiled().starts, changes)))


def with_a_trial(factor: float) -> RunDocument:
    """A third server: the head, whose windows take this much of the time."""
    document = profiled()
    (block,) = document.header.blocks
    servers = [structs.replace(document.header.servers[1], label="tried")]
    header = structs.replace(
        document.header,
        servers=(*document.header.servers, *servers),
        blocks=(structs.replace(block, servers=(*block.servers, "tried")),),
    )
    starts = []
    for start in document.starts:
        head = next(samples for samples in start.samples if samples.server == "head")
        windows = tuple(factor * window for window in head.window_s)
        tried = structs.replace(head, server="tried", window_s=windows)
        starts.append(structs.replace(start, samples=(*start.samples, tried)))
    return structs.replace(document, header=header, starts=tuple(starts))


def with_counters(**counters: float) -> RunDocument:
    """Twice as much on the head."""
    return with_samples(
        lambda samples: {
            "counters": {name: value * (1 + (samples.server == "head")) for name, value in counters.items()}
        }
    )


def test_response_time_is_the_sum_of_its_parts() -> None:
    document = with_counters(run_queue_s=0.5, Innodb_row_lock_time=300.0, **{"wait/io/file/innodb/log": 0.2})
    whole, *parts = wall_clock.spent(document, "base", "head", 0.95)
    assert whole.name == wall_clock.RESPONSE
    assert [each.name for each in parts] == [
        wall_clock.CLIENT, wall_clock.ROW_LOCKS, "wait/io/file/innodb/log", wall_clock.ON_CPU,
        wall_clock.RUN_QUEUE, wall_clock.ELSEWHERE,
    ]  # fmt: skip
    for of in ("base", "head"):
        assert sum(getattr(each, of) for each in parts) == pytest.approx(getattr(whole, of))
    transactions = sum(document.starts[0].samples[0].completed)
    assert parts[1].base == pytest.approx(0.3 / transactions, rel=0.05)
    assert all(each.difference.low <= each.difference.estimate <= each.difference.high for each in parts)


def test_background_threads_that_wait_for_a_cpu_delay_no_transaction() -> None:
    whole, client, on_cpu, queued = wall_clock.spent(with_counters(run_queue_s=1e6), "base", "head", 0.95)
    assert queued.head == pytest.approx(whole.head - on_cpu.head - client.head)


def test_what_background_threads_do_meanwhile_is_no_part_of_the_response_time() -> None:
    """Twice as much CPU time as a transaction takes: no part is negative, and none exceeds the whole."""
    document = with_samples(
        lambda samples: {
            "server_cpu_s": tuple(2 * decoded(samples.latencies).mean_s * done for done in samples.completed)
        }
    )
    whole, client, on_cpu, background = wall_clock.spent(document, "base", "head", 0.95)
    assert background.name == wall_clock.BACKGROUND
    assert client.base > 0
    assert client.base + on_cpu.base == pytest.approx(whole.base)
    assert on_cpu.base + background.base == pytest.approx(2 * whole.base)


def test_profiling_that_slows_the_servers_is_said() -> None:
    slowed = judge.evaluate(an_explanation(), profiled(), builders.a_run(failing=False)).slowed
    assert slowed is not None
    assert slowed[0] == pytest.approx(EXPLAINED.wall_clock[0].base, rel=0.02)
    assert EXPLAINED.slowed is None
    texts = [
        " ".join(point.text for point in points(replace(EXPLAINED, slowed=(here, 81e-6)), None))
        for here in (84e-6, 109e-6)
    ]
    assert ["Sampling slows: on the base, 109" in text for text in texts] == [False, True]


def test_servers_whose_cpu_time_is_hidden_have_no_wall_clock() -> None:
    hidden = with_samples(lambda samples: {"server_cpu_s": None})
    assert wall_clock.spent(hidden, "base", "head", 0.95) == []


def test_the_cause_is_one_sentence_with_interval_and_share() -> None:
    """A setting that was tried and helped, then a plan, a wait, a function; nothing that explains little."""
    plan = "plan of SELECT: const on PRIMARY → full scan; rows read: 1 → 10 000"
    assert plain(cause.main_cause(EXPLAINED)) == plan
    functions = replace(EXPLAINED, plans=())
    said = "row_search_mvcc +116 µs (+105 to +127), 111 % of +104 µs of server CPU time per transaction; "
    assert plain(cause.main_cause(functions)).startswith(said)
    whole, *_ = EXPLAINED.wall_clock
    slower = replace(whole, difference=Interval(estimate=0.001, low=0.0009, high=0.0011))
    wait = replace(slower, name="row locks", difference=Interval(estimate=0.0003, low=0.0002, high=0.0004))
    waiting = replace(functions, wall_clock=(slower, wait))
    assert plain(cause.main_cause(waiting)) == (
        "row locks +300 µs (+200 to +400), 30 % of +1.00 ms of response time per transaction"
    )
    little = replace(wait, difference=Interval(estimate=0.0002, low=0.0001, high=0.0003))
    assert cause.main_cause(replace(waiting, wall_clock=(slower, little), cpu=None)) == ""
    lost, back = Interval(estimate=0.8, low=0.78, high=0.82), Interval(estimate=0.99, low=0.97, high=1.01)
    helped = judge.Trial(back, Interval(estimate=1.24, low=1.2, high=1.28), Verdict.IMPROVED)
    same = judge.Trial(lost, Interval.exactly(1), Verdict.EQUIVALENT)
    tried = replace(EXPLAINED, ratio=lost, tried={"sync_binlog=0": helped, "back_log=80": same})
    assert (
        plain(cause.main_cause(tried))
        == "with sync_binlog=0 on the head, -1 % (-3 to +1 %) instead of -20.0 %, 95 %"
    )
    undecided = replace(helped, verdict=Verdict.INCONCLUSIVE)
    for one in (same, undecided):
        assert plain(cause.main_cause(replace(tried, tried={"back_log=80": one}))) == plan
    assert cause.main_cause(replace(functions, cpu=None, wall_clock=())) == ""


def test_a_changed_plan_of_little_of_the_change_is_no_cause() -> None:
    whole = changed("", 100)
    one = replace(EXPLAINED, cpu=None, wall_clock=(whole,))
    for part, is_cause in ((24, False), (26, True)):
        time = StatementTime(
            kind="SELECT", base_s=1e-3, head_s=1e-3, difference_s=changed("", part).difference
        )
        assert bool(cause.main_cause(replace(one, statements=(time,)))) is is_cause


def changed(name: str, estimate: float) -> Change:
    """A change of so many microseconds, certain."""
    low, high = sorted((0.9e-6 * estimate, 1.1e-6 * estimate))
    by = Interval(estimate=1e-6 * estimate, low=low, high=high)
    return Change(name, 1e-3, 1e-3 + by.estimate, by, p_value=0.0)


def test_the_cause_is_a_layer_where_no_function_is_as_large() -> None:
    """One function with 1 % of the change was named, and do_syscall_64, which only passes calls on."""
    parts = (changed("the kernel", 283), changed("libraries", 141), changed("InnoDB", 108))
    functions = (changed("page_cur_search", 6), changed("do_syscall_64 [kernel]", 1))
    dispatcher = (changed("do_syscall_64 [kernel]", 245),)
    found = replace(
        EXPLAINED, plans=(), wall_clock=(), cpu=changed("", 532), parts=parts, functions=functions,
        narrowed=dispatcher,
    )  # fmt: skip
    whole = "of +532 µs of server CPU time per transaction"
    assert plain(cause.main_cause(found)) == f"the kernel +283 µs (+255 to +311), 53 % {whole}"
    real = replace(found, functions=(changed("do_syscall_64 [kernel]", 180),))
    second = "; do_syscall_64 [kernel] +245 µs (+220 to +270), 46 %"
    assert plain(cause.main_cause(real)) == f"the kernel +283 µs (+255 to +311), 53 % {whole}{second}"
    assert cause.main_cause(replace(found, parts=(changed("InnoDB", 108),))) == ""
    faster = replace(found, cpu=changed("", -100), parts=(changed("InnoDB", -90), changed("the kernel", 40)))
    assert plain(cause.main_cause(faster)).startswith("InnoDB -90.0 µs (-99.0 to -81.0), 90 % of -100 µs")
