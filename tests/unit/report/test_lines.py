"""A run, as lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from shootout.analysis import claims, compare
from shootout.model.plan import Policy
from shootout.model.run import FailureRecord, RunDocument
from shootout.model.verdict import Comparison
from shootout.report import lines
from tests.support import builders
from tests.support.repeated import a_repetition
from tests.support.screen import row, shown

BASE, HEAD = builders.BASE, builders.HEAD


def a_document(servers: Sequence[str] = (BASE, HEAD), *, failing: bool = False) -> RunDocument:
    header = builders.a_header(servers, workloads=("oltp_point_select",), threads=(1, 8))
    return builders.a_run(header, failing=failing)


def printed(comparison: Comparison) -> list[str]:
    return shown(lines.verdicts(comparison))


def table_rows(screen: Sequence[str]) -> list[list[str]]:
    return [row(line) for line in screen if line.startswith("oltp_")]


def test_what_is_not_here_is_said_once_and_has_no_rows() -> None:
    screen = printed(compare.compare(a_repetition("thread-pool", threads="16")))
    assert len(table_rows(screen)) == 1
    screen = printed(compare.compare(a_repetition("shootout", threads="1,64")))
    assert {row[2] for row in table_rows(screen)} == {
        "mysql-5.6.24", "mysql-5.7.22", "mysql-9.7", "mariadb-10.1.23", "mariadb-11.8",
    }  # fmt: skip
    absent = [line for line in screen if "mysql-4.1" in line]
    assert len(absent) == 1
    assert absent[0].startswith("path:mysql-4.1 was not measured: not available here: there is no tree at ")


def test_claims_have_a_line_each() -> None:
    document = a_repetition("flavours", lambda label, *cell: 200.0 if "maria" in label else 100.0)
    results = claims.evaluate_all(document, document.header.profile.policy)
    first, *rest = (line.text for line in lines.claims(results))
    said = "✓ MariaDB 10.1 is far ahead of MySQL 5.7: 1.48 times, at least half of that lead (holds). "
    assert first.startswith(f"{said}MariaDB 10.1 over MySQL 5.7 at 12 threads: +")
    assert [line[:1] for line in rest] == ["?", "✗", "?", ""]
    assert not [*lines.claims(())]


def test_a_head_that_never_started_differs_in_no_settings() -> None:
    document = a_document()
    base, head = document.header.servers
    unread = tuple(structs.replace(each, effective=None) for each in head.settings)
    header = structs.replace(document.header, servers=(base, structs.replace(head, settings=unread)))
    screen = printed(compare.compare(structs.replace(document, header=header)))
    assert not [line for line in screen if "defaults of" in line or "differ in" in line]


def test_the_table_has_a_row_for_every_head() -> None:
    screen = printed(compare.compare(a_document()))
    assert f"{HEAD} is slower than {BASE} in 2 of 2 cells, unconfirmed: worst" in screen[1]
    assert screen[2].startswith("On this machine: 1 CPU for servers, 1 for the load, 4 tables of ")
    assert (
        screen[3]
        == f"{BASE} and {HEAD} have other defaults of query_cache_bytes, max_connections, character_set"
    )
    assert re.split(r"  +", screen[5]) == [
        "workload", "threads", "server", "base, tps", "tps", "change", "interval", "detectable",
        "verdict",
    ]  # fmt: skip
    one, eight = table_rows(screen)
    assert one == [
        "oltp_point_select", "1", HEAD, "18 899", "14 339", "−24.1 %",
        "−25.2 to −23.0 %", "−3.1 %", "▼ regressed",
    ]  # fmt: skip
    assert eight[:3] == ["oltp_point_select", "8", HEAD]


def test_likely_causes_stand_below_and_whether_the_verdicts_are_advisory() -> None:
    policies = (None, Policy(false_alarms_max=0.05))
    counted, advising = (printed(compare.compare(a_document(), policy)) for policy in policies)
    changed = [line for line in counted if line.startswith("▼ oltp_point_select, ")]
    assert [line.split(", ", 1)[1] for line in changed] == [
        f"1 thread, {HEAD}: 24.1 % slower",
        f"8 threads, {HEAD}: 13.7 % slower",
    ]
    unknown = [line for line in counted if line.startswith("No cause found yet, oltp_point_select, ")]
    assert ["shootout explain " in line for line in unknown] == [True, True]
    assert set(advising) - set(counted) == {
        line for line in advising if line.startswith("None of 2 regressions fail the gate: until a server")
    }
    assert len(advising) == len(counted) + 1


def test_a_server_alone_is_shown_too() -> None:
    screen = printed(compare.compare(a_document((BASE,))))
    assert screen[1] == f"{BASE} was measured alone: nothing to compare it with"
    assert [(row[2], row[-1]) for row in table_rows(screen)] == [(BASE, "○ unjudged")] * 2


def test_the_reason_of_a_failure_stands_below() -> None:
    screen = printed(compare.compare(a_document(failing=True)))
    assert [row[-1] for row in table_rows(screen)[:2]] == ["▼ regressed", "✕ failed"]
    name = f"oltp_point_select, 8 threads, {HEAD}: "
    reason = next(line for line in screen if line.startswith(name))
    assert reason == name + builders.ERROR_LOG.splitlines()[0]
    assert screen[-2] == "03:12:45 UTC - mysqld got signal 6 ;"


def test_a_run_that_was_cut_short_says_so() -> None:
    document = a_document()
    whole = document.end
    assert whole is not None
    assert lines.CUT_SHORT not in printed(compare.compare(document))
    for end in (None, structs.replace(whole, interrupted=True)):
        assert lines.CUT_SHORT in printed(compare.compare(structs.replace(document, end=end)))


def test_what_was_not_measured_is_named_last() -> None:
    document = a_document()
    one, eight = document.header.blocks
    starts = tuple(each for each in document.starts if each.block == one.key)
    screen = printed(compare.compare(structs.replace(document, starts=starts)))
    assert screen[-2:] == [f"Not measured, the budget ended before it: {eight.cell(HEAD).name}", ""]
    alone = a_document([BASE])
    screen = printed(compare.compare(structs.replace(alone, starts=())))
    names = [block.cell(BASE).name for block in alone.header.blocks]
    assert screen[-2] == f"Not measured, the budget ended before it: {', '.join(names)}"


def test_what_fails_alike_on_both_servers_is_said_once() -> None:
    document = a_document()
    (block, _) = document.header.blocks
    reason = "statement `by_name`: Unknown column 'nam' (1054)"
    failures = tuple(FailureRecord(cell=cell, start=1, reason=reason) for cell in block.cells)
    screen = printed(compare.compare(structs.replace(document, failures=failures)))
    said = [line for line in screen if "by_name" in line]
    assert len(said) == 1
    assert said[0].startswith(f"{block.workload}, 1 thread, both servers: ")


def test_a_failed_base_is_shown() -> None:
    document = a_document()
    cell = document.header.blocks[0].cell(BASE)
    failed = FailureRecord(cell=cell, start=2, reason="Lost connection")
    screen = printed(compare.compare(structs.replace(document, failures=(failed,))))
    assert [row[1:3] for row in table_rows(screen) if row[-1] == "✕ failed"] == [["1", BASE]]
    assert f"oltp_point_select, 1 thread, {BASE}: Lost connection" in screen
