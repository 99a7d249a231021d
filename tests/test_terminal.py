from __future__ import annotations

import io
import re
from collections.abc import Sequence

import builders
from rich.console import Console

from shootout import compare, terminal, wording
from shootout.model import Comparison, FailureRecord, Progress, RunDocument

BASE, HEAD = builders.BASE, builders.HEAD


def a_document(servers: Sequence[str] = (BASE, HEAD), *, failing: bool = False) -> RunDocument:
    header = builders.a_header(servers, workloads=("oltp_point_select",), threads=(1, 8))
    return builders.a_run(header, failing=failing)


def printed(comparison: Comparison, width: int = 132) -> list[str]:
    """The lines that a terminal without colours shows."""
    screen = io.StringIO()
    terminal.print_verdicts(Console(file=screen, width=width), comparison)
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def rows(lines: Sequence[str]) -> list[list[str]]:
    return [re.split(r"  +", line) for line in lines if line.startswith("oltp_")]


def shown(*steps: Progress, live: bool = False) -> str:
    screen = io.StringIO()
    with terminal.Display(Console(file=screen, width=200, force_terminal=live)) as display:
        for step in steps:
            display.show(step)
    return screen.getvalue()


def a_step(stage: str, round_: int = 0, rounds: int = 0, **changes: object) -> Progress:
    values: dict[str, object] = {
        "stage": stage,
        "detail": "",
        "block": "oltp_read_only-t8",
        "block_number": 2,
        "blocks": 9,
        "start": 3,
        "starts": 6,
        "round": round_,
        "rounds": rounds,
        "half_width": 0.0241,
        "left_s": 71.0,
    }
    return Progress(**(values | changes))  # type: ignore[arg-type]


# --- verdicts -------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_every_head() -> None:
    lines = printed(compare.compare(a_document()))
    assert f"{HEAD} is slower than {BASE} in 2 of 2 cells: worst" in lines[1]
    assert re.split(r"  +", lines[3]) == [
        "workload", "threads", "server", "base, tps", "tps", "change", "interval", "detectable",
        "verdict",
    ]  # fmt: skip
    one, eight = rows(lines)
    space = wording.SPACE
    assert one == [
        "oltp_point_select", "1", HEAD, f"18{space}899", f"14{space}333", f"−24.2{space}%",
        f"−25.4 to −22.9{space}%", f"−2.5{space}%", "▼ regressed",
    ]  # fmt: skip
    assert eight[:3] == ["oltp_point_select", "8", HEAD]


def test_no_number_is_cut_on_a_narrow_terminal() -> None:
    wide, narrow = (printed(compare.compare(a_document()), width) for width in (200, 60))
    assert rows(narrow) == rows(wide)


def test_a_server_alone_is_shown_too() -> None:
    lines = printed(compare.compare(a_document((BASE,))))
    assert lines[1] == f"{BASE} was measured alone: there is nothing to compare with"
    assert [(row[2], row[-1]) for row in rows(lines)] == [(BASE, "○ unjudged")] * 2


def test_the_reason_of_a_failure_stands_below() -> None:
    lines = printed(compare.compare(a_document(failing=True)), width=60)
    assert [row[-1] for row in rows(lines)[:2]] == ["▼ regressed", "✕ failed"]
    name = f"oltp_point_select, 8 threads, {HEAD}: "
    reason = next(line for line in lines if line.startswith(name))
    assert reason == name + builders.ERROR_LOG.splitlines()[0]
    assert lines[-2] == "03:12:45 UTC - mysqld got signal 6 ;"


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


def test_without_a_terminal_each_start_and_block_is_one_line() -> None:
    steps = [
        a_step("prepare", detail=BASE, block=""),
        a_step("start", detail=f"{BASE}, {HEAD}", block=""),
        *(a_step("warm-up", number) for number in range(1, 20)),
        *(a_step("measure", number, 12) for number in range(1, 13)),
        a_step("warm-up", 1, block="oltp_read_only-t32", block_number=3, half_width=None),
    ]
    assert shown(*steps).splitlines() == [
        f"preparing {BASE}",
        f"start 3: {BASE}, {HEAD}",
        "start 3: oltp_read_only-t8 (2/9) ± 2.4 % so far",
        "start 3: oltp_read_only-t32 (3/9)",
    ]


def test_on_a_terminal_one_line_says_it_all_and_goes_away() -> None:
    screen = shown(a_step("warm-up", 7), a_step("measure", 6, 12), live=True)
    assert "start 3 of ≥ 6" in screen
    assert "oltp_read_only-t8 (2/9)" in screen
    assert "round 6/12 ± 2.4 % so far" in screen
    assert "≤ 1 min 11 s left" in screen
    assert screen.endswith("\x1b[2K")  # the line is erased


def test_labels_do_nothing_to_the_screen() -> None:
    label = "path:\x1b[2J[bold]x[/bold]"
    for live in (False, True):
        for step in (
            a_step("prepare", detail=label),
            a_step("start", detail=label),
            a_step("measure", block=label),
        ):
            screen = shown(step, live=live)
            assert "\x1b[2J" not in screen
            assert "path:␛[2J[bold]x[/bold]" in screen
