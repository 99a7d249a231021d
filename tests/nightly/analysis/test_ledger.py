from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import ledger
from shootout.model.plan import Policy
from shootout.model.verdict import Verdict
from tests.support.analysis.builders import an_entry


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0.01, 0.5), st.integers(1, 20))
def test_so_many_cells_without_a_false_alarm_are_enough(
    alarms: int, others: int, most: float, comparisons: int
) -> None:
    policy = Policy(false_alarms_max=most)
    entry = an_entry(comparisons=comparisons)
    known = [structs.replace(entry, verdict=Verdict.REGRESSED)] * alarms + [entry] * others
    more = ledger.cells_needed(ledger.false_alarms(known, policy, comparisons), policy)

    def bound(more: int) -> float:
        return ledger.false_alarms([*known, *[entry] * more], policy, comparisons).share.high

    assert bound(more) <= most * (1 + 1e-9)
    assert more == 0 or bound(more - 1) > most * (1 - 1e-9)
