"""What a published comparison claims, one item for each claim: `test_published[<claim>]`.

An item passes where the claim holds. One that does not hold is a finding, not a fault, and is expected to
fail; one that cannot be told is skipped. Both say why.
"""

import pytest

from shootout.model.verdict import JudgedClaim, Outcome
from shootout.report import wording


@pytest.mark.published
def test_published(claim: JudgedClaim) -> None:
    """As the profile's comparison says."""
    if claim.outcome is Outcome.FAILS:
        pytest.xfail(wording.finding(claim))
    if claim.outcome is Outcome.UNTOLD:
        pytest.skip(wording.finding(claim))
