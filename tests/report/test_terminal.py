from __future__ import annotations

import io
import re
from collections.abc import Sequence

from msgspec import structs
from rich.console import Console

from shootout.analysis import claims, compare
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries
from shootout.model.plan import Policy
from shootout.model.run import FailureRecord, Progress, RunDocument
from shootout.model.verdict import Comparison
from shootout.report import terminal
from tests import builders
from tests.repeated import a_repetition
from tests.screen import lines_of, row

BASE, HEAD = builders.BASE, builders.HEAD


def a_document(servers: Sequence[str] = (BASE, HEAD), *, failing: bool = False) -> RunDocument:
    header = builders.a_header(servers, workloads=("oltp_point_select",), threads=(1, 8))
    return builders.a_run(header, failing=failing)


def printed(comparison: Comparison, width: int = 132) -> list[str]:
    return lines_of(lambda console: terminal.print_verdicts(console, comparison), width)


def rows(lines: Sequence[str]) -> list[list[str]]:
    return [row(line) for line in lines if line.startswith("oltp_")]


def shown(*steps: Progress, live: bool = False) -> str:
    screen = io.StringIO()
    with terminal.Display(Console(file=screen, width=200, force_terminal=live)) as display:
        for step in steps:
            display.show(step)
    return screen.getvalue()


def a_step(stage: str, round_: int = 0, rounds: int = 0, **changes: object) -> Progress:
    values: dict[str, object] = {
        "stage": stage, "detail": "", "block": "oltp_read_only-t8", "block_number": 2, "blocks": 9,
        "start": 3, "starts": 6, "round": round_, "rounds": rounds, "half_width": 0.0241, "left_s": 71.0,
    }  # fmt: skip
    return Progress(**(values | changes))  # type: ignore[arg-type]


def test_what_is_said_of_a_run_before_stays_above_the_line_that_changes() -> None:
    said = Progress(stage="note", detail="run 1 is over")
    for live in (False, True):
        screen = shown(a_step("warm-up", 3), said, a_step("measure", 1, 9), live=live)
        assert screen.count("run 1 is over\n") == 1


def test_a_log_line_says_what_is_measured_and_how_much_is_left() -> None:
    preparing = Progress(stage="prepare", detail=BASE)
    starting = a_step("start", detail=f"{BASE}, {HEAD}", block="")
    steps = (
        (0.0, preparing, f"preparing {BASE}"),
        (71.0, starting, f"start 3: starting {BASE}, {HEAD}; 50% done, ≤ 1 min 11 s left"),
        (
            0.0,
            a_step("warm-up", 4, half_width=None),
            "start 3: oltp_read_only-t8 (2/9), warm-up 4; 0% done, ≤ 1 min 11 s left",
        ),
        (
            29.0,
            a_step("measure", 5, 20),
            "start 3: oltp_read_only-t8 (2/9), round 5/20, ± 2.4 % so far; 29% done, ≤ 1 min 11 s left",
        ),
    )
    for elapsed_s, step, line in steps:
        screen, times = io.StringIO(), iter((0.0, elapsed_s))
        with terminal.Display(Console(file=screen, width=200), times.__next__) as display:
            display.show(step)
        assert screen.getvalue() == line + "\n"


def test_a_log_gets_a_line_in_ten_seconds() -> None:
    screen, now = io.StringIO(), [0.0]
    with terminal.Display(Console(file=screen, width=200), lambda: now[0]) as display:
        for second in range(31):
            now[0] = float(second)
            display.show(a_step("measure", second, 40))
    lines = screen.getvalue().splitlines()
    assert [line.partition("round ")[2].partition("/")[0] for line in lines] == ["0", "10", "20", "30"]


# --- published comparisons ------------------------------------------------------------------------


def test_what_is_not_here_is_said_once_and_has_no_rows() -> None:
    lines = printed(compare.compare(a_repetition("thread-pool", threads="16")))
    assert len(rows(lines)) == 1
    lines = printed(compare.compare(a_repetition("shootout", threads="1,64")), width=400)
    assert {row[2] for row in rows(lines)} == {
        "mysql-5.6.24", "mysql-5.7.22", "mysql-9.7", "mariadb-10.1.23", "mariadb-11.8",
    }  # fmt: skip
    absent = [line for line in lines if "mysql-4.1" in line]
    assert len(absent) == 1
    assert absent[0].startswith("path:mysql-4.1 was not measured: not available here: there is no tree at ")


def test_claims_have_a_line_each() -> None:
    document = a_repetition("flavours", lambda label, *cell: 200.0 if "maria" in label else 100.0)
    screen = io.StringIO()
    judged = claims.evaluate_all(document, document.header.profile.policy)
    terminal.print_claims(Console(file=screen, width=80), judged)
    first, *rest = screen.getvalue().splitlines()
    said = "✓ MariaDB 10.1 is far ahead of MySQL 5.7: 1.48 times, at least half of that lead (holds). "
    assert first.startswith(f"{said}MariaDB 10.1 over MySQL 5.7 at 12 threads: +")
    assert [line[:1] for line in rest] == ["?", "✗", "?", ""]
    screen = io.StringIO()
    terminal.print_claims(Console(file=screen), ())
    assert screen.getvalue() == ""


# --- verdicts -------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_every_head() -> None:
    lines = printed(compare.compare(a_document()))
    assert f"{HEAD} is slower than {BASE} in 2 of 2 cells: worst" in lines[1]
    assert lines[2].startswith("1 CPU for servers, 1 for the load, 4 tables of ")
    assert (
        lines[3]
        == f"{BASE} and {HEAD} have other defaults of max_connections, query_cache_bytes, character_set"
    )
    assert re.split(r"  +", lines[5]) == [
        "workload", "threads", "server", "base, tps", "tps", "change", "interval", "detectable",
        "verdict",
    ]  # fmt: skip
    one, eight = rows(lines)
    assert one == [
        "oltp_point_select", "1", HEAD, "18 899", "14 339", "−24.1 %",
        "−25.2 to −23.0 %", "−3.1 %", "▼ regressed",
    ]  # fmt: skip
    assert eight[:3] == ["oltp_point_select", "8", HEAD]


def test_likely_causes_stand_below_and_whether_the_verdicts_are_advisory() -> None:
    policies = (None, Policy(false_alarms_max=0.05))
    counted, advising = (printed(compare.compare(a_document(), policy), 400) for policy in policies)
    causes = [line for line in counted if line.startswith("Likely causes, oltp_point_select, ")]
    assert [line.split(": ")[0].split(", ", 2)[2] for line in causes] == [
        f"1 thread, {HEAD}",
        f"8 threads, {HEAD}",
    ]
    assert all(" of transaction time" in line for line in causes)
    assert set(advising) - set(counted) == {
        line for line in advising if line.startswith("None of 2 regressions fail the gate: until 148")
    }
    assert len(advising) == len(counted) + 1


def test_no_number_is_cut_on_a_narrow_terminal() -> None:
    wide, narrow = (printed(compare.compare(a_document()), width) for width in (200, 60))
    assert rows(narrow) == rows(wide)


def test_a_server_alone_is_shown_too() -> None:
    lines = printed(compare.compare(a_document((BASE,))))
    assert lines[1] == f"{BASE} was measured alone: nothing to compare it with"
    assert [(row[2], row[-1]) for row in rows(lines)] == [(BASE, "○ unjudged")] * 2


def test_a_series_has_a_row_and_each_further_change_a_line() -> None:
    points = [
        HistoryPoint(run=f"r{ratio}", started="", ratio=ratio, low=ratio, high=ratio, tps=900.0)
        for ratio in (1.0, 0.9, 0.95)
    ]
    slower = ChangePoint(
        last_good="r1.0", first_bad="r0.9", before=1.0, after=0.9, confirmed=True,
        good_commit="a" * 40, bad_commit="b" * 40,
    )  # fmt: skip
    faster = ChangePoint(last_good="r0.9", first_bad="r0.95", before=0.9, after=0.99, confirmed=False)
    series = HistorySeries(
        workload="oltp_read_only", dataset="d", settings="in-memory", threads=8, server=HEAD, anchor=BASE,
        runner="f", points=tuple(points), changes=(slower, faster),
    )  # fmt: skip
    titles, first, second, unchanged = lines_of(
        lambda console: terminal.print_history(console, [series, structs.replace(series, changes=())]), 200
    )
    assert dict(zip(row(titles), row(first), strict=True)) == {
        "workload": "oltp_read_only", "settings": "in-memory", "threads": "8", "server": HEAD, "anchor": BASE,
        "runs": "3", "first": "0 %", "newest": "−5.0 %",
        "change": f"▼ −10.0 %, confirmed: last good r1.0, first bad r0.9; commits {'a' * 12}..{'b' * 12}",
    }  # fmt: skip
    assert second.strip() == "▲ +10.0 %, suspected: last good r0.9, first better r0.95"
    assert second.index("▲") == first.index("▼")
    assert row(unchanged)[-1] == "none"


def test_the_reason_of_a_failure_stands_below() -> None:
    lines = printed(compare.compare(a_document(failing=True)), width=60)
    assert [row[-1] for row in rows(lines)[:2]] == ["▼ regressed", "✕ failed"]
    name = f"oltp_point_select, 8 threads, {HEAD}: "
    reason = next(line for line in lines if line.startswith(name))
    assert reason == name + builders.ERROR_LOG.splitlines()[0]
    assert lines[-2] == "03:12:45 UTC - mysqld got signal 6 ;"


def test_what_was_not_measured_is_named_last() -> None:
    document = a_document()
    one, eight = document.header.blocks
    starts = tuple(each for each in document.starts if each.block == one.key)
    lines = printed(compare.compare(structs.replace(document, starts=starts)))
    assert lines[-2:] == [f"Not measured, the budget ended before it: {eight.cell(HEAD).name}", ""]
    alone = a_document([BASE])
    lines = printed(compare.compare(structs.replace(alone, starts=())))
    names = [block.cell(BASE).name for block in alone.header.blocks]
    assert lines[-2] == f"Not measured, the budget ended before it: {', '.join(names)}"


def test_what_fails_alike_on_both_servers_is_said_once() -> None:
    document = a_document()
    (block, _) = document.header.blocks
    reason = "statement `by_name`: Unknown column 'nam' (1054)"
    failures = tuple(FailureRecord(cell=cell, start=1, reason=reason) for cell in block.cells)
    lines = printed(compare.compare(structs.replace(document, failures=failures)))
    said = [line for line in lines if "by_name" in line]
    assert len(said) == 1
    assert said[0].startswith(f"{block.workload}, 1 thread, both servers: ")


def test_a_failed_base_is_shown() -> None:
    document = a_document()
    cell = document.header.blocks[0].cell(BASE)
    failed = FailureRecord(cell=cell, start=2, reason="Lost connection")
    changed = RunDocument(
        header=document.header, starts=document.starts, failures=(failed,), end=document.end
    )
    lines = printed(compare.compare(changed))
    assert [row[1:3] for row in rows(lines) if row[-1] == "✕ failed"] == [["1", BASE]]
    assert f"oltp_point_select, 1 thread, {BASE}: Lost connection" in lines


def test_hostile_text_is_made_visible() -> None:
    label = "path:\x1b[2J\u202egnp[bold]x[/bold]"
    document = a_document((BASE, label))
    reason = "\x1b]0;title\x07 [red]not[/red] markup"
    failed = FailureRecord(cell=document.header.blocks[0].cell(label), start=2, reason=reason)
    changed = RunDocument(
        header=document.header, starts=document.starts, failures=(failed,), end=document.end
    )
    text = "\n".join(printed(compare.compare(changed), width=200))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "  path:␛[2J[U+202E]gnp[bold]x[/bold]  " in text
    assert "␛]0;title␇ [red]not[/red] markup" in text


# --- progress -------------------------------------------------------------------------------------


def test_on_a_terminal_one_line_says_it_all_and_goes_away() -> None:
    screen = shown(a_step("warm-up", 7), a_step("measure", 6, 12), live=True)
    assert " 0% done, ≤ 1 min 11 s left  " in screen
    assert "start 3: oltp_read_only-t8 (2/9), round 6/12, ± 2.4 % so far" in screen
    assert screen.endswith("\x1b[2K")  # the line is erased


def test_labels_do_nothing_to_the_screen() -> None:
    label = "path:\x1b[2J[bold]x[/bold]"
    for live in (False, True):
        for step in (
            a_step("prepare", detail=label, start=0, left_s=None),
            a_step("start", detail=label, block=""),
            a_step("measure", block=label),
        ):
            screen = shown(step, live=live)
            assert "\x1b[2J" not in screen
            assert "path:␛[2J[bold]x[/bold]" in screen
