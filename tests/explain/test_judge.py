"""An explanation evaluated: response time, functions, plans and settings."""

from __future__ import annotations

import pytest
from msgspec import structs

from shootout.explain import judge, wall_clock
from shootout.model.run import RunDocument, Samples
from tests.explain.builders import STARTS, TRANSACTIONS, an_explanation, profiled

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
    document = profiled()
    tried = structs.replace(an_explanation(), tried={"head": "sync_binlog=0", "gone": "back_log=80"})
    assert judge.evaluate(tried, document).tried == {"sync_binlog=0": EXPLAINED.ratio, "back_log=80": None}


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


def with_counters(**counters: float) -> RunDocument:
    def changed(samples: Samples) -> Samples:
        head = samples.server == "head"
        return structs.replace(
            samples, counters={name: value * (2 if head else 1) for name, value in counters.items()}
        )

    document = profiled()
    starts = tuple(
        structs.replace(start, samples=tuple(map(changed, start.samples))) for start in document.starts
    )
    return structs.replace(document, starts=starts)


def test_response_time_is_the_sum_of_its_parts() -> None:
    document = with_counters(run_queue_s=0.5, Innodb_row_lock_time=300.0, **{"wait/io/file/innodb/log": 0.2})
    whole, *parts = wall_clock.spent(document, "base", "head", 0.95)
    assert whole.name == wall_clock.RESPONSE
    assert [each.name for each in parts] == [
        wall_clock.ON_CPU, wall_clock.ROW_LOCKS, "wait/io/file/innodb/log", wall_clock.RUN_QUEUE,
        wall_clock.ELSEWHERE,
    ]  # fmt: skip
    for of in ("base", "head"):
        assert sum(getattr(each, of) for each in parts) == pytest.approx(getattr(whole, of))
    transactions = sum(document.starts[0].samples[0].completed)
    assert parts[1].base == pytest.approx(0.3 / transactions, rel=0.05)
    assert all(each.difference.low <= each.difference.estimate <= each.difference.high for each in parts)


def test_background_threads_that_wait_for_a_cpu_delay_no_transaction() -> None:
    whole, on_cpu, queued, rest = wall_clock.spent(with_counters(run_queue_s=1e6), "base", "head", 0.95)
    assert queued.head == pytest.approx(whole.head - on_cpu.head)
    assert rest.head == pytest.approx(0)


def test_servers_whose_cpu_time_is_hidden_have_no_wall_clock() -> None:
    document = profiled()
    starts = tuple(
        structs.replace(
            start, samples=tuple(structs.replace(each, server_cpu_s=None) for each in start.samples)
        )
        for start in document.starts
    )
    assert wall_clock.spent(structs.replace(document, starts=starts), "base", "head", 0.95) == []


def test_the_starts_of_the_builder_are_those_of_its_profile() -> None:
    assert len(EXPLAINED.paths.counts) == STARTS
