"""A published comparison's claims, one item for each: `test_published[<claim>]`.

An item passes if its claim holds. A claim that does not hold is a finding, not a fault, and is reported as an
expected failure; an inconclusive one is skipped. Both give the reason.
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
