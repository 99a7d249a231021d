"""When what a server refuses makes a workload fail."""

from __future__ import annotations

import pytest

from shootout.errors import MeasureError
from shootout.measure.refusals import Refused


@pytest.mark.parametrize(
    ("answered", "refused", "code", "fails"),
    [
        (0, 20, 1062, True),
        (0, 19, 1062, False),  # too few to tell
        (100, 101, 1452, True),
        (101, 100, 1452, False),
        (0, 500, 1213, False),  # deadlocks are part of a load
    ],
)
def test_a_kind_that_is_mostly_refused_fails_with_the_servers_words(
    answered: int, refused: int, code: int, fails: bool
) -> None:
    found = Refused(["read", "write"])
    found.add([0, answered], [])
    found.add([1000, 0], [(1, code, refused, "Duplicate entry 'bob' for key 'k'")])
    if not fails:
        found.check()
        return
    with pytest.raises(MeasureError) as failed:
        found.check()
    words = f"statement `write`: Duplicate entry '…' for key 'k' ({code}), in "
    assert str(failed.value).startswith(words)
