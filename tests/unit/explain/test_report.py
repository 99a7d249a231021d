"""Explanations in words, for terminal and comments."""

from __future__ import annotations

import io
import shlex
from argparse import Namespace
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console

from shootout import cli, numbers
from shootout.document import journal
from shootout.explain import judge, page, report
from shootout.explain.values import Explanation
from shootout.model.plan import Cell
from shootout.paths import REPORTS
from shootout.report.github import markdown
from shootout.report.sections import Point, Section
from shootout.writers import terminal
from tests.support import builders
from tests.support.explain.builders import CELL, an_explanation, profiled, written

SAID = """\

oltp_read_write, 8 threads: mysql-8.0.12 against mysql-5.7.22
Throughput in the profiled starts: +0.6 % (-0.9 to +2.0 %).
Response time per transaction: 6.03 ms instead of 6.07 ms, -35.0 µs (-290 to +220):
  elsewhere: client, network and what the server does not count -32.1 µs (-283 to +219)
  server on a CPU -2.93 µs (-16.7 to +10.8)
  client on a CPU 0 µs (0 to 0)
Server CPU time per transaction: 578 µs instead of 474 µs, +104 µs (+80.1 to +128):
  InnoDB +114 µs (+105 to +124), more than the whole: others make up for it
  elsewhere in the server -11.8 µs (-13.3 to -10.2)
  the kernel -2.45 µs (-10.4 to +5.47)
  libraries +1.65 µs (-3.16 to +6.46)
  the executor +1.50 µs (-2.39 to +5.39)
Functions that changed most, without what they call:
  row_search_mvcc +114 µs (+105 to +124), more than the whole: others make up for it
  old_only -11.8 µs (-13.3 to -10.2), only in mysql-5.7.22
Functions that locate the change, with what they call (these overlap):
  row_search_mvcc +116 µs (+105 to +127), more than the whole: others make up for it
What others know:
  one thing
These plans changed:
  SELECT: const on PRIMARY → full scan; rows read: 1 → 10 000
These plans were not compared:
  INSERT: it was not seen in the log
Settings: 4 variables differ, 3 of them known to matter:
  back_log: 80 → 151
  performance_schema: ON → OFF
  sync_binlog: 0 → 1
To measure the head with the base's value of a setting:
  shootout explain 20261120T024100Z-7f3a oltp_read_write-t8-mysql-8.0.12 --try sync_binlog=0 --out out
  shootout explain 20261120T024100Z-7f3a oltp_read_write-t8-mysql-8.0.12 --try performance_schema=ON --out out
"""

EXPLAINED = judge.evaluate(an_explanation(), profiled())
OTHERS = Section(
    "other", "", "Other", (Point("What others know:", ("one thing",)),), "other", None, value=[1]
)


def lines(explanation: Explanation) -> list[str]:
    screen = io.StringIO()
    explained = judge.evaluate(explanation, profiled())
    terminal.show(Console(file=screen, width=200), report.judged(explained, [OTHERS], Path("out")).text)
    return screen.getvalue().splitlines()


def test_the_terminal_says_what_explains_the_change() -> None:
    plain = [line.replace(numbers.SPACE, " ").replace(numbers.MINUS, "-") for line in lines(an_explanation())]
    assert plain == SAID.splitlines()


def test_json_has_what_others_know_between_functions_and_plans() -> None:
    value = report.value(EXPLAINED, [OTHERS])
    assert value["other"] == [1]
    assert [*value][-4:] == ["functions_with_callees", "other", "plans", "variables"]


def test_a_server_without_a_profile_says_why() -> None:
    text = lines(structs.replace(an_explanation(), profiles=(), not_profiled="perf is not installed: …"))
    assert "No profile: perf is not installed: …." in text
    assert any(line.startswith("These plans changed:") for line in text)


def test_equal_plans_and_settings_are_one_line_each() -> None:
    whole = an_explanation()
    plans = tuple(structs.replace(each, steps=whole.plans[0].steps) for each in whole.plans)
    variables = dict.fromkeys(("base", "head"), whole.variables["base"])
    text = lines(structs.replace(whole, plans=plans, variables=variables))
    assert "Plans: no change, 1 kind of statement compared." in text
    assert "Settings: no variable differs." in text


def test_long_times_are_in_milliseconds() -> None:
    whole = structs.replace(EXPLAINED.named[0].difference, estimate=0.00177, low=0.0016, high=0.0019)
    assert report.difference(whole) == "+1.77\N{NARROW NO-BREAK SPACE}ms (+1.60 to +1.90)"


def test_a_comment_has_the_explanations_of_its_cells() -> None:
    document = builders.a_run()
    section = page.section(EXPLAINED, ())
    text = markdown.summary(builders.a_comparison(document), {CELL: [section]})
    copied = [command for point in section.points for command in point.commands]
    assert copied
    assert all(f"` {command} `" in text for command in copied)
    assert "<summary>Why&#58; oltp&#95;read&#95;write, 8 threads" in text
    assert "  - row&#95;search&#95;mvcc +" in text


def parsed(command: str) -> Namespace:
    program, *arguments = shlex.split(command)
    assert program == "shootout"
    return cli.parser().parse_args(arguments)


def test_a_setting_is_tried_on_a_server_of_any_name() -> None:
    cell = Cell(workload="w", dataset="d", server="mysql-8.0.33 (path)", threads=8)
    args = parsed(report.trial_command("r1", cell, "sql_mode=A B", Path("my out")))
    assert (args.document, args.cell, args.try_) == ("r1", "w-t8-mysql-8.0.33 (path)", ["sql_mode=A B"])
    assert args.out == Path("my out")
    assert parsed(report.trial_command("r1", cell, "a=1", None)).out == REPORTS


def test_a_run_judged_again_leads_with_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But not against another base, of which the explanation knows nothing."""
    run = builders.a_run()
    path = tmp_path / f"{run.header.run}.jsonl"
    path.write_bytes(journal.encoded(run))
    cell = builders.a_block("oltp_read_write", 1).cell(builders.HEAD)
    written(tmp_path, an_explanation(cell=cell))
    for base, leads in (([], True), (["--base", builders.HEAD], False)):
        cli.main(["compare", str(path), *base])
        said = f"Cause, {cell.workload}, 1 thread, {cell.server}: plan of SELECT: const on"
        assert (said in " ".join(capsys.readouterr().out.split())) is leads
