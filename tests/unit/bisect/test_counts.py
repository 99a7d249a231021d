from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from shootout.bisect import counts
from shootout.bisect.answer import answer as answered
from shootout.bisect.judge import Found
from shootout.bisect.values import Bisected, BuildRecord
from shootout.count.instrument import Counted
from shootout.count.values import CountChange, CountFigure
from shootout.model.verdict import Interval, Verdict
from tests.support.bisect.builders import LABELS, a_bisection

BAR = 0.005
REACH = 2e-4  # of an interval
TWO = CountFigure(mean=1.0, starts=2)
DIED = "mysqld died"
BROKEN = BuildRecord(seconds=3.0, reason="make: *** no")


def counted(
    ratios: Mapping[str, float], failed: Collection[str] = (), started: Collection[str] = ()
) -> Counted:
    """A document with these ratios to the base's count."""
    return Counted(
        counts={
            label: CountChange(
                workload="w",
                kind="sum",
                server=label,
                base=TWO,
                head=TWO,
                spread=1e-4,
                ratio=Interval(estimate=ratio, low=ratio - REACH, high=ratio + REACH),
                verdict=Verdict.EQUIVALENT if abs(ratio - 1) < BAR else Verdict.INCONCLUSIVE,
            )
            for label, ratio in ratios.items()
        },
        failed=dict.fromkeys(failed, DIED),
        started={"a", *ratios, *started},
        bar=BAR,
        seconds=60.0,
    )


def halved(documents: Mapping[str, Counted], builds: Mapping[str, BuildRecord] | None = None) -> Found:
    bisection = a_bisection(builds=builds, instrument="work")
    return Found(bisection, counts.measured(bisection, documents, "instructions"))


def following(found: Found) -> tuple[int, ...]:
    return found.halving.next_revisions(lambda among: 1)


def bisect(
    ratios: Mapping[str, float], builds: Mapping[str, BuildRecord] | None = None
) -> tuple[Bisected, list[str]]:
    """The answer, and the revisions counted on the way."""
    documents: dict[str, Counted] = {}
    order: list[str] = []
    while numbers := following(halved(documents, builds)):
        named = [LABELS[number] for number in numbers]
        order += named
        documents[str(len(documents))] = counted({label: ratios[label] for label in named})
    return halved(documents, builds).answer, order


def since(first: str, ratio: float = 1.008) -> dict[str, float]:
    return {label: ratio if label >= first else 1.0 for label in LABELS}


@pytest.mark.parametrize("first", "bcdefgh")
def test_a_step_of_less_than_a_percent_is_found_wherever_it_is(first: str) -> None:
    answer, order = bisect(since(first))
    assert (answer.kind, answer.first, answer.last) == ("step", first, first)
    assert answer.size is not None
    assert answer.size.low < 1.008 < answer.size.high
    assert len(order) <= 1 + 3  # the end, and three halves of seven
    assert answered(answer).exit_code == 1


def test_fewer_instructions_are_no_loss() -> None:
    answer, _ = bisect(since("d", 0.92))
    assert (answer.kind, answer.last, answered(answer).exit_code) == ("step", "d", 0)


def test_a_server_that_fails_is_left_out() -> None:
    known = halved({"0": counted({"h": 1.008}), "1": counted({}, failed="e")})
    assert known.measured.unusable == {"e": DIED}
    assert following(known) == (3,)


def test_a_server_that_fails_after_a_count_is_counted_again() -> None:
    one_start = counted({}, failed="h", started="h")
    assert following(halved({"0": one_start})) == (7,)
    assert halved({"0": one_start}).measured.unusable == {}
    assert halved({"0": one_start, "1": one_start}).measured.unusable == {"h": DIED}


def test_what_is_counted_before_the_end_is_no_answer() -> None:
    answer = halved({"0": counted({"d": 1.008}, failed="h", started="h")}).answer
    assert (answer.kind, answer.findings[3].starts) == ("open", 2)


def alike(*labels: str) -> dict[str, BuildRecord]:
    """Builds of all revisions, of which these are the same files."""
    return {each: BuildRecord(seconds=1.0, digest="same" if each in labels else each) for each in LABELS}


def test_what_are_a_counted_revisions_files_is_counted() -> None:
    answer, order = bisect(since("d"), builds=alike("d", "h"))
    assert (answer.kind, answer.first, answer.last) == ("step", "d", "d")
    assert not {"e", "f", "g"} & {*order}


def test_every_start_counts_once() -> None:
    answer, order = bisect(since("d"), builds=alike("d", "h"))
    assert answer.starts == 4 * len(order)  # each beside the base
    assert sum(finding.starts for finding in answer.findings) == answer.starts
