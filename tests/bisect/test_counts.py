from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from shootout.bisect import counts as bisected_work
from shootout.bisect import judge as bisected
from shootout.bisect.values import Answer, BuildRecord
from shootout.work.values import FRAME, WorkDocument, WorkFailure
from tests.bisect.builders import a_bisection
from tests.work import builders as work

BROKEN = BuildRecord(seconds=3.0, reason="make: *** no")


def counted(per_select: Mapping[str, int], failures: tuple[WorkFailure, ...] = ()) -> WorkDocument:
    """A document with the base, at 10 000 instructions for a select, and these."""
    servers = {"a": 10_000, **per_select}
    counts = {
        label: {"select": [each, each + 2], "update": [20_000, 20_010], FRAME: [25_000, 25_010]}
        for label, each in servers.items()
    }
    return work.document(counts, failures, workload="reads")


def bisect(
    levels: Mapping[str, int], builds: Mapping[str, BuildRecord] | None = None
) -> tuple[Answer, list[str]]:
    """The answer, and the revisions counted on the way."""
    found = a_bisection(builds=builds, instrument="work")
    labels = [revision.label for revision in found.revisions]
    documents: dict[str, WorkDocument] = {}
    order: list[str] = []
    while numbers := bisected_work.next_revisions(found, documents):
        named = [labels[number] for number in numbers]
        order += named
        documents[str(len(documents))] = counted({label: levels[label] for label in named})
    return bisected_work.answer(found, documents), order


def since(first: str, level: int = 10_100) -> dict[str, int]:
    return {label: level if label >= first else 10_000 for label in "abcdefgh"}


@pytest.mark.parametrize("first", "bcdefgh")
def test_a_step_of_less_than_a_percent_is_found_wherever_it_is(first: str) -> None:
    answer, order = bisect(since(first))
    assert (answer.kind, answer.first, answer.last) == ("step", first, first)
    assert answer.size.low < 1.008 < answer.size.high
    assert len(order) <= 1 + 3  # the end, and three halves of seven
    assert bisected.exit_code(answer) == 1


def test_fewer_instructions_are_no_loss() -> None:
    answer, _ = bisect(since("d", 9_000))
    assert (answer.kind, answer.last, bisected.exit_code(answer)) == ("step", "d", 0)


def test_equal_ends_need_no_more_counts() -> None:
    answer, order = bisect(since("i"))
    assert (answer.kind, order, bisected.exit_code(answer)) == ("none", ["h"], 0)


def test_two_steps_are_several() -> None:
    answer, _ = bisect(since("c") | dict.fromkeys("fgh", 10500))
    assert (answer.kind, answer.last) == ("several", "f")
    assert bisected.exit_code(answer) == 1


def test_steps_below_the_bar_may_add_up() -> None:
    levels = {label: 10_000 + 20 * number for number, label in enumerate("abcdefgh")}
    answer, _ = bisect(levels)
    assert answer.kind in ("several", "open")


def test_what_does_not_build_cannot_be_told_from_its_neighbour() -> None:
    answer, order = bisect(since("d"), builds={"c": BROKEN, "d": BROKEN})
    assert (answer.kind, answer.first, answer.last) == ("step", "c", "e")
    assert not {"c", "d"} & {*order}


def test_a_server_that_fails_is_left_out() -> None:
    found = a_bisection(instrument="work")
    failure = WorkFailure(server="e", workload="", reason="mysqld died")
    documents = {"0": counted({"h": 10_100}), "1": counted({}, (failure,))}
    assert bisected_work.unusable(found, documents) == {"e": "mysqld died"}
    assert bisected_work.next_revisions(found, documents) == (3,)


def test_a_server_that_fails_after_a_count_is_counted_again() -> None:
    found = a_bisection(instrument="work")
    failed = counted({"h": 10_100}, (WorkFailure(server="h", workload="", reason="mysqld died"),))
    one_start = structs.replace(
        failed, counts=tuple(count for count in failed.counts if (count.server, count.start) != ("h", 2))
    )
    assert bisected_work.next_revisions(found, {"0": one_start}) == (7,)
    assert bisected_work.unusable(found, {"0": one_start}) == {}
    assert bisected_work.unusable(found, {"0": one_start, "1": one_start}) == {"h": "mysqld died"}


def test_nothing_is_said_before_the_end_is_counted() -> None:
    found = a_bisection(instrument="work")
    answer = bisected_work.answer(found, {})
    assert (answer.kind, bisected.exit_code(answer)) == ("open", 4)
    assert bisected_work.next_revisions(found, {}) == (7,)


def alike(*labels: str) -> dict[str, BuildRecord]:
    """Builds of all revisions, of which these are the same files."""
    return {each: BuildRecord(seconds=1.0, digest="same" if each in labels else each) for each in "abcdefgh"}


def test_what_is_the_bases_files_is_before_the_step() -> None:
    answer, order = bisect(since("f"), builds=alike("a", "e"))
    assert (answer.kind, answer.first, answer.last) == ("step", "f", "f")
    assert not {"b", "c", "d", "e"} & {*order}


def test_what_are_a_counted_revisions_files_is_counted() -> None:
    answer, order = bisect(since("d"), builds=alike("d", "h"))
    assert (answer.kind, answer.first, answer.last) == ("step", "d", "d")
    assert not {"e", "f", "g"} & {*order}


def test_ends_of_the_same_files_need_no_count() -> None:
    answer, order = bisect(since("c"), builds=alike("a", "h"))
    assert (answer.kind, order, bisected.exit_code(answer)) == ("none", [], 0)
