import pytest
from msgspec.structs import replace

from shootout.learn.judge import Fidelity, compared
from shootout.learn.values import Log
from tests.learn.builders import a_log, a_template

READ, WRITE = "SELECT ?", "UPDATE t SET a = ?"


def a_pair(reads: int, writes: int, examined: int = 1) -> Log:
    """Reads and writes, so often; each read examines so many rows."""
    read = replace(a_template(READ, count=reads, rows_sent=reads), rows_examined=reads * examined)
    return a_log(read, a_template(WRITE, count=writes))


def fidelity(log: Log, sent: Log) -> Fidelity:
    return compared(log, sent, {READ: "read"}, tps=5.0, connections=2, errors={1213: 3})


def test_equal_logs_have_the_full_score() -> None:
    found = fidelity(a_pair(300, 100), a_pair(600, 200))
    assert found.score == pytest.approx(1)
    assert [each.name for each in found.statements] == ["read", WRITE]
    assert (found.tps, found.sent_tps, found.errors) == (40.0, 5.0, {"1213": 3})


def test_statements_of_one_text_are_counted_together() -> None:
    twice = a_log(*a_pair(200, 40).templates, *a_pair(100, 60).templates)
    assert fidelity(twice, a_pair(600, 200)).score == pytest.approx(1)
    general = a_log(*(replace(each, rows_examined=None, rows_sent=None) for each in twice.templates))
    assert fidelity(general, a_pair(600, 200)).statements[0].examined is None


def test_other_shares_count_as_far_as_they_agree() -> None:
    assert fidelity(a_pair(300, 100), a_pair(200, 200)).score == pytest.approx(0.75)


def test_other_rows_count_nothing() -> None:
    found = fidelity(a_pair(300, 100, examined=100), a_pair(300, 100, examined=110))
    assert found.score == pytest.approx(0.25)
    assert [each.faithful for each in found.statements] == [False, True]
    assert fidelity(a_pair(300, 100, examined=100), a_pair(300, 100, examined=104)).score == pytest.approx(1)


def test_what_is_not_sent_counts_nothing() -> None:
    found = fidelity(a_pair(300, 100), a_log(a_template(WRITE, count=100)))
    assert found.score == pytest.approx(0.25)
    assert found.statements[0].sent_share == 0
