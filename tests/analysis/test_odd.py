"""Figures that are odd against their neighbours."""

import pytest

from shootout.analysis import odd


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({1: 7.0, 8: 62.0, 32: 7.0}, {8}),  # kB written per transaction
        ({1: 62.0, 8: 7.0, 32: 62.0}, {8}),
        ({1: 7.0, 8: 62.0, 32: 60.0}, set()),  # a step is no oddity
        ({1: 7.0, 8: 20.0, 32: 7.0}, set()),
        ({32: 7.0, 1: 7.0, 8: 21.0}, {8}),
        ({1: 0.0, 8: 62.0, 32: 7.0}, set()),
        ({1: 7.0, 8: 62.0}, set()),
        ({1: 7.0, 2: 7.0, 4: 30.0, 8: 7.0, 16: 1.0, 32: 7.0}, {4, 16}),
        ({}, set()),
    ],
)
def test_only_what_is_far_from_both_neighbours_is_odd(values: dict[int, float], expected: set[int]) -> None:
    assert odd.among(values) == expected
