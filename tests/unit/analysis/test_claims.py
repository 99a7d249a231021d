"""Published claims, tested on published and on measured throughputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import claims
from shootout.inputs import published
from shootout.model.published import Claim, DataPoint
from shootout.model.run import Part, RunDocument, Samples, StartRecord
from shootout.model.verdict import ClaimResult, Outcome
from shootout.report import wording
from tests.support import builders
from tests.support.analysis.builders import with_samples
from tests.support.repeated import a_repetition, as_usual

HOLDS, FAILS, INCONCLUSIVE = Outcome.HOLDS, Outcome.FAILS, Outcome.INCONCLUSIVE

# Two servers of a comparison, as published and as measured.
SINGLE, POOL = "A thread for each connection", "Thread pool"
SINGLE_LABEL, POOL_LABEL = "mariadb-11.4.5", "mariadb-11.4.5@thread-pool"


def results_of(document: RunDocument) -> dict[str, ClaimResult]:
    found = claims.evaluate_all(document, document.header.profile.policy)
    return {each.claim.name: each for each in found}


def judged(claim: Claim, document: RunDocument) -> ClaimResult:
    return claims.evaluate(claim, document, document.header.profile.policy)


def a_claim(low: float | None = None, high: float | None = None, threads: tuple[int, ...] = (1,)) -> Claim:
    head, base = (DataPoint(server=server, threads=threads) for server in (POOL, SINGLE))
    return Claim(name="r", text="t", head=head, base=base, low=low, high=high)


def pools(**tps: float) -> RunDocument:
    """Exact throughputs: `pool_16` is the pool's at 16 threads; all others are 100."""

    def tps_of(label: str, workload: str, threads: int) -> float:
        return tps.get(f"{'pool' if label == POOL_LABEL else 'single'}_{threads}", 100.0)

    return a_repetition("thread-pool", tps_of, spread=0.0, starts=3, threads="1,4,16,64", scale=None)


@cache
def equal() -> RunDocument:
    return pools()


def scaled(document: RunDocument, factor: Callable[[str, int], float]) -> RunDocument:
    """With each throughput multiplied by a factor of its server and start."""
    starts: list[StartRecord] = []
    for record in document.starts:

        def change(samples: Samples, start: int = record.start) -> dict[str, object]:
            by = factor(samples.server, start)
            return {"transactions": tuple(by * count for count in samples.transactions)}

        starts += with_samples([record], change)
    return structs.replace(document, starts=tuple(starts))


def on_machines(document: RunDocument, *fingerprints: str) -> RunDocument:
    """As if its blocks had been measured by these machines, one after the other."""
    header = document.header
    parts = tuple(
        Part(
            run=f"{header.run}{number}", started=header.started, finished="", elapsed_s=0.0,
            interrupted=False, seed=1, servers=header.servers, blocks=(block.key,),
            runner=builders.a_runner(fingerprint=fingerprints[number % len(fingerprints)]),
        )
        for number, block in enumerate(header.blocks)
    )  # fmt: skip
    return structs.replace(document, header=structs.replace(header, parts=parts))


# --- the published throughputs --------------------------------------------------------------------


def test_published_ratios_are_those_of_the_published_figures() -> None:
    def ratio(name: str, claim: str) -> float | None:
        publication = published.load(name)
        (found,) = (each for each in publication.claims if each.name == claim)
        theirs = claims.published_ratio(found, publication)
        return None if theirs is None else round(theirs.estimate, 2)

    assert ratio("scaling", "oldest-at-64") == 2.41
    assert ratio("scaling", "pool-at-4096") == 30.05
    assert ratio("scaling", "pool-cost-percona") is None  # a range
    assert ratio("history", "top-to-bottom") == 1.21
    assert ratio("history", "read-only-quotient") == 1.50
    assert ratio("history", "loss-at-1024") is None  # not published
    assert ratio("flavours", "mariadb-over-mysql") == 1.48
    assert ratio("engines", "mariadb-read-write") is None


# --- the rule -------------------------------------------------------------------------------------


def test_a_ratio_has_three_outcomes() -> None:
    clear = scaled(pools(pool_1=120.0), lambda label, start: 1 + 0.005 * start * (label == POOL_LABEL))
    noisy = scaled(pools(pool_1=120.0), lambda label, start: start**2 if label == POOL_LABEL else 4.0)
    assert judged(a_claim(low=1.1), clear).outcome is HOLDS
    assert judged(a_claim(low=1.3), clear).outcome is FAILS
    assert judged(a_claim(high=1.1), clear).outcome is FAILS
    assert judged(a_claim(low=1.1), noisy).outcome is INCONCLUSIVE
    result = judged(a_claim(low=1.1), clear)
    assert result.claim.ratio_words == f"{POOL} over {SINGLE} at 1 thread"
    assert result.ratio is not None
    assert result.ratio.low < result.ratio.estimate < result.ratio.high
    assert result.ratio.estimate == pytest.approx(1.212, abs=0.001)


def test_a_ratio_pairs_its_starts() -> None:
    """A start that is slow for both says nothing against the ratio."""
    drifting = scaled(pools(pool_1=120.0), lambda label, start: [1.0, 0.5, 2.0][start - 1])
    ratio = judged(a_claim(low=1.1), drifting).ratio
    assert ratio is not None
    assert ratio.low == pytest.approx(1.2) == pytest.approx(ratio.high)


def test_one_start_and_a_missing_throughput_are_inconclusive() -> None:
    document = equal()
    single = structs.replace(document, starts=tuple(each for each in document.starts if each.start == 1))
    for threads, read, reason in (
        ((1,), single, "fewer than 2 starts were steady"),
        ((64, 128), single, f"{POOL}: not measured at 64 to 128 threads, or not steady"),
        ((8,), document, f"{POOL}: not measured at 8 threads, or not steady"),
    ):
        result = judged(a_claim(low=1.1, threads=threads), read)
        assert (result.outcome, result.ratio, result.reason) == (INCONCLUSIVE, None, reason)


def test_a_range_is_the_mean_of_what_was_measured_in_it() -> None:
    document = pools(pool_1=900.0, pool_4=50.0, pool_16=200.0)
    ratio = judged(a_claim(high=1.0, threads=(2, 16)), document).ratio
    assert ratio is not None
    assert ratio.estimate == pytest.approx(1.0)


def test_a_range_leaves_out_what_was_not_steady() -> None:
    document = pools(pool_4=200.0, pool_16=1.0)
    of_16 = [start for start in document.starts if start.block == "oltp_read_write-t16" and start.start < 3]
    others = [start for start in document.starts if start not in of_16]
    starts = (*others, *with_samples(of_16, lambda _: {"steady": False}))
    result = judged(a_claim(low=1.9, threads=(4, 16)), structs.replace(document, starts=starts))
    assert result.outcome is HOLDS


def test_a_peak_is_where_throughput_is_highest() -> None:
    document = pools(pool_4=300.0, pool_64=200.0)
    head, base = DataPoint(server=POOL), DataPoint(server=POOL, threads=(1,))
    claim = Claim(name="r", text="t", head=head, base=base, low=2.9)
    result = judged(claim, document)
    assert (result.outcome, claim.ratio_words) == (HOLDS, f"{POOL} at its peak over {POOL} at 1 thread")
    assert result.ratio is not None
    assert result.ratio.estimate == pytest.approx(3.0)


@settings(deadline=None)
@given(st.floats(0.2, 5), st.floats(1.0, 3.0), st.tuples(*[st.floats(-0.3, 0.3)] * 3))
def test_a_bound_and_its_opposite_never_both_hold(
    ratio: float, bound: float, noise: tuple[float, ...]
) -> None:
    def factor(label: str, start: int) -> float:
        return ratio * math.exp(noise[start - 1]) if label == POOL_LABEL else 1.0

    found = scaled(equal(), factor)
    above, below = judged(a_claim(low=bound), found), judged(a_claim(high=bound), found)
    expected = ({HOLDS, FAILS}, {INCONCLUSIVE}, {HOLDS})  # {HOLDS}: exactly the bound
    assert {above.outcome, below.outcome} in expected
    assert above.ratio == below.ratio


# --- on documents ---------------------------------------------------------------------------------


def test_claims_of_a_run_in_which_each_version_is_slower() -> None:
    versions = ("mysql-5.5.34", "mysql-5.6.24")

    def tps(label: str, workload: str, threads: int) -> float:
        return 600 * 0.9 ** versions.index(label) if label in versions else as_usual(label, workload, threads)

    found = results_of(a_repetition("shootout", tps, threads="1,32"))
    slower = found["slower-5.6.2"]
    assert slower.outcome is HOLDS
    assert slower.ratio is not None
    assert slower.ratio.estimate == pytest.approx(0.9, rel=0.02)
    sentence = "With one thread 5.6.2 is slower than 5.5 (holds). 5.6.2 over 5.5 at 1 thread: −"
    assert wording.finding(slower).startswith(sentence)
    absent = found["plugin-gain"]
    assert (absent.outcome, absent.published_outcome) == (INCONCLUSIVE, HOLDS)
    assert absent.reason == "5.1 + InnoDB plugin: not available here"
    assert wording.finding(absent).endswith("(cannot be told). 5.1 + InnoDB plugin: not available here")


def test_a_server_that_is_not_in_the_run() -> None:
    found = results_of(a_repetition("flavours", starts=2, threads="12"))
    assert found["tokudb-behind"].reason == "Percona TokuDB: not in the run"


def test_claims_over_workloads_protocols_and_engines() -> None:
    def tps(label: str, workload: str, threads: int) -> float:
        engine = 0.5 if "myisam" in label and "write" in workload else 1.2 if "myisam" in label else 1.0
        prepared = 1.3 if workload.endswith(".prepared") else 1.0
        fork = 1.5 if "mariadb" in label else 1.0
        return 500 * engine * prepared * fork

    found = {
        name: each.outcome
        for name, each in results_of(a_repetition("engines", tps, threads="4,12,16")).items()
    }
    assert found == {
        "mariadb-read-write": HOLDS,
        "mariadb-read-only": HOLDS,
        "segmented-key-cache": HOLDS,
        "myisam-read-only": HOLDS,
        "myisam-read-write": HOLDS,
        "prepared-5.1": INCONCLUSIVE,
        "prepared-5.5": FAILS,
    }


def test_failed_and_unsteady_servers_are_not_tested() -> None:
    document = a_repetition("thread-pool", threads="16,4096", scale=None, failing=[POOL_LABEL])
    pool = results_of(document)["pool-at-4096"]
    assert pool.outcome is INCONCLUSIVE
    assert pool.reason == f"{POOL}: {document.failures[0].reason.splitlines()[0]}"
    unsteady = a_repetition("thread-pool", threads="16,4096", scale=None, unsteady=[SINGLE_LABEL])
    assert results_of(unsteady)["pool-at-4096"].reason == f"{SINGLE}: not measured, or not steady"


# --- several machines -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "claim", "reason"),
    [("history", "loss-after-peak", "measured by two machines"), ("thread-pool", "pool-cost", "")],
    ids=["across blocks", "within blocks"],
)
def test_ratios_across_blocks_are_tested_on_one_machine_only(name: str, claim: str, reason: str) -> None:
    document = a_repetition(name, threads="1,4,64" if reason else "16,64,256")
    alone, dealt = (results_of(on_machines(document, *names)) for names in (("a",), ("a", "b")))
    assert alone == results_of(document)
    assert alone[claim].ratio is not None
    assert dealt[claim].reason == reason
    assert (dealt[claim] == alone[claim]) is (not reason)


def test_a_claim_names_the_servers_that_stand_in() -> None:
    document = a_repetition("shootout", threads="1")
    (found,) = (each for each in results_of(document).values() if "5.6.2 is slower" in each.claim.text)
    assert found.ratio is not None
    assert "mysql-5.6.24 stands in for 5.6.2" in found.reason
    assert wording.finding(found).endswith(f"; {found.reason}")
    assert judged(a_claim(), pools(pool_1=150)).reason == ""
