from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.bisect.halving import Halving, Pair
from shootout.model.verdict import Verdict

WORSE, BETTER = Verdict.REGRESSED, Verdict.IMPROVED
SAME, UNKNOWN = Verdict.EQUIVALENT, Verdict.INCONCLUSIVE


def halving(verdicts: Mapping[int, Verdict], last: int = 20, **known: object) -> Halving:
    """Measured revisions, each pair with one verdict more: that of the difference of their levels."""
    every = {0: SAME, **verdicts}

    def pairs(pair: Pair) -> Verdict:
        older, newer = (every[number] for number in pair)
        if UNKNOWN in (older, newer):
            return UNKNOWN
        return SAME if older is newer else newer if older is SAME else BETTER if newer is SAME else newer

    values: dict[str, object] = {"pairs": pairs} | known
    return Halving(last=last, verdicts=every, **values)  # type: ignore[arg-type]


def one(among: int) -> int:
    return 1


def searched(last: int, at: int | None, unusable: set[int], together: Callable[[int], int]) -> Halving:
    """The end of a search for a loss at this revision, in which every verdict is right."""
    verdicts: dict[int, Verdict] = {}
    for _ in range(last + 2):
        known = halving(verdicts, last, unusable=unusable)
        if not (numbers := known.next_revisions(together)):
            return known
        assert not {*numbers} & {0, *unusable}
        verdicts |= {number: WORSE if at is not None and number >= at else SAME for number in numbers}
    raise AssertionError(f"no end: {verdicts}")


@given(st.integers(1, 60), st.integers(1, 60), st.sets(st.integers(1, 59)), st.integers(1, 7))
def test_a_step_is_found_wherever_it_is(last: int, at: int, unusable: set[int], together: int) -> None:
    at = min(at, last)
    unusable = {each for each in unusable if each < last}
    known = searched(last, at, unusable, lambda among: min(together, among))
    assert known.kind == "step"
    ((before, after),) = known.places
    assert before < at <= after
    assert {*range(before + 1, after)} <= unusable
    assert len(known.verdicts) <= 2 + 7 * last.bit_length()


def test_without_a_step_the_ends_are_enough() -> None:
    known = searched(339, None, set(), one)
    assert (known.kind, known.places, {*known.verdicts}) == ("none", [], {0, 339})


def test_the_last_revision_comes_first_and_then_the_middle() -> None:
    assert halving({}).next_revisions(one) == (20,)
    assert halving({20: WORSE}).next_revisions(one) == (10,)
    assert halving({20: WORSE, 10: WORSE}).next_revisions(one) == (5,)
    assert halving({20: BETTER, 10: SAME}).next_revisions(one) == (15,)


def test_several_of_a_batch_are_evenly_spaced() -> None:
    assert halving({20: WORSE}).next_revisions(lambda among: 4) == (4, 8, 12, 16)


def test_what_is_undecided_is_measured_again() -> None:
    assert halving({20: UNKNOWN}).next_revisions(one) == (20,)
    known = halving({20: WORSE, 5: SAME, 10: UNKNOWN, 15: WORSE})
    assert known.next_revisions(one) == (10,)
    assert (known.kind, known.bracket) == ("open", (5, 15))


def test_what_is_undecided_outside_the_bracket_is_left() -> None:
    assert halving({20: WORSE, 3: UNKNOWN, 10: SAME, 15: WORSE}).next_revisions(one) == (13,)


def test_the_change_is_that_of_the_last_revision() -> None:
    assert halving({20: WORSE, 5: BETTER, 10: WORSE}).bracket == (5, 10)
    assert halving({20: WORSE, 5: WORSE, 10: SAME}).bracket == (10, 20)


def test_neighbours_are_compared_directly_before_the_answer() -> None:
    verdicts = {20: WORSE, 10: WORSE, 9: SAME}
    known = halving(verdicts, pairs={(0, 9): SAME}.get)
    assert (known.kind, known.next_revisions(one)) == ("open", (9, 10, 20))
    found = {(0, 9): SAME, (9, 10): WORSE, (10, 20): SAME}
    assert halving(verdicts, pairs=found.get).kind == "step"
    assert halving(verdicts, pairs=(found | {(10, 20): WORSE}).get).kind == "several"
    assert halving(verdicts, pairs=(found | {(9, 10): UNKNOWN}).get).next_revisions(one) == (9, 10, 20)
    assert halving(verdicts, pairs=(found | {(9, 10): SAME}).get).kind == "several"  # a drift


@pytest.mark.parametrize("end", [0, 20])
def test_without_an_end_nothing_is_answered(end: int) -> None:
    known = halving({20: SAME}, unusable={end})
    assert (known.kind, known.places) == ("open", [])


def test_all_at_once_names_each_pair_that_differs() -> None:
    def at_once(*verdicts: Verdict, **known: object) -> Halving:
        return halving(dict(enumerate(verdicts, 1)), len(verdicts), at_once=True, **known)

    assert halving({}, 4, at_once=True, unusable={2}).next_revisions(one) == (1, 3, 4)
    assert at_once(SAME, SAME).kind == "none"
    assert (at_once(SAME, WORSE, WORSE).kind, at_once(SAME, WORSE, WORSE).places) == ("step", [(1, 2)])
    assert (at_once(WORSE, SAME).kind, at_once(WORSE, SAME).places) == ("several", [(0, 1), (1, 2)])
    assert at_once(SAME, UNKNOWN).next_revisions(one) == (1, 2)
    assert at_once(SAME, UNKNOWN, repeats=False).next_revisions(one) == ()
