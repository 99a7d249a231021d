from __future__ import annotations

import pytest

from shootout.analysis.exit_codes import exit_code, worst


@pytest.mark.parametrize(
    ("failed", "regressed", "undecided", "code"),
    [
        (False, False, False, 0),
        (False, False, True, 4),
        (False, True, True, 1),
        (True, True, True, 3),
    ],
)
def test_the_worst_fact_decides(*, failed: bool, regressed: bool, undecided: bool, code: int) -> None:
    assert exit_code(failed=failed, regressed=regressed, undecided=undecided) == code


def test_of_several_codes_the_worst_counts() -> None:
    assert [worst(codes) for codes in ([0], [0, 4], [4, 1], [1, 3, 4])] == [0, 4, 1, 3]
