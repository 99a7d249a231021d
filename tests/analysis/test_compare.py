from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shootout._engine import Histogram
from shootout.analysis import compare, ledger, stats
from shootout.document import journal
from shootout.errors import InputError
from shootout.model.history import LedgerEntry
from shootout.model.plan import Block, Load, Policy, Profile, Sampling
from shootout.model.run import (
    EndRecord,
    FailureRecord,
    Placement,
    RunDocument,
    RunHeader,
    Runner,
    Samples,
    ServerRecord,
    StartRecord,
    Warning,
)
from shootout.model.verdict import CellComparison, Comparison, Verdict
from tests import builders

READS = Block(workload="reads", dataset="d", threads=4, servers=("a", "b"))
WRITES = Block(workload="writes", dataset="d", threads=4, servers=("a", "b"))

AN_END = EndRecord(finished="", elapsed_s=1.0, interrupted=False)

# Five starts whose effects (in percent) have mean 0 and standard deviation 0.5: half an interval is 0.62.
CLOSE = (-0.6, -0.3, 0.0, 0.3, 0.6)
# The same with a standard deviation of 5.
APART = (-6.0, -3.0, 0.0, 3.0, 6.0)


def histogram(*milliseconds: float) -> str:
    latencies = Histogram()
    for latency in milliseconds:
        latencies.record(round(latency * 1e6))
    return latencies.encode()


MILLISECONDS = histogram(1, 2, 3, 4)


def a_sample(server: str = "a", tps: Sequence[float] = (1000.0,) * 10, **fields: object) -> Samples:
    """Slices of 0.1 s, of which 20 % more was run than counted, at 0.5 ms of server CPU each transaction."""
    values: dict[str, object] = {
        "server": server,
        "steady": True,
        "warmup_rounds": 8,
        "drift": 0.0,
        "transactions": tuple(0.1 * x for x in tps),
        "window_s": (0.1,) * len(tps),
        "completed": tuple(round(0.12 * x) for x in tps),
        "server_cpu_s": tuple(0.06 * x / 1000 for x in tps),
        "client_cpu_s": tuple(0.012 * x / 1000 for x in tps),
        "latencies": MILLISECONDS,
        "statements": {},
        "reads": round(sum(0.12 * x for x in tps)) * 14,
        "writes": 0,
        "other": round(sum(0.12 * x for x in tps)) * 2,
        "errors": {},
        "counters": {},
    }
    return Samples(**(values | fields))  # type: ignore[arg-type]


def a_start(number: int, *samples: Samples, block: Block = READS) -> StartRecord:
    return StartRecord(block=block.key, start=number, order=(), samples=samples)


def starts_of(
    change_percent: float, effects: Sequence[float] = CLOSE, block: Block = READS, **head: object
) -> list[StartRecord]:
    """`b` is so much faster than `a` on the log scale, and each start adds its own effect."""
    rng = np.random.default_rng(1)
    starts = []
    for number, effect in enumerate(effects, 1):
        machine = rng.normal(0, 0.1, 10)  # what both servers see in a round
        ratio = math.exp((change_percent + effect) / 100)
        a = a_sample("a", [float(x) for x in 1000 * np.exp(machine)])
        b = a_sample("b", [float(x) for x in ratio * 1000 * np.exp(machine)], **head)
        starts.append(a_start(number, a, b, block=block))
    return starts


def a_server(label: str, *warnings: Warning) -> ServerRecord:
    return ServerRecord(
        label=label,
        reference=label,
        family="mysql",
        version="8.0.12",
        comment="",
        build="0" * 64,
        settings_name="in-memory",
        settings=(),
        checksum="1",
        load_s=None,
        warnings=warnings,
    )


def a_document(
    starts: Sequence[StartRecord],
    *failures: FailureRecord,
    blocks: Sequence[Block] = (READS,),
    end: EndRecord | None = AN_END,
    servers: Sequence[ServerRecord] = (),
    client: tuple[int, ...] = (0,),
) -> RunDocument:
    header = RunHeader(
        format=journal.FORMAT,
        run="r",
        started="",
        shootout="0.1.0",
        seed=1,
        profile_name="quick",
        # Verdicts count though no A/A cell is known.
        profile=Profile(description="", workloads=("reads",), threads=(4,), policy=Policy()),
        runner=Runner(
            fingerprint="f",
            cpu="",
            cpus=4,
            memory_bytes=1,
            kernel="",
            system="",
            virtual="",
            filesystem="",
            disk="ssd",
            placement=Placement(client=client, servers=(1,), single=1),
        ),
        servers=tuple(servers),
        blocks=tuple(blocks),
    )
    return RunDocument(header=header, starts=tuple(starts), failures=failures, end=end)


def a_failure(server: str, block: Block = READS) -> FailureRecord:
    return FailureRecord(cell=block.cell(server), start=1, reason="it died: [ERROR] no memory")


def head_of(document: RunDocument, policy: Policy | None = None) -> CellComparison:
    _, head = compare.compare(document, policy).cells
    assert head.cell.server == "b"
    return head


def codes(cell: CellComparison) -> list[str]:
    return [warning.code for warning in cell.warnings]


def verdicts(comparison: Comparison) -> dict[tuple[str, str], Verdict]:
    return {(cell.cell.workload, cell.cell.server): cell.verdict for cell in comparison.cells}


# --- verdicts ---------------------------------------------------------------------------------------


def test_a_slower_head_has_regressed() -> None:
    head = head_of(a_document(starts_of(-10)))
    assert head.verdict is Verdict.REGRESSED
    assert head.reason == "9.5 % slower, 95 % interval 9.0 to 10.0 %, in 5 starts"
    assert head.ratio is not None
    # By hand: mean -10 %, standard deviation sqrt(0.9 / 4) = 0.474, t(4) = 2.776, half of it 0.589.
    half = 0.01 * 2.7764 * math.sqrt(0.9 / 4) / math.sqrt(5)
    expected = [math.exp(-0.1 + x) for x in (0.0, -half, half)]
    assert [head.ratio.estimate, head.ratio.low, head.ratio.high] == pytest.approx(expected, rel=1e-5)
    assert head.per_start == pytest.approx([math.exp((-10 + x) / 100) for x in CLOSE])
    assert head.p_value is not None
    assert head.p_value < 0.001
    assert codes(head) == ["noise-floor-unknown", "not-confirmed"]


def test_a_faster_head_has_improved() -> None:
    head = head_of(a_document(starts_of(10)))
    assert head.verdict is Verdict.IMPROVED
    assert head.reason == "10.5 % faster, 95 % interval 9.9 to 11.2 %, in 5 starts"


def test_an_interval_inside_the_margin_is_equivalent() -> None:
    head = head_of(a_document(starts_of(0.5)))
    assert head.verdict is Verdict.EQUIVALENT
    assert head.reason == (
        "0.5 % faster, 95 % interval 0.1 % slower to 1.1 % faster, in 5 starts, all within the margin of 2 %"
    )
    assert codes(head) == []


def test_a_change_for_certain_but_within_the_margin_is_equivalent() -> None:
    assert head_of(a_document(starts_of(-1))).verdict is Verdict.EQUIVALENT


def test_a_wide_interval_is_inconclusive() -> None:
    head = head_of(a_document(starts_of(-3, APART)))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.endswith("in 5 starts: neither beyond zero nor within the margin of 2 %")


def test_a_change_about_as_large_as_the_margin_is_inconclusive() -> None:
    head = head_of(a_document(starts_of(-1.8)))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.endswith("a change, but possibly below the margin of 2 %")


def test_the_margin_is_the_same_both_ways() -> None:
    """At a margin of 25 %: 1 / 1.25 = 0.8, so 20 % slower is just as far as 25 % faster."""
    policy = Policy(margin=0.25)
    for change, verdict in ((0.7999, Verdict.REGRESSED), (0.8001, Verdict.INCONCLUSIVE)):
        for sign, mirrored in ((1, verdict), (-1, verdict)):
            starts = starts_of(sign * 100 * math.log(change))
            expected = Verdict.IMPROVED if sign < 0 and verdict is Verdict.REGRESSED else mirrored
            assert head_of(a_document(starts), policy).verdict is expected


def test_many_comparisons_ask_for_more_evidence() -> None:
    """p is 0.009 for the cell alone; among ten it no longer carries a verdict."""
    one = starts_of(-8, [x * 0.8 for x in APART])
    alone = head_of(a_document(one))
    assert alone.verdict is Verdict.REGRESSED
    assert alone.p_value == pytest.approx(0.009, abs=0.002)
    others = [Block(workload=f"w{i}", dataset="d", threads=4, servers=("a", "b")) for i in range(9)]
    starts = one + [start for block in others for start in starts_of(0, APART, block)]
    among = compare.compare(a_document(starts, blocks=(READS, *others))).cells[1]
    assert among.ratio == alone.ratio
    assert alone.p_value is not None
    assert among.p_value == pytest.approx(10 * alone.p_value)
    assert among.verdict is Verdict.INCONCLUSIVE
    assert "not significant among 10 comparisons (p = 0.0" in among.reason


def test_starts_that_lie_closer_than_their_rounds_allow_carry_no_verdict() -> None:
    """Five starts alike to 0.5 %, in which single rounds differ by 40 %: a start by 13 %, chance aside."""
    rng = np.random.default_rng(4)
    starts = starts_of(-5)
    for number, start in enumerate(starts):
        a, b = start.samples
        jitter = rng.normal(0, 0.4, 10)
        ordered = np.sort(jitter)[2:-2].mean()  # what the trimmed mean of them is
        noisy = tuple(float(x) for x in np.array(a.transactions) * np.exp(jitter - ordered))
        starts[number] = structs.replace(start, samples=(structs.replace(a, transactions=noisy), b))
    quiet, noisy_ = head_of(a_document(starts_of(-5))), head_of(a_document(starts))
    assert quiet.verdict is Verdict.REGRESSED
    assert noisy_.verdict is Verdict.INCONCLUSIVE
    assert noisy_.reason.startswith("4.9 % slower, 95 % interval ")
    assert "not significant given the noise of its rounds among 1 comparison" in noisy_.reason
    assert quiet.judged[0].detectable is not None
    assert noisy_.judged[0].detectable is not None
    assert quiet.judged[0].detectable < 0.03
    assert noisy_.judged[0].detectable > 0.1


def test_p_values_are_holms() -> None:
    starts = starts_of(-2, APART) + starts_of(-8, APART, WRITES)
    cells = compare.compare(a_document(starts, blocks=(READS, WRITES))).cells
    alone = [
        head_of(a_document(starts_of(-2, APART))).p_value,
        head_of(a_document(starts_of(-8, APART))).p_value,
    ]
    assert [cells[1].p_value, cells[3].p_value] == pytest.approx(stats.holm([p or 0.0 for p in alone]))


def test_the_policy_is_the_profiles_unless_given() -> None:
    document = a_document(starts_of(-10))
    assert compare.compare(document).policy == document.header.profile.policy
    lenient = Policy(margin=0.2)
    assert compare.compare(document, lenient).policy == lenient
    assert head_of(document, lenient).verdict is Verdict.EQUIVALENT


def test_one_start_is_no_verdict_however_clear() -> None:
    head = head_of(a_document(starts_of(-20, [0.0])))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.endswith("in 1 start; a verdict needs at least two starts")
    assert head.ratio is not None
    assert codes(head) == ["few-starts"]


@pytest.mark.parametrize(
    ("spread", "most", "expected"),
    [
        (APART, 12, "the 12 that the profile allows would give ± 3.0 %"),
        (APART, 100, "about 41 starts are needed, 5 were steady"),
        (CLOSE, 12, None),
    ],
)
def test_a_wide_interval_names_the_starts_it_needs(
    spread: Sequence[float], most: int, expected: str | None
) -> None:
    """Starts that differ by 4.74 %, or a tenth of that; ± 1.5 % is asked for."""
    document = a_document(starts_of(-1.8, spread))
    sampling = Sampling(starts_max=most)
    profile = msgspec.structs.replace(document.header.profile, sampling=sampling)
    header = msgspec.structs.replace(document.header, profile=profile)
    head = head_of(msgspec.structs.replace(document, header=header))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert codes(head) == ([] if expected is None else ["wide"])
    if expected is not None:
        assert head.warnings[0].text.startswith("± 5.9 %, but the profile asks for ± 1.5 %: about 41 starts")
        assert head.warnings[0].text.endswith(expected)


def test_two_starts_are_judged_under_a_warning() -> None:
    head = head_of(a_document(starts_of(-20, [-0.1, 0.1])))
    assert head.verdict is Verdict.REGRESSED
    assert codes(head) == ["few-starts", "noise-floor-unknown", "not-confirmed"]


def made_unsteady(starts: list[StartRecord], server: str, *numbers: int) -> list[StartRecord]:
    """The same with one server's samples marked in the starts at those places."""
    marked = list(starts)
    for number in numbers:
        samples = (msgspec.structs.replace(s, steady=s.server != server) for s in starts[number].samples)
        marked[number] = msgspec.structs.replace(starts[number], samples=tuple(samples))
    return marked


@pytest.mark.parametrize("unsteady", ["a", "b"])
def test_an_unsteady_start_is_left_out_of_the_judgement(unsteady: str) -> None:
    starts = starts_of(-10, [-0.2, -0.1, 30.0, 0.1, 0.2])  # the third is far off
    head = head_of(a_document(made_unsteady(starts, unsteady, 2)))
    assert head.verdict is Verdict.REGRESSED
    assert len(head.per_start) == 4
    assert "unsteady" in codes(head)


def test_nothing_is_judged_where_no_start_was_steady() -> None:
    starts = starts_of(-10)
    head = head_of(a_document(made_unsteady(starts, "b", *range(len(starts)))))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.startswith("no verdict on unsteady samples: b was not steady in start 1")
    assert head.ratio is None
    assert codes(head) == ["unsteady"]


def test_a_standstill_counts() -> None:
    """A head that stands still in most slices is no less slow for it."""
    starts = [
        a_start(n, a_sample("a", (1000,) * 10), a_sample("b", (0,) * 8 + (1000 + n,) * 2))
        for n in range(1, 6)
    ]
    head = head_of(a_document(starts))
    assert head.verdict is Verdict.REGRESSED
    assert head.ratio is not None
    assert head.ratio.estimate < 0.05


@settings(deadline=None, max_examples=50)
@given(st.floats(-30, 30), st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.floats(0.005, 0.2))
def test_verdicts_are_what_the_rule_says(change: float, effects: list[float], margin: float) -> None:
    head = head_of(a_document(starts_of(change, effects)), Policy(margin=margin))
    assert head.ratio is not None
    low, estimate, high = head.ratio.low, head.ratio.estimate, head.ratio.high
    if head.verdict is Verdict.REGRESSED:
        assert high < 1
        assert estimate <= 1 / (1 + margin)
    elif head.verdict is Verdict.IMPROVED:
        assert low > 1
        assert estimate >= 1 + margin
    elif head.verdict is Verdict.EQUIVALENT:
        assert 1 / (1 + margin) <= low * (1 + 1e-12)
        assert high <= (1 + margin) * (1 + 1e-12)
    else:
        assert head.verdict is Verdict.INCONCLUSIVE


@settings(deadline=None, max_examples=50)
@given(st.floats(-30, 30), st.lists(st.floats(-5, 5), min_size=2, max_size=6))
def test_swapping_base_and_head_swaps_the_verdict(change: float, effects: list[float]) -> None:
    swapped = {Verdict.REGRESSED: Verdict.IMPROVED, Verdict.IMPROVED: Verdict.REGRESSED}
    document = a_document(starts_of(change, effects))
    head = head_of(document)
    mirror = compare.compare(document, base="b").cells[1]
    assert mirror.cell.server == "a"
    assert mirror.verdict is swapped.get(head.verdict, head.verdict)
    assert mirror.ratio is not None
    assert head.ratio is not None
    assert mirror.ratio.estimate == pytest.approx(1 / head.ratio.estimate)


# --- confirmation, noise floors, other metrics --------------------------------------------------------


def confirming(starts: Sequence[StartRecord]) -> list[StartRecord]:
    """The same as fresh starts after the five that showed something."""
    return [msgspec.structs.replace(each, start=each.start + 5, confirming=True) for each in starts]


def test_what_holds_again_is_confirmed() -> None:
    head = head_of(a_document(starts_of(-10) + confirming(starts_of(-9, (-0.3, 0.0, 0.3)))))
    assert head.verdict is Verdict.REGRESSED
    assert head.judged[0].confirmed is True
    assert head.reason.endswith("in 8 starts, the last 3 starts to confirm it")
    assert codes(head) == ["noise-floor-unknown"]


@pytest.mark.parametrize("later", [0, -1, 10], ids=["nothing", "less than the margin", "the other way"])
def test_what_does_not_hold_again_is_no_verdict(later: float) -> None:
    head = head_of(a_document(starts_of(-10) + confirming(starts_of(later, (-0.3, 0.0, 0.3)))))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.judged[0].confirmed is False
    assert "did not hold again after fresh starts" in head.reason


def test_fresh_starts_alone_do_not_make_a_verdict() -> None:
    """They are made for another server of the block: what only they show was not there before."""
    head = head_of(a_document(starts_of(0, APART) + confirming(starts_of(-30))))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.judged[0].confirmed is None


def an_entry(spread: float, starts: int = 5, verdict: Verdict = Verdict.EQUIVALENT) -> LedgerEntry:
    return LedgerEntry(
        run=f"before {spread}",
        workload="reads",
        dataset="d",
        threads=4,
        verdict=verdict,
        starts=starts,
        spreads={"throughput": spread},
    )


def test_a_change_must_rise_above_what_nothing_looks_like_here() -> None:
    """1.5 floors of 1.96 · 0.1 / √5 are 13.1 %: a drop of 10 % is not enough, one of 15 % is."""
    for change, verdict in ((-10, Verdict.INCONCLUSIVE), (-15, Verdict.REGRESSED)):
        found = compare.compare(a_document(starts_of(change)), ledger_entries=[an_entry(0.1)])
        head = found.cells[1]
        assert head.verdict is verdict
        assert head.judged[0].floor == pytest.approx(1.96 * 0.1 / math.sqrt(5), rel=1e-3)
        assert "noise-floor-unknown" not in codes(head)
    assert (
        "not above 1.5 times the A/A noise floor"
        in compare.compare(a_document(starts_of(-10)), ledger_entries=[an_entry(0.1)]).cells[1].reason
    )


def test_what_another_cell_shows_is_no_floor_of_this_one() -> None:
    other = msgspec.structs.replace(an_entry(0.1), threads=8)
    head = compare.compare(a_document(starts_of(-10)), ledger_entries=[other]).cells[1]
    assert (head.verdict, head.judged[0].floor) == (Verdict.REGRESSED, None)


def with_aa_controls(starts: Sequence[StartRecord], change_percent: float) -> list[StartRecord]:
    """A second instance of `a` in each start, so much faster."""
    aa_controls = [each.samples[1] for each in starts_of(change_percent)]
    return [
        msgspec.structs.replace(each, aa_control=msgspec.structs.replace(aa_control, server="a"))
        for each, aa_control in zip(starts, aa_controls, strict=True)
    ]


def test_a_change_that_no_steady_start_confirms_is_no_verdict() -> None:
    again = confirming(starts_of(-10, (-0.3, 0.0, 0.3)))
    head = head_of(a_document(starts_of(-10) + made_unsteady(again, "b", 0, 1, 2)))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.judged[0].confirmed is False
    assert head.reason.endswith("in 5 starts: no confirming start was steady")
    assert head_of(a_document(starts_of(-10) + made_unsteady(again, "b", 0, 1))).verdict is Verdict.REGRESSED


def test_an_a_a_cell_is_confirmed_like_the_others() -> None:
    """It looked slower; after fresh starts it does not: no false alarm."""
    first = with_aa_controls(starts_of(0), -10)
    assert compare.compare(a_document(first)).aa_controls[0].verdict is Verdict.REGRESSED
    for later, verdict in ((0, Verdict.INCONCLUSIVE), (-10, Verdict.REGRESSED)):
        again = with_aa_controls(confirming(starts_of(0)), later)
        (aa_control,) = compare.compare(a_document(first + again)).aa_controls
        assert aa_control.verdict is verdict
        assert aa_control.judged[0].confirmed is (later != 0)


def test_an_a_a_cell_is_judged_like_the_others_but_not_one_of_them() -> None:
    found = compare.compare(a_document(with_aa_controls(starts_of(-10), 0.5)))
    assert [cell.cell.server for cell in found.cells] == ["a", "b"]
    (aa_control,) = found.aa_controls
    assert (aa_control.cell.server, aa_control.base.server, aa_control.verdict) == (
        "a again",
        "a",
        Verdict.EQUIVALENT,
    )
    assert found.cells[1].judged[0].floor is not None
    assert found.false_alarms is not None
    assert (found.false_alarms.alarms, found.false_alarms.cells) == (0, 1)


def test_a_false_alarm_is_counted() -> None:
    history = [an_entry(0.005), an_entry(0.006, verdict=Verdict.IMPROVED)]
    found = compare.compare(a_document(with_aa_controls(starts_of(0), -10)), ledger_entries=history)
    assert found.aa_controls[0].verdict is Verdict.REGRESSED
    assert found.false_alarms is not None
    assert (found.false_alarms.alarms, found.false_alarms.cells) == (2, 3)
    assert compare.exit_code(found) == 0  # nothing was done to a server


def test_until_false_alarms_are_known_to_be_rare_a_gate_advises() -> None:
    """Wilson's upper bound falls to 5 % with 73 A/A cells; and with a false alarm among them, with 110."""
    document, policy = a_document(starts_of(-10)), Policy(false_alarms_max=0.05)
    for alarms, cells, code in ((0, 0, 0), (0, 72, 0), (0, 73, 1), (1, 109, 0), (1, 110, 1)):
        kinds = [Verdict.IMPROVED] * alarms + [Verdict.EQUIVALENT] * (cells - alarms)
        history = [an_entry(0.001, verdict=kind) for kind in kinds]
        found = compare.compare(document, policy, ledger_entries=history)
        assert found.cells[1].verdict is Verdict.REGRESSED
        assert (compare.exit_code(found), compare.advisory(found)) == (code, not code)
        assert ledger.cells_needed(found.false_alarms, policy) == max(0, (110 if alarms else 73) - cells)
    assert compare.exit_code(compare.compare(document, Policy())) == 1  # a run is no gate


def test_a_failed_cell_fails_a_gate_that_merely_advises() -> None:
    found = compare.compare(a_document(starts_of(-10), a_failure("b")), Policy(false_alarms_max=0.05))
    assert (compare.advisory(found), compare.exit_code(found)) == (True, 3)


def test_a_server_that_is_named_twice_is_an_a_a_cell_too() -> None:
    servers = [msgspec.structs.replace(a_server(label), reference="x") for label in ("a", "b")]
    found = compare.compare(a_document(starts_of(0), servers=servers))
    assert found.cells[1].verdict is Verdict.EQUIVALENT
    assert found.false_alarms is not None
    assert found.false_alarms.cells == 1
    apart = compare.compare(a_document(starts_of(0), servers=[a_server("a"), a_server("b")]))
    assert apart.false_alarms is None


def test_a_run_judged_again_does_not_count_twice() -> None:
    document = a_document(with_aa_controls(starts_of(0), 0))
    first = compare.compare(document)
    again = compare.compare(document, ledger_entries=ledger.of(document.header, first.aa_controls))
    assert again == first


def test_any_metric_can_be_judged() -> None:
    """The same throughput, a quarter more CPU for each transaction."""
    starts = starts_of(0)
    costly = [
        msgspec.structs.replace(
            each,
            samples=(
                each.samples[0],
                msgspec.structs.replace(
                    each.samples[1],
                    server_cpu_s=tuple(1.25 * cpu_s for cpu_s in each.samples[1].server_cpu_s or ()),
                ),
            ),
        )
        for each in starts
    ]
    assert head_of(a_document(costly)).verdict is Verdict.EQUIVALENT
    head = head_of(a_document(costly), Policy(judged=("throughput", "server_cpu")))
    assert head.verdict is Verdict.REGRESSED
    assert [(each.metric, each.verdict) for each in head.judged] == [
        ("server_cpu", Verdict.REGRESSED),
        ("throughput", Verdict.EQUIVALENT),
    ]
    assert head.reason.startswith("server CPU 24.9 % more, 95 % interval")
    assert head.ratio is not None
    assert head.ratio.estimate == pytest.approx(1, abs=0.01)  # of throughput, whatever decided
    lenient = Policy(judged=("throughput", "server_cpu"), workloads={"reads": {"server_cpu": 0.3}})
    assert head_of(a_document(costly), lenient).verdict is Verdict.EQUIVALENT


def test_more_work_is_the_likely_cause_of_a_regression() -> None:
    """A tenth slower, and twice as many fsyncs; an equivalent cell lists it all the same."""
    base_work, head_work = {"Innodb_data_fsyncs": 1200.0}, {"Innodb_data_fsyncs": 2400.0}
    for change, verdict in ((-10, Verdict.REGRESSED), (0, Verdict.EQUIVALENT)):
        starts = [
            msgspec.structs.replace(
                each,
                samples=tuple(
                    msgspec.structs.replace(one, counters=work)
                    for one, work in zip(each.samples, (base_work, head_work), strict=True)
                ),
            )
            for each in starts_of(change)
        ]
        head = head_of(a_document(starts))
        assert head.verdict is verdict
        assert [(each.kind, each.name) for each in head.causes] == [("work", "fsyncs")]
        assert head.causes[0].head == pytest.approx(2 * head.causes[0].base, rel=0.15)
    assert head_of(a_document(starts_of(-10))).causes == ()


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        ((0.0,) * 5, (0.0,) * 5, Verdict.EQUIVALENT),
        ((600.0,) * 5, (600.0,) * 5, Verdict.EQUIVALENT),
        ((0.0,) * 5, (600.0,) * 5, Verdict.INCONCLUSIVE),
        ((600.0,) * 5, (None,) * 5, Verdict.INCONCLUSIVE),
    ],
    ids=["always 0", "the same", "from 0", "not visible"],
)
def test_a_metric_that_cannot_be_judged_passes_nothing(
    base: Sequence[float | None], head: Sequence[float | None], verdict: Verdict
) -> None:
    policy = Policy(judged=("throughput", "buffer_pool_reads"))
    for change in (0, -10):
        starts = [
            msgspec.structs.replace(
                start,
                samples=tuple(
                    msgspec.structs.replace(
                        each, counters={} if seen is None else {"Innodb_buffer_pool_reads": seen}
                    )
                    for each, seen in zip(start.samples, both, strict=True)
                ),
            )
            for start, both in zip(starts_of(change), zip(base, head, strict=True), strict=True)
        ]
        found = head_of(a_document(starts), policy)
        assert found.verdict is (Verdict.REGRESSED if change else verdict)
        refused = (
            "but buffer pool reads could not be compared: not visible, or 0, in some start" in found.reason
        )
        assert refused is (verdict is Verdict.INCONCLUSIVE and not change)


def test_margins_are_the_metrics_and_the_workloads() -> None:
    policy = Policy(margin=0.02, margins={"latency_p99": 0.1}, workloads={"reads": {"throughput": 0.05}})
    assert policy.margin_of("throughput", "reads") == 0.05
    assert policy.margin_of("throughput", "writes") == 0.02
    assert policy.margin_of("latency_p99", "reads") == 0.1


def test_at_a_fixed_rate_the_latency_is_judged() -> None:
    document = a_document(starts_of(0, latencies=histogram(2, 4, 6, 8)))
    profile = msgspec.structs.replace(document.header.profile, load=Load(rate=100.0))
    header = msgspec.structs.replace(document.header, profile=profile)
    head = head_of(msgspec.structs.replace(document, header=header))
    assert head.judged[0].metric == "latency_p95"
    assert head.verdict is Verdict.REGRESSED
    assert head.reason.startswith("95 % latency 100.0 % more")


def test_what_could_have_been_seen_is_what_is_seen_in_four_of_five_runs() -> None:
    """By simulation: starts that differ by 1 % about a true change of just the size that was named.

    Nothing confirms it, and it is the only comparison; test_simulation.py has whole gates.
    """
    rng = np.random.default_rng(4)
    once = Policy(confirm_starts=0)
    quiet = head_of(a_document(starts_of(0, [float(x) for x in rng.normal(0, 1, 8)])), once)
    named = quiet.judged[0].detectable
    assert named is not None
    spread = 100 * quiet.judged[0].spread
    found = [
        head_of(
            a_document(starts_of(100 * math.log1p(-named), [float(x) for x in rng.normal(0, spread, 8)])),
            once,
        ).verdict
        for _ in range(200)
    ]
    assert 0.7 < found.count(Verdict.REGRESSED) / 200 < 0.9


# --- base, failures, what was not measured ----------------------------------------------------------


def test_the_bases_own_cell_is_a_row() -> None:
    base, _ = compare.compare(a_document(starts_of(-10))).cells
    assert (base.cell, base.base) == (READS.cell("a"), READS.cell("a"))
    assert (base.verdict, base.reason, base.ratio, base.p_value) == (Verdict.UNJUDGED, "the base", None, None)
    assert base.figures is not None


def test_another_base_comes_first_in_its_block() -> None:
    comparison = compare.compare(a_document(starts_of(-10)), base="b")
    assert [cell.cell.server for cell in comparison.cells] == ["b", "a"]
    assert {cell.base.server for cell in comparison.cells} == {"b"}


def test_an_unknown_base() -> None:
    with pytest.raises(InputError, match=r"^unknown server 'mysql-8', not in run r; known: a, b$"):
        compare.compare(a_document(starts_of(0)), base="mysql-8")


def test_a_base_that_a_block_does_not_have() -> None:
    alone = Block(workload="writes", dataset="d", threads=4, servers=("a",))
    starts = [*starts_of(0), a_start(1, a_sample("a"), block=alone)]
    comparison = compare.compare(a_document(starts, blocks=(READS, alone)), base="b")
    assert comparison.cells[2].verdict is Verdict.UNJUDGED
    assert comparison.cells[2].reason == "nothing to compare with: b was not measured beside it"


def test_a_head_that_failed() -> None:
    document = a_document(starts_of(-10), a_failure("b"))
    head = head_of(document)
    assert (head.verdict, head.reason) == (Verdict.FAILED, "it died: [ERROR] no memory")
    assert (head.ratio, head.p_value, head.per_start) == (None, None, ())
    assert head.figures is not None
    assert head.figures.starts == 5


def test_a_head_that_never_started_failed_in_every_block() -> None:
    starts = [a_start(n, a_sample("a"), block=block) for block in (READS, WRITES) for n in (1, 2)]
    comparison = compare.compare(a_document(starts, a_failure("b"), blocks=(READS, WRITES)))
    assert verdicts(comparison) == {
        ("reads", "a"): Verdict.UNJUDGED,
        ("reads", "b"): Verdict.FAILED,
        ("writes", "a"): Verdict.UNJUDGED,
        ("writes", "b"): Verdict.FAILED,
    }
    assert comparison.cells[3].figures is None


def test_a_head_that_failed_in_one_block_is_judged_in_the_other() -> None:
    starts = [*starts_of(-10), *starts_of(-10, block=WRITES)]
    comparison = compare.compare(a_document(starts, a_failure("b", WRITES), blocks=(READS, WRITES)))
    assert [cell.verdict for cell in comparison.cells[1::2]] == [Verdict.REGRESSED, Verdict.FAILED]


def test_with_a_base_that_failed_on_the_way_nothing_is_judged() -> None:
    base, head = compare.compare(a_document(starts_of(-10), a_failure("a"))).cells
    assert base.verdict is Verdict.FAILED
    assert (head.verdict, head.ratio) == (Verdict.UNJUDGED, None)
    assert head.reason == "its base, a, failed: it died: [ERROR] no memory"


def test_the_next_server_stands_in_for_a_base_that_never_ran() -> None:
    block = msgspec.structs.replace(READS, servers=("dead", "a", "b"))
    document = a_document(starts_of(-10), a_failure("dead", block), blocks=(block,))
    base, dead, head = compare.compare(document).cells
    assert (base.cell.server, base.reason) == ("a", "the base, in place of dead")
    assert (dead.cell.server, dead.verdict) == ("dead", Verdict.FAILED)
    assert (head.cell.server, head.verdict) == ("b", Verdict.REGRESSED)


def test_starts_in_which_only_one_was_measured_do_not_count() -> None:
    starts = [*starts_of(-10), a_start(6, a_sample("a", (5000.0,) * 10))]
    assert head_of(a_document(starts)).ratio == head_of(a_document(starts_of(-10))).ratio


def test_a_run_cut_short() -> None:
    for end in (None, EndRecord(finished="", elapsed_s=1, interrupted=True)):
        comparison = compare.compare(a_document(starts_of(-10), blocks=(READS, WRITES), end=end))
        assert all("interrupted" in codes(cell) for cell in comparison.cells)
        assert [cell.verdict for cell in comparison.cells] == [
            Verdict.UNJUDGED,
            Verdict.REGRESSED,
            Verdict.UNJUDGED,
            Verdict.UNJUDGED,
        ]
        assert comparison.cells[2].reason == (
            "not measured: the run was cut short before it, or its shard is missing"
        )


# --- warnings ---------------------------------------------------------------------------------------


def test_what_trimming_hides_is_a_doubt() -> None:
    """A head that stands still in one slice of ten loses that one alone; a base that does so gains it."""
    still = (0.0, *(1000.0,) * 9)
    for a, b, expected in (
        ((1000.0,) * 10, still, "10.0 % slower"),
        (still, (1000.0,) * 10, "11.1 % faster"),
        (still, still[::-1], None),
    ):
        starts = [a_start(n, a_sample("a", a), a_sample("b", b)) for n in range(1, 6)]
        head = head_of(a_document(starts))
        assert head.verdict is Verdict.EQUIVALENT
        assert codes(head) == ([] if expected is None else ["uneven"])
        if expected is not None:
            assert f"it is {expected}" in head.warnings[0].text


@pytest.mark.parametrize(("count", "expected"), [(11, []), (13, ["errors"])])
def test_retries_of_more_than_one_percent_are_a_doubt(count: int, expected: list[str]) -> None:
    """1200 transactions each start."""
    starts = [a_start(n, a_sample("a"), a_sample("b", errors={"1213": count})) for n in (1, 2, 3)]
    head = head_of(a_document(starts))
    assert codes(head) == expected
    if expected:
        text = "1.1 % of transactions were rolled back and retried (error 1213: 39)"
        assert head.warnings[0].text == text


def test_lost_connections_are_a_doubt() -> None:
    starts = [a_start(n, a_sample("a"), a_sample("b", errors={"2013": 1, "1213": 2})) for n in (1, 2, 3)]
    head = head_of(a_document(starts))
    assert codes(head) == ["lost"]
    text = "Connections were lost, or could not be reopened at once (error 2013: 3)"
    assert head.warnings[0].text == text


def test_a_busy_client_is_a_doubt() -> None:
    """A slice lasts 0.1 s of window, 0.02 s of ramp and 2.5 ms to its end."""
    for share, expected in ((0.79, []), (0.81, ["client-bound"])):
        busy = a_sample("b", client_cpu_s=(share * 0.1225,) * 10)
        starts = [a_start(n, a_sample("a"), busy) for n in (1, 2, 3)]
        assert codes(head_of(a_document(starts))) == expected
        assert codes(head_of(a_document(starts, client=(0, 2)))) == []


@pytest.mark.parametrize(
    ("load", "sent", "expected"),
    [
        (Load(), "text", []),
        (Load(protocol="prepared"), "prepared", []),
        (Load(protocol="prepared"), "text", ["protocol"]),
        (Load(), "prepared", ["protocol"]),
        (Load(rate=9), "text", ["fixed-rate"]),
        (Load(think_s=1), "text", []),
    ],
)
def test_a_load_that_is_not_what_it_seems_is_a_doubt(load: Load, sent: str, expected: list[str]) -> None:
    document = a_document(starts_of(0))
    header = msgspec.structs.replace(
        document.header,
        profile=msgspec.structs.replace(document.header.profile, load=load),
        workloads=(builders.a_record("reads", protocol=sent), builders.a_record("writes")),
    )
    document = msgspec.structs.replace(document, header=header)
    for cell in compare.compare(document).cells:
        assert codes(cell) == expected


def test_warnings_about_a_server_and_its_base_travel_with_the_cell() -> None:
    differs = Warning(code="settings-differ", text="innodb_doublewrite is ON, not OFF")
    servers = (a_server("a", differs), a_server("b"))
    base, head = compare.compare(a_document(starts_of(0), servers=servers)).cells
    expected = Warning(code="settings-differ", text="a: innodb_doublewrite is ON, not OFF")
    assert base.warnings == head.warnings == (expected,)


# --- figures ----------------------------------------------------------------------------------------


def test_figures_are_for_each_transaction() -> None:
    head = a_sample("b", counters={"fsyncs": 2400.0}, errors={"1213": 1, "1205": 2}, writes=1200)
    figures = head_of(a_document([a_start(n, a_sample("a"), head) for n in (1, 2)])).figures
    assert figures is not None
    assert figures.server_cpu_s == pytest.approx(0.0005)
    assert figures.client_cpu_s == pytest.approx(0.0001)
    assert (figures.reads, figures.writes, figures.other) == (14, 1, 2)
    assert figures.counters == {"fsyncs": 2.0}
    assert figures.errors == {"1205": 4, "1213": 2}
    assert (figures.starts, figures.rounds) == (2, 20)


def test_what_was_not_visible_in_each_start_is_not_there_and_not_zero() -> None:
    seen = a_sample("b", counters={"fsyncs": 2400.0, "reads": 1200.0})
    unseen = a_sample("b", counters={"reads": 1200.0}, server_cpu_s=None)
    for samples, counters in (((seen, unseen), {"reads": 1.0}), ((unseen, unseen), {"reads": 1.0})):
        starts = [a_start(n, a_sample("a"), each) for n, each in enumerate(samples)]
        figures = head_of(a_document(starts)).figures
        assert figures is not None
        assert figures.server_cpu_s is None
        assert figures.counters == counters


def test_throughput_is_an_interval_over_starts() -> None:
    tps = (990.0, 1000.0, 1010.0)
    starts = [a_start(n, a_sample("a"), a_sample("b", (x,) * 10)) for n, x in enumerate(tps)]
    figures = head_of(a_document(starts)).figures
    assert figures is not None
    half = 4.302653 * 10 / math.sqrt(3)
    expected = [1000, 1000 - half, 1000 + half]
    assert [figures.tps.estimate, figures.tps.low, figures.tps.high] == pytest.approx(expected)


def test_latencies_of_all_starts_are_merged_before_percentiles() -> None:
    fast, slow = (a_sample("b", latencies=histogram(*x)) for x in ([1.0] * 98, [10.0, 100.0]))
    starts = [a_start(1, a_sample("a"), fast), a_start(2, a_sample("a"), slow)]
    figures = head_of(a_document(starts)).figures
    assert figures is not None
    latency = figures.latency
    assert latency.mean_s == pytest.approx((98 * 0.001 + 0.01 + 0.1) / 100, rel=2e-3)
    seconds = (latency.min_s, latency.p50_s, latency.p95_s, latency.p99_s, latency.p999_s, latency.max_s)
    assert seconds == pytest.approx((0.001, 0.001, 0.001, 0.01, 0.1, 0.1), rel=2e-3)


def test_latencies_that_cannot_be_read() -> None:
    broken = a_document([a_start(7, a_sample("a"), a_sample("b", latencies="nonsense"))])
    with pytest.raises(InputError, match=r"^run r: start 7 of reads-t4, b: latencies cannot be read: "):
        compare.compare(broken)


# --- width and exit code ----------------------------------------------------------------------------


def test_half_a_width_is_that_of_the_log_ratio() -> None:
    starts = starts_of(-10)
    assert compare.half_width(starts, Policy()) == pytest.approx(
        0.01 * 2.7764 * math.sqrt(0.9 / 4 / 5), rel=1e-4
    )
    assert compare.half_width(starts, Policy(confidence=0.5)) < compare.half_width(starts, Policy())


def test_the_widest_of_the_heads_counts() -> None:
    narrow, wide = starts_of(0), starts_of(0, APART)
    both = [
        a_start(n.start, *n.samples, msgspec.structs.replace(w.samples[1], server="c"))
        for n, w in zip(narrow, wide, strict=True)
    ]
    assert compare.half_width(both, Policy()) == pytest.approx(
        10 * compare.half_width(narrow, Policy()), rel=1e-3
    )


def test_a_width_needs_two_starts() -> None:
    starts = starts_of(0)
    assert compare.half_width([], Policy()) == math.inf
    assert compare.half_width(starts[:1], Policy()) == math.inf
    assert compare.half_width(starts[:2], Policy()) < math.inf


def test_with_one_server_left_there_is_nothing_to_narrow() -> None:
    assert compare.half_width([a_start(1, a_sample("a"))], Policy()) == 0
    died = [*starts_of(0)[:1], a_start(2, a_sample("a"))]
    assert compare.half_width(died, Policy()) == 0
    assert compare.half_width([a_start(1)], Policy()) == 0


def test_exit_codes() -> None:
    def code(*documents: tuple[float, bool]) -> int:
        cells = tuple(
            cell
            for change, failed in documents
            for cell in compare.compare(
                a_document(starts_of(change), *([a_failure("b")] if failed else []))
            ).cells
        )
        return compare.exit_code(
            msgspec.structs.replace(compare.compare(a_document(starts_of(0))), cells=cells)
        )

    assert code((0, False), (10, False)) == 0
    assert code((0, False), (-10, False)) == 1
    assert code((0, True), (-10, False)) == 3


def test_a_comparison_survives_json() -> None:
    comparison = compare.compare(a_document(starts_of(-10), a_failure("b", WRITES), blocks=(READS, WRITES)))
    assert msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison) == comparison
