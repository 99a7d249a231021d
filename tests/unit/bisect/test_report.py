from msgspec import structs

from shootout.bisect import report
from shootout.bisect.values import Answer, BuildRecord, Proof, Revision
from shootout.model.verdict import Interval
from shootout.numbers import SPACE
from shootout.writers.judged import Line, Table
from tests.support.bisect.builders import LABELS, a_bisection, a_run, found_by_time

BROKEN = BuildRecord(seconds=5.0, reason="build of c: exit code 2; its last words:\nerror: <b>no</b>")


def an_answer(levels: dict[str, float], **changes: object) -> Answer:
    return found_by_time(a_bisection(**changes), a_run(levels)).answer  # type: ignore[arg-type]


STEP = {label: (-0.05 if label >= "e" else 0.0) for label in LABELS}


def test_the_headline_says_what_is_known() -> None:
    assert report.headline(an_answer(STEP)).startswith("reads, 4 threads: 5.0")
    assert "slower (" in report.headline(an_answer(STEP))
    assert ") since e." in report.headline(an_answer(STEP))
    assert "not decided" in report.headline(found_by_time(a_bisection()).answer)
    equal = found_by_time(a_bisection(), a_run(dict.fromkeys(LABELS, 0.0), starts=24)).answer
    assert f"no step of 2{SPACE}% or more between a and h" in report.headline(equal)


def test_a_bisection_has_a_row_for_each_revision() -> None:
    run = a_run({label: level for label, level in STEP.items() if label != "c"}, noise=0.0)
    answer = found_by_time(a_bisection(builds={"c": BROKEN}), run).answer
    _, headline, _, table, _, *_, note, why = report.judged(answer).text
    assert headline == Line(report.headline(answer), "bold")
    assert isinstance(table, Table)
    by_label = {str(label.text): cells for label, *cells in table.rows if isinstance(label, Line)}
    assert [*by_label] == [*LABELS]
    assert [cell.text.replace(SPACE, " ") for cell in by_label["e"] if isinstance(cell, Line)] == [
        "yes", "−5.0 % (−5.4 to −4.6 %)", "regressed", "−5.2 % (−5.6 to −4.7 %)", "8",
        "Change <b>e, Some Engineer, 2026-11-01",
    ]  # fmt: skip
    assert by_label["c"][-1] == Line("build of c: exit code 2; its last words: error: <b>no</b>", "magenta")
    assert isinstance(note, Line)
    assert why == Line(f"why           {report.why(answer)}")


def test_an_undecided_bisection_says_how_to_go_on() -> None:
    undecided = found_by_time(a_bisection(given={"--workloads": "reads", "--budget": "3"})).answer
    asked = f"shootout bisect --repo /r --good {'a' * 40} --bad {'h' * 40} --workloads reads --resume"
    assert report.go_on(structs.replace(undecided, spent_s=110.0)) == f"{asked} --budget 4"
    assert report.judged(undecided).text[-1] == Line(f"go on         {report.go_on(undecided)}")
    assert report.go_on(an_answer(STEP)) == ""
    revisions = [
        structs.replace(each, commit="", server=f"mysql-{each.label}") for each in a_bisection("ab").revisions
    ]
    counted = found_by_time(a_bisection(revisions=tuple(revisions), instrument="work")).answer
    asked = "shootout bisect --over mysql-a,mysql-b --count --resume --budget "
    assert report.go_on(counted).startswith(asked)


def test_an_open_bisection_names_the_range_that_is_left() -> None:
    answer = an_answer({"a": 0.0, "c": 0.0, "f": -0.05, "h": -0.05})
    assert "not decided; h beside a: 4.9" in report.headline(answer)
    assert report.headline(answer).endswith(", somewhere in d to f.")
    undecided = an_answer({"a": 0.0, "h": -0.015})
    assert f"not decided whether h differs by 2{SPACE}% or more: 1." in report.headline(undecided)


def test_one_of_an_older_format_is_not_continued() -> None:
    answer = an_answer({"a": 0.0, "h": -0.05}, begun_in=1)
    assert "--resume" not in report.go_on(answer)
    assert any("by an older shootout" in note for note in report.notes(answer))


def test_several_steps_are_listed() -> None:
    levels = {"a": 0.0, "b": 0.0, "c": -0.1, "d": -0.1, "e": -0.2, "f": -0.2, "g": -0.2, "h": -0.2}
    versions = tuple(Revision(label=label, server=label) for label in LABELS)
    answer = an_answer(levels, revisions=versions)
    assert "more than one step" in report.headline(answer)
    assert [step.partition(":")[0] for step in report.steps(answer)] == ["c beside b", "e beside d"]


def test_a_run_that_cannot_be_told_apart_is_said() -> None:
    levels = {label: level for label, level in STEP.items() if label not in "cd"}
    answer = an_answer(levels, builds={"c": BROKEN, "d": BROKEN})
    assert " since c to e." in report.headline(answer)
    assert "What lies between c and e cannot be measured apart." in [*report.notes(answer)]
    assert "2 of 8 revisions cannot be measured." in [*report.notes(answer)]
    pair = f"--servers 'git:/r#{'b' * 40},git:/r#{'e' * 40}'"
    assert report.why(answer) == f"shootout run {pair} --workloads reads --threads 4 --explain 5"


def test_a_proof_compares_with_and_without_the_step() -> None:
    ratio, without = Interval(estimate=0.95, low=0.94, high=0.96), Interval(estimate=1.0, low=0.99, high=1.01)
    proof = Proof(before="d", newest="h", ratio=ratio, without=without)
    proven = structs.replace(an_answer(STEP), proof=proof)
    said, *_ = (note.replace(SPACE, " ") for note in report.notes(proven))
    shown = "h −5.0 % (−6.0 to −4.0 %), h without e 0 % (−1.0 to +1.0 %)"
    assert said == f"Proof by revert, in throughput compared with d: {shown}."


def test_a_merge_says_how_to_go_on() -> None:
    bisection = a_bisection()
    merged = tuple(
        type(each)(**{name: getattr(each, name) for name in each.__struct_fields__} | {"parents": 2})
        for each in bisection.revisions
    )
    answer = found_by_time(a_bisection(revisions=merged), a_run(STEP)).answer
    assert any(note.startswith("e is a merge") for note in report.notes(answer))


def test_links_are_only_to_web_addresses() -> None:
    answer = an_answer(STEP, link="https://example.org/{commit}")
    assert report.link(answer, answer.findings[4].revision) == f"https://example.org/{'e' * 40}"
    for link in ("", "javascript:{commit}"):
        answer = an_answer(STEP, link=link)
        assert report.link(answer, answer.findings[4].revision) == ""


def test_markdown_has_the_table_and_escapes_what_others_wrote() -> None:
    answer = an_answer({**STEP}, builds={"c": BROKEN}, link="https://example.org/{commit}")
    text = report.judged(answer).markdown
    assert f"| [e](https://example.org/{'e' * 40}) |" in text
    assert "<b>" not in text
    assert text.count("\n| ") == 1 + len(LABELS)


def test_what_asks_why_measures_as_the_bisection_did() -> None:
    given = {
        "--workloads": "my.toml",
        "--table-size": "500",
        "--budget": "600",
        "--seed": "3",
        "--build": "make",
    }
    asked = report.why(an_answer(STEP, given=given))
    assert "--workloads my.toml --set dataset.rows=500 --build make --threads 4 --explain 5" in asked
    assert "--seed" not in asked
