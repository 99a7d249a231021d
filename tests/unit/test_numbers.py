import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout import numbers


def plain(text: str) -> str:
    return text.replace(numbers.SPACE, " ").replace(numbers.MINUS, "-")


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_number_reads_as_itself_to_three_digits(value: float) -> None:
    text = plain(numbers.number(value)).replace(" ", "")
    assert math.isclose(float(text), value, rel_tol=0.06 if abs(value) < 1e-5 else 0.006, abs_tol=1e-300)
    assert not text.startswith("-0.") or float(text) < 0


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (numbers.number(1234567), "1 234 567"),
        (numbers.number(-1234.56, 1), "-1 234.6"),
        (numbers.number(-0.04, 1), "0.0"),
        (numbers.percents(0.0213), "2.1 %"),
        (numbers.plain_percent(0.0213), "2.1 %"),
        (numbers.share(0.025), "2.5 %"),
    ],
)
def test_digits_are_grouped_and_no_zero_is_negative(found: str, expected: str) -> None:
    assert plain(found) == expected


def test_decimals_go_with_the_uncertainty() -> None:
    assert [numbers.decimals(half) for half in (0.3, 3, 140, 2400)] == [1, 0, -1, -3]
