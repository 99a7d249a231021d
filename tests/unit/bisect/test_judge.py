import math

import pytest

from shootout.bisect.answer import answer as answered
from shootout.bisect.answer import headline
from shootout.bisect.values import BuildRecord, Revision
from tests.support.bisect.builders import LABELS, a_bisection, a_run, absent, failed, found_by_time

STEP = {label: (-0.04 if label >= "e" else 0.0) for label in LABELS}
BROKEN = BuildRecord(seconds=5.0, reason="build of c: exit code 2; its last words:\nerror: not finished")
VERSIONS = tuple(Revision(label=label, server=f"mysql-{label}") for label in LABELS)


def built(digest: str) -> BuildRecord:
    return BuildRecord(seconds=10.0, digest=digest)


def test_the_starts_of_all_runs_are_judged_together() -> None:
    runs = a_run({"a": 0.0, "h": -0.04}, starts=3), a_run({"a": 0.0, "c": 0.0, "h": -0.04}, starts=2, seed=2)
    answer = found_by_time(a_bisection(), *runs).answer
    assert [finding.starts for finding in answer.findings] == [5, 0, 2, 0, 0, 0, 0, 5]
    assert answer.findings[7].verdict == "regressed"
    assert answer.findings[7].ratio is not None
    assert answer.findings[7].ratio.estimate == pytest.approx(math.exp(-0.04), abs=0.01)


def test_a_step_is_answered_with_its_revision_and_size() -> None:
    answer = found_by_time(a_bisection(), a_run(STEP)).answer
    assert (answer.kind, answer.first, answer.last) == ("step", "e", "e")
    assert answer.size is not None
    assert answer.size.low < math.exp(-0.04) < answer.size.high < 1
    assert (answer.starts, answer.documents) == (64, ("0",))
    assert answered(answer).exit_code == 1
    of_e = answer.findings[4]
    assert (of_e.verdict, of_e.here, of_e.starts) == ("regressed", "yes", 8)


def stairs(size: float) -> dict[str, float]:
    return {label: size * (number // 2) for number, label in enumerate(LABELS)}


@pytest.mark.parametrize(
    ("levels", "revisions", "answered_", "code"),
    [
        ({label: -level for label, level in STEP.items()}, None, ("step", "e", "e"), 0),
        ({"a": 0.0, "c": 0.0, "f": -0.04, "h": -0.04}, None, ("open", "d", "f"), 4),
        ({}, None, ("open", "b", "h"), 4),
        ({"a": 0.0, "h": 0.0}, None, ("none", "b", "h"), 0),
        (stairs(-0.05), VERSIONS, ("several", "c", "c"), 1),
        (stairs(0.05), VERSIONS, ("several", "c", "c"), 0),
    ],
)
def test_what_is_no_step_that_loses(
    levels: dict[str, float], revisions: object, answered_: tuple[str, ...], code: int
) -> None:
    bisection = a_bisection(**({"revisions": revisions} if revisions else {}))  # type: ignore[arg-type]
    answer = found_by_time(bisection, *([a_run(levels, starts=24)] if levels else [])).answer
    assert (answer.kind, answer.first, answer.last) == answered_
    assert answered(answer).exit_code == code


@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("end", [0, -1])
def test_without_an_end_nothing_is_answered(labels: str, end: int) -> None:
    answer = found_by_time(a_bisection(labels, {labels[end]: BROKEN})).answer
    assert (answer.kind, answered(answer).exit_code) == ("open", 3)
    assert headline(answer).startswith(
        f"reads, 4 threads: not bisected, as {labels[end]} cannot be measured: build of c: exit code 2"
    )


def test_ends_of_the_same_files_are_no_answer() -> None:
    answer = found_by_time(a_bisection("abc", {"a": built("1"), "b": built("2"), "c": built("1")})).answer
    assert answer.kind == "open"
    assert answered(answer).exit_code == 3
    assert "as c cannot be measured: it is the same program as a, byte for byte" in headline(answer)


def test_revisions_that_do_not_build_start_or_exist_are_unusable() -> None:
    levels = {"a": 0.0, "b": 0.0, "g": -0.04, "h": -0.04}
    run = a_run(levels, failures=[failed("d")], servers=[absent("e")])
    known = found_by_time(a_bisection(builds={"c": BROKEN, "f": BROKEN}), run)
    answer = known.answer
    assert known.halving.unusable == {2, 3, 4, 5}
    assert (answer.kind, answer.first, answer.last) == ("step", "c", "g")
    assert answer.findings[3].reason == "it died: [ERROR] no memory"
    assert answer.findings[4].reason == "there is no tree"


def test_a_server_that_started_may_fail_once() -> None:
    good, bad = a_run({"a": 0.0, "h": 0.0}), a_run({"a": 0.0, "h": 0.0}, failures=[failed("h")])
    others = a_run({"a": 0.0, "c": 0.0})
    for runs in ([bad], [good, bad], [bad, good, others], [bad, good, bad]):
        assert found_by_time(a_bisection(), *runs).measured.unusable == {}
    reasons = found_by_time(a_bisection(), good, bad, others, bad).measured.unusable
    assert reasons == {"h": "it died: [ERROR] no memory"}


def test_the_same_files_as_a_measured_revision_need_no_start() -> None:
    builds = {"a": built("1"), "b": built("1"), "d": built("1"), "e": built("2"), "h": built("2")}
    answer = found_by_time(a_bisection(builds=builds), a_run({"a": 0.0, "e": -0.04})).answer
    assert (answer.kind, answer.first, answer.last) == ("step", "e", "e")
    assert [each.verdict for each in answer.findings if each.starts == 0] == [
        *("equivalent", None, "equivalent"),
        *(None, None, "regressed"),
    ]


def test_servers_that_are_no_revisions_count_for_nothing() -> None:
    answer = found_by_time(a_bisection("ah"), a_run({"a": 0.0, "b": -0.5, "h": 0.0}, starts=2)).answer
    assert (answer.starts, len(answer.findings)) == (4, 2)


def test_builds_and_runs_are_what_was_spent() -> None:
    run = a_run({"a": 0.0, "h": 0.0})  # took 1 s
    assert found_by_time(a_bisection(builds={"a": built("1"), "c": BROKEN}), run).answer.spent_s == 16
