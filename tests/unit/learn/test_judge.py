import pytest
from msgspec.structs import replace

from shootout.learn.judge import Fidelity, compared, concerns, refusal
from shootout.learn.learning import LearnedStatement
from shootout.learn.values import LeftOut, Log
from tests.support.learn.builders import a_log, a_report, a_template

READ, WRITE = "SELECT ?", "UPDATE t SET a = ?"


def a_pair(reads: int, writes: int, examined: int = 1) -> Log:
    """Reads and writes, so often; each read examines so many rows."""
    read = replace(a_template(READ, count=reads, rows_sent=reads), rows_examined=reads * examined)
    return a_log(read, a_template(WRITE, count=writes))


def fidelity(log: Log, sent: Log, *refusals: tuple[str, int, int, str]) -> Fidelity:
    return compared(log, sent, {READ: "read"}, tps=5.0, connections=2, completed=97, refusals=refusals)


def test_equal_logs_have_the_full_score() -> None:
    found = fidelity(a_pair(300, 100), a_pair(600, 200), (WRITE, 1213, 3, "Deadlock found"))
    assert (found.score, found.rows_score) == pytest.approx((1, 1), abs=0.01)
    assert found.time_score == pytest.approx(1)
    assert found.refused == pytest.approx(0.03)
    assert [each.name for each in found.statements] == ["read", WRITE]
    assert (found.tps, found.sent_tps, found.errors) == (40.0, 5.0, {"1213": 3})


def test_statements_of_one_text_are_counted_together() -> None:
    twice = a_log(*a_pair(200, 40).templates, *a_pair(100, 60).templates)
    assert fidelity(twice, a_pair(600, 200)).score == pytest.approx(1)
    general = a_log(*(replace(each, rows_examined=None, rows_sent=None) for each in twice.templates))
    assert fidelity(general, a_pair(600, 200)).statements[0].examined is None


@pytest.mark.parametrize(
    ("examined", "sent", "faithful"), [(100, 110, False), (100, 104, True), (7, 3, False)]
)
def test_other_rows_count_nothing(examined: int, sent: int, faithful: bool) -> None:
    found = fidelity(a_pair(300, 100, examined), a_pair(300, 100, sent))
    assert found.score == pytest.approx(1)
    assert found.rows_score == pytest.approx(1 if faithful else 0.25)
    assert found.time_score == pytest.approx(1 if faithful else 0.5)
    assert [each.faithful for each in found.statements] == [faithful, True]


def test_less_than_a_row_is_no_leniency() -> None:
    some, fewer = (replace(a_template(READ, count=1000, rows_sent=rows)) for rows in (700, 300))
    assert not fidelity(a_log(some), a_log(fewer)).statements[0].faithful
    rare = replace(some, count=10, rows_sent=7), replace(some, count=10, rows_sent=3)
    assert fidelity(a_log(rare[0]), a_log(rare[1])).statements[0].faithful  # by chance


def test_what_the_server_refuses_scores_nothing() -> None:
    found = fidelity(
        a_pair(300, 100), a_pair(300, 100), (WRITE, 1062, 100, "Duplicate entry 'bob' for key 'k'")
    )
    assert found.score == pytest.approx(0.75)
    assert found.statements[1].message == "Duplicate entry '…' for key 'k' (1062)"


READS = LearnedStatement(
    name="read", sql=READ, count=100, share=1.0, seconds=1.0, rows_examined=1.0, rows_sent=1.0, unbound=0
)


def test_a_workload_that_is_another_is_told_with_its_reasons_worst_first() -> None:
    assert not [*concerns(a_report(statements=(READS,)), fidelity(a_pair(300, 100), a_pair(290, 110)))]
    found = fidelity(
        a_pair(300, 100), a_pair(100, 300), ("read", 1062, 50, "Duplicate entry 'bob' for key 'k'")
    )
    lost = LeftOut(reason="reads a file", statements=10, example="")
    told = [*concerns(a_report(statements=(READS,), left_out=(lost,)), found)]
    assert told[0].startswith(
        "only 39.3 % of the log's statements are sent as in the log: read is 75.0 % of the log"
    )
    assert told[1].startswith("only 59.5 % of the log's time goes to what is sent as in the log: read is")
    assert told[2].startswith(
        "the server refuses 34.0 % of attempts: read: Duplicate entry '…' for key 'k' (1062)"
    )
    assert told[3] == "10.0 % of the log's statements are left out: 10 x reads a file"


def test_a_refusal_names_the_server_s_words_without_values() -> None:
    found = refusal(1062, "statement `insert_t`: Duplicate entry 'secret' for key 'a'")
    assert found is not None
    assert found.refused == {"insert_t": "Duplicate entry '…' for key 'a' (1062)"}
    assert refusal(0, "statement `insert_t`: lost") is None
    assert refusal(1045, "Access denied") is None
