from __future__ import annotations

import io

from rich.console import Console

from shootout.answer import Answer, Table, Topic
from shootout.model.run import Progress
from shootout.report import run_answer
from shootout.writers import terminal
from tests.support import builders
from tests.support.screen import answered, row

BASE, HEAD = builders.BASE, builders.HEAD


def progressing(*steps: Progress, live: bool = False) -> str:
    screen = io.StringIO()
    with terminal.Display(Console(file=screen, width=200, force_terminal=live)) as display:
        for step in steps:
            display.show(step)
    return screen.getvalue()


def a_step(stage: str, round_: int = 0, rounds: int = 0, **changes: object) -> Progress:
    values: dict[str, object] = {
        "stage": stage, "detail": "", "block": "oltp_read_only-t8", "block_number": 2, "blocks": 9,
        "start": 3, "round": round_, "rounds": rounds, "left_s": 71.0,
    }  # fmt: skip
    return Progress(**(values | changes))  # type: ignore[arg-type]


def test_what_is_said_of_a_run_before_stays_above_the_line_that_changes() -> None:
    said = Progress(stage="note", detail="run 1 is over")
    for live in (False, True):
        screen = progressing(a_step("warm-up", 3), said, a_step("measure", 1, 9), live=live)
        assert screen.count("run 1 is over\n") == 1


def test_a_log_line_says_what_is_measured_and_how_much_is_left() -> None:
    preparing = Progress(stage="prepare", detail=BASE)
    starting = a_step("start", detail=f"{BASE}, {HEAD}", block="")
    steps = (
        (0.0, preparing, f"preparing {BASE}"),
        (71.0, starting, f"start 3: starting {BASE}, {HEAD}; 50% done, ≤ 1 min 11 s left"),
        (
            0.0,
            a_step("warm-up", 4),
            "start 3: oltp_read_only-t8 (2/9), warm-up 4; 0% done, ≤ 1 min 11 s left",
        ),
        (
            29.0,
            a_step("measure", 5, 20),
            "start 3: oltp_read_only-t8 (2/9), round 5/20; 29% done, ≤ 1 min 11 s left",
        ),
    )
    for elapsed_s, step, line in steps:
        screen, times = io.StringIO(), iter((0.0, elapsed_s))
        with terminal.Display(Console(file=screen, width=200), times.__next__) as display:
            display.show(step)
        assert screen.getvalue() == line + "\n"


def test_each_start_ends_with_the_changes_so_far() -> None:
    changes = ("oltp_read_only-t8: −12 % so far", "oltp_read_only-t1: +1 % so far")
    ended = a_step("changes", detail="; ".join(changes), block="", changes=changes)
    log = progressing(a_step("measure", 6, 6), ended).splitlines()
    assert log[1] == f"start 3: {changes[0]}; {changes[1]}; 0% done, ≤ 1 min 11 s left"
    live = progressing(ended, a_step("warm-up", 1), live=True)
    assert all(live.rpartition("warm-up 1")[2].count(change) == 1 for change in changes)


def test_progress_never_goes_back() -> None:
    """A start that no budget refuses may take longer than was left, and what follows has its own end."""
    screen, now = io.StringIO(), [0.0]
    with terminal.Display(Console(file=screen, width=200), lambda: now[0]) as display:
        for now[0], left_s in ((60.0, 40.0), (80.0, 80.0), (100.0, None)):
            display.show(a_step("measure", 1, 2, left_s=left_s))
    ends = [line.partition("; ")[2] for line in screen.getvalue().splitlines()]
    assert ends == ["60% done, ≤ 40 s left", "60% done, ≤ 1 min 20 s left", "60% done"]


def test_a_log_gets_a_line_in_ten_seconds() -> None:
    screen, now = io.StringIO(), [0.0]
    with terminal.Display(Console(file=screen, width=200), lambda: now[0]) as display:
        for second in range(31):
            now[0] = float(second)
            display.show(a_step("measure", second, 40))
    lines = screen.getvalue().splitlines()
    assert [line.partition("round ")[2].partition("/")[0] for line in lines] == ["0", "10", "20", "30"]


def test_on_a_terminal_one_line_says_it_all_and_goes_away() -> None:
    screen = progressing(a_step("warm-up", 7), a_step("measure", 6, 12), live=True)
    assert " 0% done, ≤ 1 min 11 s left  " in screen
    assert "start 3: oltp_read_only-t8 (2/9), round 6/12" in screen
    assert screen.endswith("\x1b[2K")  # the line is erased


def test_labels_do_nothing_to_the_screen() -> None:
    label = "path:\x1b[2J[bold]x[/bold]"
    for live in (False, True):
        for step in (
            a_step("prepare", detail=label, start=0, left_s=None),
            a_step("start", detail=label, block=""),
            a_step("measure", block=label),
        ):
            screen = progressing(step, live=live)
            assert "\x1b[2J" not in screen
            assert "path:␛[2J[bold]x[/bold]" in screen


def test_no_number_is_cut_on_a_narrow_terminal() -> None:
    said = run_answer.answer(builders.a_comparison())
    wide, narrow = (
        [row(line) for line in answered(said, width).splitlines() if line.startswith("oltp_")]
        for width in (200, 60)
    )
    assert narrow == wide


def test_texts_do_nothing_to_the_screen() -> None:
    hostile = "path:\x1b[2J\u202egnp[bold]x[/bold]"
    topic = Topic(hostile, (hostile,), (Table((hostile,), ((hostile,),)),), (hostile,))
    texts = {line.strip() for line in answered(Answer("", hostile, (topic,))).splitlines() if line}
    assert texts == {"path:␛[2J[U+202E]gnp[bold]x[/bold]"}
