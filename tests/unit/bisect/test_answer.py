"""The answer of a bisection, as it was approved."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import structs

from shootout.bisect import counts
from shootout.bisect.answer import again, answer, go_on, headline, link, notes, why
from shootout.bisect.judge import Found
from shootout.bisect.values import Bisected, BuildRecord, Proof, Revision
from shootout.model.verdict import Interval
from shootout.writers import markdown
from tests.support import goldens
from tests.support.bisect.builders import LABELS, a_bisection, a_run, found_by_time
from tests.support.screen import answered
from tests.unit.bisect.test_counts import counted

BROKEN = BuildRecord(seconds=5.0, reason="build of c: exit code 2; its last words:\nerror: <b>no</b>")
STEP = {label: (-0.05 if label >= "e" else 0.0) for label in LABELS}
SEVERAL = {label: -0.1 * number for number, label in enumerate(LABELS)}
ADDRESS = "https://example.org/{commit}"


def bisected(levels: dict[str, float] | None = None, **changes: object) -> Bisected:
    bisection = a_bisection(**changes)  # type: ignore[arg-type]
    return found_by_time(*([bisection] if levels is None else [bisection, a_run(levels)])).answer


def by_counts() -> Bisected:
    bisection = a_bisection(LABELS[:2], instrument="work")
    measured = counts.measured(bisection, {"1.json": counted({"b": 1.03})}, "instructions")
    return Found(bisection, measured).answer


@cache
def kinds() -> dict[str, Bisected]:
    """An answer of each kind."""
    versions = tuple(Revision(label=label, server=label) for label in LABELS)
    ratio, without = Interval(estimate=0.95, low=0.94, high=0.96), Interval(estimate=1.0, low=0.99, high=1.01)
    proof = Proof(before="d", newest="h", ratio=ratio, without=without)
    missing = {label: level for label, level in STEP.items() if label not in "cd"}
    older = {"a": 0.0, "h": -0.05}
    return {
        "a step, with its proof": structs.replace(bisected(STEP, link=ADDRESS), proof=proof),
        "a step in commits of which two are not built": bisected(missing, builds={"c": BROKEN, "d": BROKEN}),
        "several steps": bisected(SEVERAL, revisions=versions),
        "none": found_by_time(a_bisection(), a_run(dict.fromkeys(LABELS, 0.0), starts=24)).answer,
        "nothing measured": bisected(given={"--workloads": "reads", "--budget": "3"}),
        "a range that is left": bisected({"a": 0.0, "c": 0.0, "f": -0.05, "h": -0.05}),
        "an undecided end": bisected({"a": 0.0, "h": -0.015}),
        "one of an older format": bisected(older, begun_in=1),
        "by instructions": by_counts(),
    }


def test_each_kind_is_as_it_was_approved(tmp_path: Path) -> None:
    text = "".join(f"== {name}\n{answered(answer(each), 1000)}\n" for name, each in kinds().items())
    goldens.check(text, Path(__file__).parent / "golden" / "answer.txt", tmp_path)


def test_its_chart_has_all_that_was_measured() -> None:
    for name, each in kinds().items():
        measured = sum(finding.ratio is not None for finding in each.findings)
        charts = [drawn.chart for topic in answer(each).topics for drawn in topic.charts]
        points = [len(chart.lines[0].points) for chart in charts]
        assert points == ([1 + measured] if measured else []), name


def test_it_goes_on_with_a_larger_budget() -> None:
    undecided = structs.replace(kinds()["nothing measured"], spent_s=110.0)
    asked = f"shootout bisect --repo /r --good {'a' * 40} --bad {'h' * 40} --workloads reads"
    assert go_on(undecided) == f"{asked} --resume --budget 4"
    assert again(undecided, {}) == asked
    assert go_on(undecided, Path("my out")) == f"{asked} --resume --budget 4 --out 'my out'"
    assert go_on(bisected(STEP)) == ""


def test_a_merge_says_how_to_go_on() -> None:
    merged = tuple(structs.replace(each, parents=2) for each in a_bisection().revisions)
    assert any(note.startswith("e is a merge") for note in notes(bisected(STEP, revisions=merged)))


def test_links_are_only_to_web_addresses() -> None:
    for address, expected in (
        (ADDRESS, f"https://example.org/{'e' * 40}"),
        ("", ""),
        ("javascript:{commit}", ""),
    ):
        found = bisected(STEP, link=address)
        assert link(found, found.findings[4].revision) == expected


def test_markdown_links_revisions_and_escapes_what_others_wrote() -> None:
    text = markdown.write(answer(bisected(STEP, builds={"c": BROKEN}, link=ADDRESS)))
    assert f"| [e](https://example.org/{'e' * 40}) |" in text
    assert "\\<b>no\\</b>" in text or "<b>" not in text
    assert headline(bisected(STEP))[:5] in text


def test_what_asks_why_measures_as_the_bisection_did() -> None:
    given = {"--workloads": "my.toml", "--table-size": "500", "--budget": "600", "--seed": "3"}
    given["--build"] = "make"
    asked = why(bisected(STEP, given=given))
    assert "--workloads my.toml --set dataset.rows=500 --build make --threads 4 --explain 5" in asked
    assert "--seed" not in asked
