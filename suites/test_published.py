"""The claims of a published comparison, one item per claim: `test_published[<claim>]`.

An item passes if its claim holds. A claim that does not hold is a finding, not an error: it is an expected
failure. A claim that cannot be told is skipped. Both give the reason.
"""

import pytest

from shootout.model.verdict import ClaimResult, Outcome
from shootout.report import wording


@pytest.mark.published
def test_published(claim: ClaimResult) -> None:
    """One claim of the profile's comparison."""
    if claim.outcome is Outcome.FAILS:
        pytest.xfail(wording.finding(claim))
    if claim.outcome is Outcome.INCONCLUSIVE:
        pytest.skip(wording.finding(claim))
