"""One form for all spellings of a value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.settings.setting import meant, normalise

sizes = st.tuples(st.integers(0, 10**6), st.sampled_from(["", "K", "M", "G"]))


@given(sizes, st.booleans())
def test_sizes_are_equal_in_every_unit(size: tuple[int, str], lower: bool) -> None:
    number, unit = size
    plain = number * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[unit]
    written = f"{number}{unit.lower() if lower else unit}"
    assert normalise(written) == normalise(str(plain)) == str(plain)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_numbers_are_equal_however_many_zeros_they_end_in(number: object) -> None:
    assert normalise(f"{number}") == normalise(f"{number}000")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("ON", "1"), ("TRUE", "yes"), ("off", "0"), ("O_DIRECT", "o_direct")),
        *(("utf8", "utf8mb3"), ("utf8_general_ci", "utf8mb3_general_ci")),
    ],
)
def test_words_are_equal_in_any_spelling(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("skip-log-bin", "", ("log_bin", "OFF")),
        ("loose-disable_log_bin", "1", ("log_bin", "OFF")),
        ("skip-log-bin", "0", ("log_bin", "ON")),
        ("enable-local-infile", "", ("local_infile", "ON")),
        ("enable-local-infile", "0", ("local_infile", "OFF")),
        ("skip-name-resolve", "", ("skip_name_resolve", "")),
        ("disabled-storage-engines", "MyISAM", ("disabled_storage_engines", "MyISAM")),
    ],
)
def test_a_prefix_turns_a_switch(option: str, value: str, expected: tuple[str, str]) -> None:
    assert meant(option, value) == expected
