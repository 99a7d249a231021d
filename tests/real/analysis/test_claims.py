"""Published claims, tested on published and on measured throughputs."""

from __future__ import annotations

import pytest

from shootout.analysis import claims
from shootout.inputs import published
from tests.support.repeated import NAMES, a_repetition
from tests.unit.analysis.test_claims import FAILS, HOLDS, INCONCLUSIVE, judged


@pytest.mark.parametrize("name", NAMES)
def test_claims_hold_in_the_published_figures(name: str) -> None:
    """All but one, where they have both throughputs."""
    publication = published.load(name)
    for claim in publication.claims:
        ratio = claims.published_ratio(claim, publication)
        result = judged(claim, a_repetition(name, starts=0))
        assert result.published_ratio == ratio
        expected = FAILS if claim.name == "read-only-quotient" else HOLDS if ratio else INCONCLUSIVE
        assert result.published_outcome is expected, claim.name
