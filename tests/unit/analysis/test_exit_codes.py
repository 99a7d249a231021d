from __future__ import annotations

import pytest

from shootout.analysis.exit_codes import exit_code, worst


@pytest.mark.parametrize(
    ("failed", "regressed", "unmeasured", "undecided", "code"),
    [
        (False, False, False, False, 0),
        (False, False, False, True, 4),
        (False, False, True, True, 3),
        (False, True, True, True, 1),
        (True, True, True, True, 3),
    ],
)
def test_the_first_fact_decides(
    *, failed: bool, regressed: bool, unmeasured: bool, undecided: bool, code: int
) -> None:
    found = exit_code(failed=failed, regressed=regressed, unmeasured=unmeasured, undecided=undecided)
    assert found == code


def test_of_several_codes_the_worst_counts() -> None:
    assert [worst(codes) for codes in ([0], [0, 4], [4, 1], [1, 3, 4])] == [0, 4, 1, 3]
