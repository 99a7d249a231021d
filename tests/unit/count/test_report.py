"""The words of counted report."""

from __future__ import annotations

from shootout.count import judge, report
from shootout.count.values import CountComparison, CountFailure
from shootout.numbers import SPACE
from tests.support.count.builders import BASE, document, times


def compared(factor: float) -> CountComparison:
    return judge.compare(document({"base": BASE, "head": times(factor)}))


def test_a_row_has_change_interval_and_spread() -> None:
    row = report.row(report.shown(compared(1.1))[0])
    assert row[:5] == ("w", "select", "head", f"1{SPACE}000", f"1{SPACE}100")
    assert row[5].startswith("+10.0")
    assert row[8] == "▼ regressed"
    assert len(row) == len(report.COLUMNS)


def test_the_headline_counts_kinds() -> None:
    assert report.headline(compared(1.1)).startswith(
        "head executes more instructions than base for 5 of 5 kinds"
    )
    assert report.headline(compared(1.0)).endswith("for 0 of 5 kinds, fewer for 0.")


def test_many_servers_have_one_sentence() -> None:
    heads = {f"head{number}": times(1.1) for number in range(3)}
    found = report.headline(judge.compare(document({"base": BASE, **heads})))
    assert found == "3 servers against base: more instructions in 15 of 15 comparisons, fewer in 0."


def test_a_single_server_shows_its_counts() -> None:
    alone = judge.compare(document({"base": BASE}))
    assert report.headline(alone) == "One server, counted."
    assert len(report.shown(alone)) == 5


def test_markdown_is_escaped() -> None:
    failure = CountFailure(server="head", workload="", reason="a | <b>")
    text = report.markdown(judge.compare(document({"base": BASE, "head": {}}, [failure])))
    assert "<b>" not in text
    assert "head could not be compared with base." in text
    assert text.count("✕ failed") == 5


def test_what_was_not_counted_is_named() -> None:
    failures = [
        CountFailure(server="base", workload="w", kind="select", reason="near 'OVER'", lacks=True),
        CountFailure(server="base", workload="w", kind="update", reason="too long"),
        CountFailure(server="base", workload="", reason="it died"),
    ]
    twice = {kind: values[:2] for kind, values in BASE.items()}
    assert report.failures(judge.compare(document({"base": twice}, failures))) == (
        "counted in 2 of 3 starts",
        "base lacks w, select: near 'OVER'",
        "base, w, update: too long",
        "base: it died",
    )
    assert report.failures(judge.compare(document({"base": {}}))) == ()


def test_another_base_is_named() -> None:
    found = judge.compare(document({"a": BASE, "b": times(1.25)}), base="b")
    assert report.headline(found).startswith("a executes more instructions than b for 0 of ")
    uncounted = judge.compare(
        document({"a": {}, "b": BASE}, [CountFailure(server="a", workload="", reason="it died")])
    )
    assert report.heads(uncounted) == ("b",)
    assert report.headline(uncounted) == "b could not be compared with a."
