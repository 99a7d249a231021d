"""A count of a run's servers: in words, as JSON, and on the page that explains a cell."""

from __future__ import annotations

from msgspec import to_builtins

from shootout import numbers
from shootout.count import evidence, judge
from shootout.count.instructions import compare_workload
from shootout.report.sections import Section
from shootout.report.site.render import renderer
from tests.support.report.site.pages import Document, check_figures
from tests.unit.count.test_instructions import WORKLOAD, counted, header, of_run


def section(head: float = 1.1) -> Section:
    return evidence.section([of_run(counted(head))], header())


def test_counted_instructions_say_which_functions_execute_more() -> None:
    said = [
        f"{point.text} {item}".replace(numbers.SPACE, " ").replace(numbers.MINUS, "-")
        for point in section().points
        for item in point.items or ("",)
    ]
    for words in (
        "Instructions, counted in 20261124T100000Z-000001: select: 1 100 instead of 1 000, +10.00 % ",
        "Functions that explain most of it, without what they call: +1 600 of +900 instructions: new_only",
        "By part of the server: +1 300 of +900 instructions: elsewhere in the server",
        "Of them, +600 of +900 instructions: functions without a name.",
    ):
        assert any(line.startswith(words) for line in said), said


def test_without_a_count_there_is_the_command_that_counts() -> None:
    nothing = evidence.section([], header())
    (point,) = nothing.points
    assert point.text == "Instructions of each statement are not counted yet; this counts them:"
    assert point.commands == (f"shootout count --base base --head head --workloads {WORKLOAD}",)
    assert nothing.value is None
    assert html(nothing).strip() == ""


def test_json_has_every_statement() -> None:
    made = section().value
    assert made == compare_workload(judge.compare(of_run(counted())), WORKLOAD, ("base", "head"))
    assert next(one["kind"]["name"] for one in to_builtins(made)["statements"]) == "select"


def html(shown: Section) -> str:
    return renderer()(f"{shown.template}.html", section=shown.context, root="../")


def test_the_page_has_statements_and_functions() -> None:
    text = html(section())
    document = Document(text)
    assert document.open == []
    for words in ("Instructions of each statement", "▼ regressed", "Query_block::prepare", "new_only"):
        assert words in document.text, words
    assert "../count/20261124T100000Z-000001.html" in document.links
    check_figures(text)
