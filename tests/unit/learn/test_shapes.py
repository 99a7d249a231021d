import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shootout.learn.binding import Binding, Use
from shootout.learn.ranks import Values
from shootout.learn.schema import Column
from shootout.learn.shapes import Learner
from shootout.learn.spreads import curve, spread
from shootout.learn.values import Slot
from shootout.model.program import Numbers, ProgramColumn
from shootout.model.workload import Learned
from tests.support.learn.builders import a_slot

IDS = Values(ProgramColumn(name="t.id", values=Numbers(min=1, max=1000), next=1001), "int")
SPARSE = Values(ProgramColumn(name="t.id", values=(10, 20, 30, 40), next=41), "int")
NAMES = Values(ProgramColumn(name="t.name", values=("ann", "bob", "eve")), "varchar")
AMOUNTS = Values(ProgramColumn(name="t.amount", values=("1.00", "2.50", "9.00")), "decimal")
HASHES = Values(ProgramColumn(name="t.hash", values=("7", str(2**63), str(2**64 - 1))), "bigint")
DAYS = Values(ProgramColumn(name="t.day", values=("2020-01-01", "2020-06-01")), "date")


def learned(
    values: Values,
    use: Use,
    *literals: str | int,
    unique: bool = False,
    grown: bool = False,
    key: bool = False,
    parent: str = "",
) -> Learned:
    """The parameter for a slot with these literals."""
    column = Column("t", values.column.name[2:], values.type, unique, unique or key, parent=parent)
    learner = Learner(lambda name: values, frozenset([column.full_name] if grown else []), False)
    parameter = learner.shape(a_slot(*literals), Binding(use, column), 100 * len(literals)).parameter
    assert parameter is not None
    return parameter


def unbound(slot: Slot, use: Use = "other") -> tuple[Learned | None, str]:
    shape = Learner(lambda name: IDS, frozenset(), False).shape(slot, Binding(use), 100)
    return shape.parameter, shape.text


def made(slot: Slot, use: Use = "other") -> Learned:
    """The parameter for a slot without a column."""
    parameter, text = unbound(slot, use)
    assert text == ""
    assert parameter is not None
    return parameter


def test_even_hits_need_no_curve() -> None:
    found = learned(IDS, "equal", *range(1, 1001))
    assert found == Learned(column="t.id")


def test_frequent_values_have_positions_and_shares() -> None:
    found = learned(SPARSE, "equal", *[10] * 6, *[40] * 4)
    assert [place for place, _ in found.hot] == [0.125, 0.875]
    assert [share for _, share in found.hot] == pytest.approx([0.6, 0.4], abs=1e-3)
    assert found.absent == 0


def test_values_that_are_not_there_have_a_share() -> None:
    assert learned(SPARSE, "equal", 10, 20, 30, 999).absent == 0.25
    assert learned(NAMES, "equal", "ANN", "zoe").absent == 0.5
    assert learned(SPARSE, "range", 10, 999).absent == 0
    assert learned(AMOUNTS, "equal", "2.5", "7").absent == 0  # the next amount is as good
    assert learned(DAYS, "equal", "2020-01-01 00:00:00", "2021-01-01").absent == 0


def test_of_a_column_with_very_many_values_the_server_is_asked() -> None:
    asked: list[bytes] = []

    def present(literals: Sequence[bytes]) -> list[str]:
        asked.extend(literals)
        return ["Cid"]

    many = replace(NAMES.column, values=("ann", "eve"))
    found = learned(Values(many, "varchar", present), "equal", "ann", "cid", "zoe", "eve")
    assert found.absent == 0.25
    assert set(asked) == {b"ann", b"cid", b"zoe", b"eve"}


def test_what_an_empty_column_gets_is_of_the_columns_type() -> None:
    days = learned(
        Values(ProgramColumn(name="t.day", values=()), "datetime"), "insert", "2026-11-25 09:00:00.5"
    )
    assert days.values is not None
    assert days.values[0] == "2026-01-01 00:00:00"
    country = learned(Values(ProgramColumn(name="t.country", values=()), "varchar"), "insert", "GB")
    assert country == Learned(form="text", absent=1.0, lengths=(2.0,))
    empty = Values(ProgramColumn(name="t.quantity", values=(), next=1), "int")
    quantity = learned(empty, "insert", 3, 7)
    assert (quantity.column, quantity.max) == (None, 10)
    assert learned(empty, "insert", 1, 2, unique=True).fresh


def test_a_foreign_key_is_drawn_from_its_parent() -> None:
    for use in ("insert", "set"):
        found = learned(IDS, use, 5, 2000, unique=True, parent="p.id")
        assert (found.column, found.absent, found.fresh) == ("p.id", 0, False)
    assert learned(NAMES, "insert", "zoe", parent="p.name").absent == 0
    assert learned(IDS, "equal", 2000, parent="p.id").column == "t.id"


def test_a_pattern_that_the_column_does_not_have_is_absent() -> None:
    found = learned(NAMES, "like", "%AN%", "%zoe%", "b_b", "e%e%e")
    assert (found.like, found.absent) == ("part", 0.25)


def test_a_pattern_over_bytes_is_compared_with_the_bytes() -> None:
    codes = Values(ProgramColumn(name="t.code", values=("00FF4142", "6162")), "varbinary")
    found = learned(codes, "like", "AB%", "aB%", "Ab%", "FF%")
    assert (found.form, found.like, found.absent, found.lengths) == ("bytes", "prefix", 0.75, (2.0,))


def test_a_log_later_than_its_dump_reads_the_newest_rows() -> None:
    assert learned(IDS, "equal", 1500, 1600).absent == 1
    found = learned(IDS, "equal", 1500, 1600, grown=True)
    assert found.absent == 0
    assert found.positions == pytest.approx((0.998, 1.0))  # as many of them


def test_inserted_keys_are_new() -> None:
    for literals in ((5, 6), (5000, 5001)):
        found = learned(IDS, "insert", *literals, unique=True)
        assert (found.absent, found.fresh) == (1, True)
    assert not learned(SPARSE, "insert", 10, 35).fresh
    names = learned(NAMES, "insert", "ann", "x" * 8, unique=True)
    assert (names.absent, names.lengths[-1], names.fresh) == (1, 8, True)


def test_patterns_keep_what_they_look_for() -> None:
    whole = learned(NAMES, "like", "Ann%", "bob%")
    assert (whole.like, whole.lengths, whole.absent) == ("prefix", (), 0.0)
    assert learned(NAMES, "like", "an%").like == "prefix"
    assert learned(NAMES, "like", "%an%").like == "part"
    assert learned(NAMES, "like", "%nn").lengths == (2,)


def test_small_numbers_without_a_column_stay() -> None:
    assert unbound(a_slot(7)) == (None, "7")
    assert unbound(a_slot(500), "limit") == (None, "500")
    assert unbound(a_slot("%Y-%m")) == (None, "'%Y-%m'")
    assert made(a_slot(10, 20), "limit").values == ("10", "20")


@pytest.mark.parametrize("most", [2**63 - 1, 2**64 - 1])
def test_a_limit_of_all_rows_stays(most: int) -> None:
    assert unbound(a_slot(most), "limit") == (None, str(most))
    assert unbound(a_slot(most))[1] == ""


@pytest.mark.parametrize("number", [2**63 - 1, 10**19, -(10**30), "-1e999999999"])
def test_numbers_beyond_64_bits_have_the_greatest_magnitude(number: int | str) -> None:
    found = made(replace(a_slot(number), kind="number"))
    assert {found.min, found.max} <= {0, 2**63 - 1, -(2**63) + 1}


def test_columns_beyond_64_bits_have_texts() -> None:
    assert learned(HASHES, "equal", 2**63, 2**64 - 1).absent == 0
    assert learned(HASHES, "equal", 8).absent == 1
    new = learned(HASHES, "insert", 2**64 - 2, unique=True)
    assert (new.fresh, new.absent, new.lengths) == (True, 1, (19.0,))


def test_a_number_may_be_written_with_a_fraction() -> None:
    learner = Learner(lambda name: SPARSE, frozenset(["t.id"]), False)
    slot, column = replace(a_slot("1000.0"), kind="number"), Column("t", "id", "int", True, True)
    found = learner.shape(slot, Binding("equal", column), 100).parameter
    assert found is not None
    assert found.absent == 0


def test_other_values_without_a_column_do_not() -> None:
    number = made(a_slot(48213))
    assert (number.min, number.max) == (0, 100_000)
    assert all(math.isclose(place, round(place, 2)) for place in number.positions)
    assert made(a_slot("secret")) == Learned(form="text", absent=1.0, lengths=(6.0,))
    day = made(a_slot("2021-05-17"))
    assert day.values[0] == "2021-01-01"
    assert "2021-05-17" not in day.values


def test_nulls_have_their_share() -> None:
    slot = replace(a_slot(1), nulls=25)
    assert made(slot).nulls == 0.25
    assert unbound(replace(slot, kind="null")) == (None, "NULL")


def test_lists_keep_their_lengths() -> None:
    slot = replace(a_slot(*range(1, 900)), sizes=((1, 50), (9, 50)))
    shape = Learner(lambda name: IDS, frozenset(), False).shape(
        slot, Binding("equal", Column("t", "id", "int", True, True)), 100
    )
    assert shape.parameter is not None
    assert (shape.parameter.counts[0], shape.parameter.counts[-1], shape.numeric) == (1, 9, False)


def test_kept_values_are_the_logs() -> None:
    learner = Learner(lambda name: NAMES, frozenset(), True)
    column = Column("t", "name", "varchar", False, False)
    parameter = learner.shape(a_slot("eve", "mallory"), Binding("equal", column), 200).parameter
    assert parameter is not None
    assert (parameter.values, parameter.column) == (("eve", "mallory"), None)


@given(st.lists(st.integers(0, 499), min_size=1, max_size=300), st.integers(500, 10**9))
def test_a_spread_has_positions_of_the_column(places: list[int], count: int) -> None:
    hot, positions = spread([(place, 1.0) for place in places], count, len(places))
    assert all(0 <= place <= 1 for place in (*positions, *(place for place, _ in hot)))
    assert list(positions) == sorted(positions)
    assert sum(share for _, share in hot) <= 1


def test_a_curve_follows_the_sample() -> None:
    generator = random.Random(3)
    places = [min(999, int(abs(generator.gauss(0, 100)))) for _ in range(2000)]
    _, positions = spread([(place, 1.0) for place in places], 1000, 2000)
    drawn = sorted(_along(positions, generator.random()) * 1000 for _ in range(2000))
    for share in (0.1, 0.5, 0.9):
        assert abs(drawn[int(2000 * share)] - sorted(places)[int(2000 * share)]) < 25


def _along(points: tuple[float, ...], unit: float) -> float:
    at = unit * (len(points) - 1)
    low = int(at)
    return points[low] + (at - low) * (points[low + 1] - points[low])


def test_equal_sizes_are_one_point() -> None:
    assert curve([(5.0, 3), (5.0, 1)]) == (5.0,)
    assert curve([]) == ()
