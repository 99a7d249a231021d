from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.learn import invented

T = TypeVar("T", int, Decimal, datetime)
INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True).map(sorted)
MOMENTS = st.lists(
    st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)), min_size=1, unique=True, max_size=20
).map(sorted)
TEXTS = st.lists(st.text(max_size=30).map(str.encode), min_size=1, unique=True, max_size=30).map(sorted)


def literals(type: str, ordered: list[object]) -> list[str]:
    return invented.kind("t.c", type).literals("t.c", ordered)


def check(found: list[T], ordered: list[T]) -> None:
    assert found == sorted(set(found))
    assert len(found) == len(ordered)
    assert ordered[0] <= found[0] <= found[-1] <= ordered[-1]
    assert found[-1] - found[0] >= (ordered[-1] - ordered[0]) * 4 // 5


@given(INTEGERS)
def test_integers_are_as_many_in_order_and_range(ordered: list[int]) -> None:
    check([int(each) for each in literals("bigint", [*ordered])], ordered)


def test_ends_of_sparse_numbers_are_nobodys() -> None:
    assert literals("int", [101_234_567, 500_000_000, 987_654_321]) == ["110000000", "545000000", "980000000"]
    assert literals("int", [3, 4, 5, 7]) == ["3", "4", "5", "7"]
    assert "1.25" not in literals("double", [1.25, 2.5, 99.75])


@given(INTEGERS, st.integers(0, 6))
def test_decimals_keep_their_scale(ordered: list[int], scale: int) -> None:
    values = [Decimal(each).scaleb(-scale) for each in ordered]
    found = [Decimal(each) for each in literals("decimal", [*values])]
    check(found, values)
    assert all(each == round(each, scale) for each in found)


@given(MOMENTS)
def test_moments_are_as_many_in_order_and_range(ordered: list[datetime]) -> None:
    texts = [each.isoformat(" ", "microseconds") for each in ordered]
    found = [datetime.fromisoformat(each.strip("'")) for each in literals("datetime", [*texts])]
    check(found, ordered)


def test_whole_seconds_and_days_stay_whole() -> None:
    first = datetime(2020, 1, 1)
    seconds = [str(first + timedelta(seconds=each)) for each in (0, 1, 7)]
    assert [len(each) for each in literals("timestamp", [*seconds])] == [21, 21, 21]
    days = literals("date", ["0000-00-00", "2020-01-01", "2020-01-02", "2020-01-31"])
    assert days[0] == "'0000-00-00'"
    assert [each[:11] for each in days[1:]] == ["'2020-01-01", "'2020-01-16", "'2020-01-31"]
    times = [invented.kind("t.c", "time").key(each) for each in ("-838:59:59", "-00:00:01", "12:00:00")]
    assert literals("time", times)[::2] == ["'-833:20:00.000000'", "'0:00:00.000000'"]


@given(TEXTS)
def test_texts_are_as_many_in_order_and_as_long(ordered: list[bytes]) -> None:
    found = [each.strip("'") for each in literals("varchar", [*ordered])]
    assert found == sorted(set(found))
    lengths = sorted(len(each.decode()) for each in ordered)
    assert len(found) == len(ordered)
    assert all(len(each) <= max(lengths) for each in found)
    if len(ordered) <= 30:  # one digit
        assert sorted(map(len, found)) == [
            max(each, 1) if rank else each for rank, each in enumerate(lengths)
        ]


def test_objects_stay_objects_and_bytes_bytes() -> None:
    assert literals("longtext", [b'{"name": "Ada"}', b'{"name": "Bob"}'])[0].startswith("""'{"v":"0""")
    assert literals("blob", [b"\x00\xff"]) == [
        f"X'{literals('char', [b'ab'])[0].strip(chr(39)).encode().hex()}'"
    ]


def test_what_cannot_be_invented_is_named() -> None:
    with pytest.raises(InputError, match=r"shop\.place: values of type point cannot be invented"):
        invented.kind("shop.place", "point")
    with pytest.raises(
        InputError, match=r"t\.c: 40 different texts of at most 1 characters cannot be invented"
    ):
        literals("char", [bytes([65 + each]) for each in range(40)])
