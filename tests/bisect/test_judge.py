import math

import pytest

from shootout.bisect import report
from shootout.bisect.judge import Timed
from shootout.bisect.values import BuildRecord
from tests.bisect.builders import LABELS, a_bisection, a_run, absent, failed

STEP = {label: (-0.04 if label >= "e" else 0.0) for label in LABELS}
BROKEN = BuildRecord(seconds=5.0, reason="build of c: exit code 2; its last words:\nerror: not finished")


def built(digest: str) -> BuildRecord:
    return BuildRecord(seconds=10.0, digest=digest)


def test_evidence_has_each_start_of_every_run() -> None:
    runs = {
        "1": a_run({"a": 0.0, "h": -0.04}, starts=3),
        "2": a_run({"a": 0.0, "c": 0.0, "h": -0.04}, starts=2),
    }
    found = Timed(a_bisection(), runs).evidence
    assert [sorted(start) for start in found.starts] == [[0, 7]] * 3 + [[0, 2, 7]] * 2
    for start in found.starts:
        assert start[0] == 0
        assert start[7] == pytest.approx(-0.04, abs=0.03)


def test_a_step_is_answered_with_its_revision_and_size() -> None:
    found = Timed(a_bisection(), {"1": a_run(STEP)}).answer
    assert (found.kind, found.first, found.last) == ("step", "e", "e")
    assert found.probability > 0.95
    assert found.size.low < math.exp(-0.04) < found.size.high < 1
    assert (found.starts, found.documents) == (64, ("1",))
    assert report.judged(found).exit_code == 1
    of_e = found.findings[4]
    assert of_e.ratio is not None
    assert of_e.ratio.high < 1
    assert of_e.starts == 8


def test_an_improvement_is_no_failure() -> None:
    found = Timed(a_bisection(), {"1": a_run({label: -level for label, level in STEP.items()})}).answer
    assert (found.kind, found.last) == ("step", "e")
    assert report.judged(found).exit_code == 0


def test_nothing_measured_is_open() -> None:
    found = Timed(a_bisection(), {}).answer
    assert found.kind == "open"
    assert report.judged(found).exit_code == 4


@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("end", [0, -1])
def test_without_an_end_nothing_is_answered(labels: str, end: int) -> None:
    found = Timed(a_bisection(labels, {labels[end]: BROKEN}), {}).answer
    assert found.kind == "open"
    assert report.headline(found).startswith(
        f"reads, 4 threads: not bisected, as {labels[end]} cannot be measured: build of c: exit code 2"
    )


def test_ends_of_the_same_files_are_no_answer() -> None:
    found = Timed(a_bisection("abc", {"a": built("1"), "b": built("2"), "c": built("1")}), {}).answer
    assert found.kind == "open"
    assert report.judged(found).exit_code == 3
    assert "as c cannot be measured: it is the same program as a, byte for byte" in report.headline(found)


def test_no_step_is_answered() -> None:
    found = Timed(a_bisection(), {"1": a_run(dict.fromkeys(LABELS, 0.0), starts=24)}).answer
    assert found.kind == "none"
    assert report.judged(found).exit_code == 0


@pytest.mark.parametrize(("sign", "code"), [(-1, 1), (1, 0)])
def test_several_steps_fail_if_the_last_revision_is_slower(sign: int, code: int) -> None:
    levels = {label: sign * 0.05 * (number // 2) for number, label in enumerate(LABELS)}
    found = Timed(a_bisection(), {"1": a_run(levels)}).answer
    assert found.kind == "several"
    assert report.judged(found).exit_code == code


def test_revisions_that_do_not_build_start_or_exist_are_unusable() -> None:
    levels = {"a": 0.0, "b": 0.0, "g": -0.04, "h": -0.04}
    runs = {"1": a_run(levels, failures=[failed("d")], servers=[absent("e")])}
    found = Timed(a_bisection(builds={"c": BROKEN, "f": BROKEN}), runs).answer
    assert Timed(found.bisection, runs).evidence.unusable == (2, 3, 4, 5)
    assert (found.kind, found.first, found.last) == ("step", "c", "g")
    assert found.findings[3].reason == "it died: [ERROR] no memory"
    assert found.findings[4].reason == "there is no tree"


def test_a_server_that_started_may_fail_once() -> None:
    good, bad = a_run({"a": 0.0, "h": 0.0}), a_run({"a": 0.0, "h": 0.0}, failures=[failed("h")])
    others = a_run({"a": 0.0, "c": 0.0})
    for runs in ([bad], [good, bad], [bad, good, others], [bad, good, bad]):
        assert Timed(a_bisection(), dict(zip("123", runs, strict=False))).unusable == {}
    reasons = Timed(a_bisection(), dict(zip("1234", [good, bad, others, bad], strict=True))).unusable
    assert reasons == {"h": "it died: [ERROR] no memory"}


def test_the_same_files_as_an_older_revision_are_never_the_step() -> None:
    builds = {"a": built("1"), "b": built("1"), "d": built("1"), "e": built("2"), "h": built("2")}
    runs = {"1": a_run({"a": 0.0, "e": -0.04})}
    evidence = Timed(a_bisection(builds=builds), runs).evidence
    assert evidence.equal == ((0, 1), (0, 3), (4, 7))
    assert evidence.usable == (0, 2, 4, 5, 6)
    found = Timed(a_bisection(builds=builds), runs).answer
    assert (found.kind, found.first, found.last) == ("step", "e", "e")


def test_servers_that_are_no_revisions_are_no_evidence() -> None:
    known = Timed(a_bisection("ah"), {"1": a_run({"a": 0.0, "b": -0.5, "h": 0.0}, starts=2)})
    assert [sorted(start) for start in known.evidence.starts] == [[0, 1]] * 2


def test_builds_and_runs_are_what_was_spent() -> None:
    runs = {"1": a_run({"a": 0.0, "h": 0.0})}  # took 1 s
    assert Timed(a_bisection(builds={"a": built("1"), "c": BROKEN}), runs).answer.spent_s == 16
