"""The answer to an upgrade, in words."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from pathlib import Path

import pytest
from msgspec import structs

from lab.showcase import record as showcase
from shootout import cli
from shootout.answer import Topic
from shootout.answer import text as plain
from shootout.commands.upgrade import CAPABILITY
from shootout.count.documents import COUNTS, joined
from shootout.count.values import CountDocument, CountFailure
from shootout.document import journal
from shootout.errors import InputError
from shootout.measure import campaign
from shootout.model.execution_plan import ExecutionPlan, PlanChange
from shootout.model.run import MODES_DROPPED, Progress, RunDocument, SettingRecord, Warning
from shootout.model.verdict import Verdict
from shootout.numbers import SPACE
from shootout.report import judged_runs, site
from shootout.report.site.names import page_of
from shootout.report.site.svg import Forest
from shootout.upgrade import judge, measure, question
from shootout.upgrade.answer import answer as answered
from shootout.upgrade.answer import headline, sentence, topics
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import AS_ASKED, PARTS, DataDirectory, OptionFate, UpgradeDocument
from shootout.writers import markdown
from tests.support import builders
from tests.support.count import builders as counts
from tests.support.count.builders import a_plan
from tests.support.report.site.pages import Document

OLD, NEW = builders.BASE, builders.HEAD
FATE = OptionFate(
    option="query_cache_size", value="16M", variable="query_cache_size", old="16777216", new=None
)
VARIABLES = {OLD: {"sql_mode": "A", "query_cache_size": "16777216"}, NEW: {"sql_mode": "B"}}
EMPTY = UpgradeDocument(
    format=3, upgrade="20261126T100000Z-00ad5e", started="2026-11-26T10:00:00+00:00", version="0",
    labels=(OLD, NEW), references=(OLD, NEW), settings="my.cnf", workload="", workloads="", budget_min=45.0,
)  # fmt: skip


def stored_upgrade(folder: Path, run: RunDocument | None = None, workload: str = "w") -> UpgradeDocument:
    """An upgrade with all its parts: a run, a count in which everything costs 20 % more, and trials."""
    run = run or builders.a_run()
    path = folder / journal.new_name(run.header.run)
    folder.mkdir(exist_ok=True)
    path.write_bytes(journal.encoded(run))
    plans = {workload: (a_plan(OLD, "PRIMARY"), a_plan(NEW, "k"))}
    both = {OLD: counts.BASE, NEW: counts.times(1.2)}
    counted = structs.replace(counts.document(both, workload=workload), plans=plans)
    off = "performance_schema=OFF"
    trials = {"old-1": off, "old-2": "useless=1", judge.ALL: f"{off}+useless=1", judge.OFF: off}
    factors = {NEW: 1.2, "old-1": 1.1, "old-2": 1.2, judge.ALL: 1.1, judge.OFF: 1.045}
    of_trials = {label: counts.times(factor) for label, factor in factors.items()}
    restoring = counts.document(of_trials, run="20261124T110000Z-000002", workload=workload)
    paths = [COUNTS.write(folder, document.run, document) for document in (counted, restoring)]
    names = [str(path.relative_to(folder)) for path in paths]
    return structs.replace(
        EMPTY, options=(FATE,), variables=VARIABLES,
        data=DataDirectory(started=True, seconds=17.0, same_rows=True, told=("it was upgraded",)),
        statements=names[0], restoring=names[1], trials=trials, runs=(path.name,), results=(),
        left_out={"results": "why not"},
    )  # fmt: skip


def judged(folder: Path, document: UpgradeDocument | None = None, **changed: object) -> judge.Findings:
    """Judge an upgrade, by default the stored one."""
    return judge.read(structs.replace(document or stored_upgrade(folder), **changed), folder)


def of_count(folder: Path, counted: CountDocument, **changed: object) -> judge.Findings:
    """Judge an upgrade that only counted."""
    path = COUNTS.write(folder, counted.run, counted)
    return judged(folder, EMPTY, statements=str(path.relative_to(folder)), **changed)


def titled(found: judge.Findings, start: str) -> Topic:
    (topic,) = (topic for topic in topics(found) if topic.title.startswith(start))
    return topic


def what_to_set(found: judge.Findings) -> Topic:
    return titled(found, "What to set")


def test_everything_that_was_found_is_said(tmp_path: Path) -> None:
    answer = judged(tmp_path)
    text = markdown.write(answered(answer))
    assert text.startswith(f"**{NEW} in place of {OLD}: could not measure results (why not); ")
    assert "; throughput on this machine " in text
    assert all(said in text for said in ("removed", "another default", "it was upgraded", "results: why not"))
    (useful,) = [each for each in answer.restorations if each.restores]
    assert useful.setting == "performance_schema=OFF"
    assert answered(answer).exit_code == 3
    setting = what_to_set(answer)
    assert setting.title == "What to set"
    assert setting.commands == ("[mysqld]", "performance_schema=OFF")
    assert "No counted loss is certainly restored by useless=1." in setting.lines
    (table,) = setting.tables
    assert {plain(row[3]).partition(".")[0] for row in table.rows} == {"+5"}  # 1.1 / 1.045, both without it
    said = " ".join(setting.lines)
    assert "With performance_schema=OFF on both servers, and useless=1 on" in said
    assert "% (5.24 to 5.28 %) more instructions instead of 20.01" in said.replace(SPACE, " ")


def recounted(folder: Path, document: UpgradeDocument, name: str, **changed: object) -> UpgradeDocument:
    """The same upgrade, whose count under that name is another one."""
    path = folder / getattr(document, name)
    other = structs.replace(COUNTS.read(path), **changed)
    path.unlink()
    return structs.replace(
        document, **{name: str(COUNTS.write(folder, other.run, other).relative_to(folder))}
    )


LOST = "Throughput −24.1 % (−25.1 to −23.2 %; oltp_point_select, 1 thread, in-memory)"


def test_the_loss_of_the_headline_comes_first(tmp_path: Path) -> None:
    here, other = (
        judged(tmp_path / workload, stored_upgrade(tmp_path / workload, workload=workload))
        for workload in ("oltp_point_select", "w")
    )
    for answer, said in (
        (here, "performance_schema=OFF restores instructions of oltp_point_select, not tested in time."),
        (other, "not tested (no setting was tried with oltp_point_select)."),
    ):
        first, *_ = what_to_set(answer).lines
        assert first.replace(SPACE, " ") == f"{LOST}: {said}"
        assert LOST.partition(" ")[2].partition(" (")[0] in headline(answer).replace(SPACE, " ")
    assert other.explained is None  # of another workload than the loss
    assert here.explained == pytest.approx(1 - (1.1 / 1.045 - 1) / 0.2, abs=0.002)
    missing = judged(tmp_path, trials={}, restoring="", left_out={"restoring": "the budget is spent"})
    topic = what_to_set(missing)
    assert topic.title == "What to set: not tested"
    (line,) = topic.lines
    assert line.replace(SPACE, " ") == f"{LOST}: not tested (the budget is spent)."


def test_instructions_do_not_vouch_for_what_acts_by_time(tmp_path: Path) -> None:
    """A loss of a load that writes, with other settings of I/O; no old value needs fewer instructions."""

    def answer(capacity: str) -> judge.Findings:
        header = builders.a_header(workloads=["oltp_read_write"], threads=[1])
        old, new = header.servers
        setting = SettingRecord(
            name="io_capacity", requested=None, effective="200", differs=False,
            variables=("innodb_io_capacity",),
        )  # fmt: skip
        servers = tuple(
            structs.replace(server, settings=(*server.settings, structs.replace(setting, effective=value)))
            for server, value in ((old, "200"), (new, capacity))
        )
        run = builders.a_run(structs.replace(header, servers=servers), failing=False)
        folder = tmp_path / capacity
        document = stored_upgrade(folder, run, "oltp_read_write")
        trials = {"old-1": "innodb_io_capacity=200", "old-2": "useless=1", judge.OFF: ""}
        counted = {NEW: counts.times(1.2), "old-1": counts.times(1.2), "old-2": counts.times(1.2)}
        of_trials = counts.document(counted | {judge.OFF: counts.BASE}, workload="oltp_read_write")
        document = recounted(
            folder, document, "restoring", servers=of_trials.servers, counts=of_trials.counts
        )
        return judged(folder, document, trials=trials)

    suspects = [answer(capacity).time_suspects[1] for capacity in ("200", "10000")]
    assert suspects == [(), ("innodb_io_capacity=200",)]
    same, other = (what_to_set(answer(capacity)) for capacity in ("200", "10000"))
    assert same.lines[0].endswith(": no tested setting certainly restores it.")
    assert ": not tested. Also different, " in other.lines[0]
    assert ": innodb_io_capacity; " in other.lines[0]
    for topic in (same, other):
        assert topic.title == "What to set: no tested setting certainly restores a loss"
        assert topic.commands == ()
        assert "No counted loss is certainly restored by useless=1." in topic.lines
        assert any(line.startswith("Not timed") and "innodb_io_capacity=200" in line for line in topic.lines)


def test_a_setting_that_was_measured_says_throughput_before_and_after(tmp_path: Path) -> None:
    """The new server is the base of that run; here the head is slower with the old value."""
    document = stored_upgrade(tmp_path)
    trials = {NEW: "innodb_io_capacity=200"}
    answer = judged(tmp_path, document, timed=document.runs[0], time_trials=trials)
    lines = [line.replace(SPACE, " ") for line in what_to_set(answer).lines]
    (said,) = (line for line in lines if line.endswith("(oltp_point_select, 1 thread)."))
    assert re.match(r"innodb_io_capacity=200: [\d ]+ tps without it, [\d ]+ with it, −24\.1 % \(", said)
    assert "innodb_io_capacity=200" not in what_to_set(answer).commands
    assert not any("acts by time does not show" in line for line in lines)


def test_an_earlier_format_is_read(tmp_path: Path) -> None:
    path = UPGRADES.write(tmp_path, EMPTY.upgrade, EMPTY)
    text = path.read_text("utf-8").replace('"format": 3', '"format": 2').replace('"format":3', '"format":2')
    path.write_text(text, "utf-8")
    assert '"format":2' in text.replace(" ", "")
    assert UPGRADES.read(path) == EMPTY


def test_fewer_instructions_alone_recommend_no_setting(tmp_path: Path) -> None:
    """With a feature off that costs both servers the same, all of the loss is left."""
    of_trials = {NEW: counts.times(1.2), "old-1": counts.times(1.08), judge.OFF: counts.times(0.9)}
    again = counts.document(of_trials)
    document = recounted(
        tmp_path, stored_upgrade(tmp_path), "restoring", servers=again.servers, counts=again.counts
    )
    trials = {"old-1": "performance_schema=OFF", judge.OFF: "performance_schema=OFF"}
    topic = what_to_set(judged(tmp_path, document, trials=trials))
    assert topic.commands == ()
    (line,) = (line for line in topic.lines if line.startswith("performance_schema=OFF: 10"))
    assert line.endswith(f"but no loss that it is known to restore: {OLD} has it on, too.")


def test_settings_explain_a_share_of_all_that_a_workload_sends(tmp_path: Path) -> None:
    """One kind's loss is restored, of which the workload sends ten; one of a single kind is not."""
    of_new = {**counts.BASE, **{kind: counts.times(2)[kind] for kind in ("select", "update")}}
    restored = {**counts.BASE, "update": of_new["update"]}
    document = structs.replace(stored_upgrade(tmp_path), runs=())
    first, again = (
        counts.document({OLD: counts.BASE, NEW: of_new}),
        counts.document({NEW: of_new, "old-1": restored, judge.OFF: counts.BASE}),
    )
    document = recounted(tmp_path, document, "statements", counts=first.counts)
    document = recounted(tmp_path, document, "restoring", servers=again.servers, counts=again.counts)
    answer = judged(tmp_path, document, trials={"old-1": "old=1", judge.OFF: ""})
    document = answer.document
    assert [loss.change.kind for loss in answer.losses] == ["select", "update"]
    assert answer.explained == pytest.approx(10 * 1000 / (10 * 1000 + 2000), abs=0.002)
    assert "Settings explain 83 % of the instructions that w needs more" in (
        " ".join(what_to_set(answer).lines).replace(SPACE, " ")
    )
    without = tuple(each for each in again.counts if (each.server, each.kind) != ("old-1", "update"))
    partly = judged(tmp_path, recounted(tmp_path, document, "restoring", counts=without))
    assert partly.explained is None
    assert not any(line.startswith("Settings explain") for line in what_to_set(partly).lines)


def test_fewer_instructions_are_no_loss(tmp_path: Path) -> None:
    """A gain is not at worst, and has no minus."""

    def said(**factors: float) -> str:
        head = {kind: counts.times(factors.get(kind, 1))[kind] for kind in counts.BASE}
        both = counts.document({OLD: counts.BASE, NEW: head}, run="-".join(map(str, factors.values())))
        told = headline(of_count(tmp_path, both)).partition(": ")[2].replace(SPACE, " ")
        return re.sub(r" \([^)]*\)", "", told)

    assert said(select=0.9) == (
        "no kind of statement certainly needs more instructions, "
        "10.00 % fewer instructions for select at best"
    )
    assert said(select=1.2) == "19.99 % more instructions for select at worst"
    assert said(select=0.9, update=1.1) == (
        "10.00 % more instructions for update at worst, 10.00 % fewer instructions for select at best"
    )
    assert said(select=5.0) == "×5.00 as many instructions for select at worst"


def a_change(base: ExecutionPlan, head: ExecutionPlan) -> PlanChange:
    return PlanChange(kind=base.kind, base=base, head=head, changed=True, unsteady=False)


def test_old_values_and_features_are_suspects() -> None:
    latin = {"character_set_server": "latin1", "collation_server": "latin1_swedish_ci"}
    utf8 = {"character_set_server": "utf8mb4", "collation_server": "utf8mb4_0900_ai_ci"}
    variables = {
        OLD: {"query_cache_size": "1", **latin},
        NEW: {"performance_schema": "ON", "innodb_log_writer_threads": "OFF", **utf8},
    }
    answer, planned = (judged(Path("/nowhere"), EMPTY, variables=variables) for _ in range(2))
    assert answer.suspects == ("performance_schema=OFF",)
    vars(planned)["plans"] = {("w", "select"): a_change(a_plan(OLD, "PRIMARY"), a_plan(NEW, "k"))}
    assert planned.suspects == (
        "character_set_server=latin1+collation_server=latin1_swedish_ci", "performance_schema=OFF",
    )  # fmt: skip


def test_a_setting_that_restores_a_plan_says_so(tmp_path: Path) -> None:
    """With what the plan's change costs or saves; only a restored loss is recommended."""
    document = structs.replace(stored_upgrade(tmp_path), runs=())
    plans = {"w": (a_plan(NEW, "k"), a_plan("old-1", "PRIMARY"), a_plan("old-2", "k"))}
    answer = judged(tmp_path, recounted(tmp_path, document, "restoring", plans=plans))
    assert [bool(each.plans) for each in answer.restorations] == [True, False]
    (line,) = (line for line in what_to_set(answer).lines if f"{OLD}'s plan" in line)
    assert line.replace(SPACE, " ").startswith(f"performance_schema=OFF restores {OLD}'s plan of select: 8.3")
    assert answer.workloads_to_restore(9, ()) == ("w",)


def test_what_to_do_comes_first_in_at_most_seven_lines(tmp_path: Path) -> None:
    told = "unknown variable 'loose-query_cache_size=16M'"
    gone = structs.replace(FATE, told=told)
    mode = structs.replace(FATE, option="sql_mode", variable="sql_mode", new="B", refused="mode A")
    renamed = structs.replace(FATE, option="a", variable="a", renamed="b", new="16777216")
    kept = structs.replace(FATE, option="c", variable="c", new="16777216", told="deprecated")
    found = judged(
        tmp_path, options=(gone, mode, renamed, kept), results=("a row",), done=("settings",),
        data=DataDirectory(started=False, seconds=1.0, same_rows=False, told=("Run mysql_upgrade.",)),
    )  # fmt: skip
    first, *_ = topics(found)
    assert first.title == "What to do"
    lines = [point.text.replace(SPACE, " ") for point in first.points]
    assert lines[:2] == [
        f"Change or delete in my.cnf: query_cache_size, sql_mode's A. {NEW} does not start with them.",
        "Rename in my.cnf: a to b.",
    ]
    assert lines[2].endswith("Run mysql_upgrade.")
    assert lines[4].startswith("Set performance_schema=OFF: 8.3")
    assert len(lines) == 7
    assert lines[5] == "2 more steps: see below."
    assert lines[6] == "Measure what is missing, data, statements, restoring, time, results:"
    assert first.points[6].commands[0].startswith("shootout upgrade ")
    assert f"removed: {NEW} does not start with this line" in markdown.write(answered(found))


def test_settings_that_differ_all_the_same_are_named_beside_the_figures(tmp_path: Path) -> None:
    other = structs.replace(FATE, option="back_log", variable="back_log", old="90", new="200")
    renamed = structs.replace(FATE, option="a", variable="a", renamed="b", old="1", new="ON")
    workloads = titled(judged(tmp_path, options=(FATE, other, renamed)), "Workloads")
    assert workloads.lines[-1] == "Under my.cnf the servers still differ in query_cache_size, back_log."


def test_a_loss_in_throughput_that_nothing_restores_leads_to_its_cause(tmp_path: Path) -> None:
    (first, *_), run = topics(judged(tmp_path, done=("time",))), builders.a_run().header.run
    (point,) = (point for point in first.points if "Find the cause" in point.text)
    assert point.text.replace(SPACE, " ") == f"Find the cause of {LOST.partition(' ')[2]}:"
    assert point.commands[0].startswith(f"shootout explain {run} ")


def test_a_cut_upgrade_lists_what_is_missing(tmp_path: Path) -> None:
    *_, untested = topics(judged(tmp_path, EMPTY, done=("settings",), left_out={"data": AS_ASKED}))
    missing = [line.partition(":")[0] for line in untested.lines if line.endswith("--resume does it.")]
    assert missing == ["statements", "results", "restoring", "time"]


def test_kinds_that_the_budget_left_out_are_named_once_with_the_command(tmp_path: Path) -> None:
    reason = "left out: the budget has no time for it"
    failures = [
        CountFailure(server=label, workload=workload, kind=kind, reason=reason)
        for label in (OLD, NEW)
        for workload, kind in (("w", "update"), ("w", "delete"), ("v", "update"))
    ]
    same = counts.document({OLD: counts.BASE, NEW: counts.BASE}, failures)
    first, *_, untested = topics(of_count(tmp_path, same, done=("statements",)))
    assert untested.lines.count(f"update, delete and 1 more kind: {reason}") == 1
    (point,) = (point for point in first.points if "Count the 3 kinds" in point.text)
    # Four kinds were counted in 45 minutes, and three were not.
    assert point.commands == (f"shootout upgrade {OLD} {NEW} --settings my.cnf --budget 79",)


def test_every_command_of_what_to_do_can_be_given(tmp_path: Path) -> None:
    answer = of_count(tmp_path, counts.document({OLD: counts.BASE, NEW: counts.BASE}), done=("statements",))
    given = [command for topic in topics(answer) for point in topic.points for command in point.commands]
    assert given
    for command in given:
        _, name, *_ = words = shlex.split(command)
        assert cli.parser(name).parse_args(words[1:]).parser


def test_own_workloads_are_own_however_given(tmp_path: Path) -> None:
    for given in ({"workload": "w.toml"}, {"workloads": "oltp_read_only,w.toml"}):
        found = judged(tmp_path, EMPTY, **given)
        assert found.document.own == ("w.toml",)
        lines = [line for topic in topics(found) for line in topic.lines]
        assert not any(line.startswith("Your own statements") for line in lines)


def test_features_are_off_on_the_old_server_where_it_has_them_on() -> None:
    variables = {OLD: {"performance_schema": "ON"}, NEW: {}}
    answer = judged(Path("/nowhere"), EMPTY, variables=variables)
    trials = ("performance_schema=OFF", "innodb_log_writer_threads=OFF", "query_cache_type=ON")
    assert answer.features_off(trials) == ("performance_schema=OFF",)


def test_as_many_workloads_to_restore_are_counted_again_as_there_is_time_for(tmp_path: Path) -> None:
    worse = {OLD: counts.BASE, NEW: counts.times(1.2)}
    documents = [counts.document(worse, run=f"r-{name}", workload=name) for name in ("a", "b")]
    whole = joined([COUNTS.write(tmp_path, document.run, document) for document in documents])
    answer = of_count(tmp_path, whole)
    assert [len(answer.workloads_to_restore(kinds, ())) for kinds in (1, 5, 6)] == [1, 1, 2]
    assert [answer.workloads_to_restore(1, timed) for timed in ((), ("b",))] == [("a",), ("b",)]


def test_the_headline_is_the_worst_and_the_best_change(tmp_path: Path) -> None:
    answer = judged(tmp_path)
    ratios = [cell.ratio.estimate for _, cell in answer.cells if cell.ratio]
    assert ratios == sorted(ratios)
    assert "on this machine" in headline(answer)
    assert "more instructions for update at worst" in headline(judged(tmp_path, runs=()))
    assert headline(judged(tmp_path, EMPTY)).endswith("nothing is measured yet")
    settings = structs.replace(EMPTY, done=("settings",))
    assert headline(judge.read(settings, tmp_path)).endswith("no statement was counted or timed")


def test_what_was_not_compared_is_not_said_to_be_the_same(tmp_path: Path) -> None:
    def lines(*options: OptionFate) -> list[str]:
        document = structs.replace(EMPTY, options=options, settings_left_out=("port, because",))
        every = topics(judge.read(document, tmp_path))
        return [line for topic in every for line in topic.lines if line.startswith("my.cnf: ")]

    same = OptionFate(option="back_log", value="9", variable="back_log", old="9", new="9")
    unknown = OptionFate(option="a", value="1", variable="a", old=None, new="2")
    left_out = "my.cnf: left out: port, because."
    missing = f"my.cnf: a: {OLD} has no variable of that name, so it is not compared."
    assert lines(same) == ["my.cnf: the new server takes every option as the old one does.", left_out]
    assert lines(unknown) == [missing, left_out]
    kept = "my.cnf: the new server takes the other 1 option as the old one does."
    assert lines(same, unknown) == [kept, missing, left_out]
    assert lines(same, structs.replace(same, read_by="old")) == [left_out]
    assert lines(structs.replace(same, told="deprecated")) == [left_out]


def test_kinds_and_cells_that_are_undecided_are_not_said_to_be_the_same(tmp_path: Path) -> None:
    document = stored_upgrade(tmp_path)
    answer = judge.read(structs.replace(EMPTY, runs=document.runs), tmp_path)
    (place, cell), *_ = answer.cells

    def said(*verdicts: Verdict) -> str:
        cells = tuple((place, structs.replace(cell, verdict=verdict)) for verdict in verdicts)
        again = dataclasses.replace(answer)
        vars(again)["cells"] = cells
        return headline(again).partition(": ")[2]

    open_, same = Verdict.INCONCLUSIVE, Verdict.EQUIVALENT
    assert said(open_).endswith("slower or faster in none of 1 cell, as fast in 0, undecided in 1")
    assert said(open_, same) == "nothing to report: slower or faster in none of 2 cells (undecided in 1)"
    assert said(same) == "nothing to report: slower or faster in none of 1 cell"


def test_plans_that_one_server_did_not_tell_are_not_compared(tmp_path: Path) -> None:
    def title(*plans: ExecutionPlan) -> str:
        document = recounted(tmp_path, stored_upgrade(tmp_path), "statements", plans={"w": plans})
        every = topics(judge.read(document, tmp_path))
        return next(topic.title for topic in every if topic.title.startswith("Execution plans"))

    told, empty = a_plan(NEW, "PRIMARY"), structs.replace(a_plan(NEW, "PRIMARY"), steps=(), text="")
    assert title(a_plan(OLD, "PRIMARY"), told) == "Execution plans: none of 1 kind changed"
    assert title(a_plan(OLD, "PRIMARY"), empty) == "Execution plans: not compared"


def test_the_same_server_again_has_nothing_to_report(tmp_path: Path) -> None:
    partly = {kind: values for kind, values in counts.BASE.items() if kind != "update"}
    failed = CountFailure(server=NEW, workload="w", kind="update", reason="no answer")
    same = counts.document({OLD: counts.BASE, NEW: partly}, [failed])
    path = COUNTS.write(tmp_path, same.run, same)
    counted = structs.replace(EMPTY, statements=str(path.relative_to(tmp_path)), results=())
    answer = judge.read(counted, tmp_path)
    said = "nothing to report: more or fewer instructions in none of 1 kind of statement"
    assert headline(answer).endswith(said)
    *others, untested = topics(answer)
    assert not any(topic.commands for topic in others)
    assert f"update on {NEW}: no answer" in untested.lines
    for found in ({"options": (FATE,)}, {"results": ("another row",)}, {"variables": VARIABLES}):
        assert "nothing" not in headline(judge.read(structs.replace(counted, **found), tmp_path))


def test_two_machines_stand_side_by_side(tmp_path: Path) -> None:
    here = stored_upgrade(tmp_path / "first")
    results = tmp_path / "second"
    document = question.again(UPGRADES.write(tmp_path / "first", here.upgrade, here), (OLD, NEW), results)
    of_new = (results / "upgrades" / document.upgrade / "new.cnf").read_text("utf-8")
    assert of_new == "[mysqld]\nloose-query_cache_size = 16M\n"
    assert document.done == ("settings", "data", "statements", "results", "restoring")
    assert (document.runs, document.elsewhere, document.left_out) == ((), here.runs, here.left_out)
    run = builders.a_run()
    runner = structs.replace(run.header.runner, fingerprint="other")
    header = structs.replace(run.header, run="20261127T100000Z-000003", runner=runner)
    name = journal.new_name(header.run)
    (results / name).write_bytes(journal.encoded(structs.replace(run, header=header)))
    answer = judge.read(structs.replace(document, runs=(name,)), results)
    assert answer.changes
    first, other = answer.machines
    assert other == "other"
    assert f"; throughput on {first} " in headline(answer)
    assert "; on other " in headline(answer)
    workloads = titled(answer, "Workloads")
    assert workloads.tables[0].columns[-2:] == (first, "other")
    assert all(row[-1] == row[-2] for row in workloads.tables[0].rows)  # the same samples

    (results / name).unlink()
    gone = UPGRADES.write(results, document.upgrade, structs.replace(document, runs=(name,)))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        question.again(gone, (OLD, NEW), tmp_path / "third")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"runs": ("../run.jsonl",)}, r"it names \.\./run\.jsonl, which lies elsewhere"),
        ({"upgrade": "../../home"}, r"upgrade: expected letters and digits, found '\.\./\.\./home'"),
        ({"upgrade": "*"}, r"upgrade: expected letters and digits, found '\*'"),
        ({"labels": (OLD, f"a=path:/x,{NEW}")}, "labels: expected names of servers, found 'a=path:/x,"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    path = UPGRADES.write(tmp_path, "u", structs.replace(EMPTY, **changed))
    with pytest.raises(InputError, match=message):
        UPGRADES.read(path)


def test_only_documents_are_copied(tmp_path: Path) -> None:
    """Nor do they replace others."""
    first, results = tmp_path / "first", tmp_path / "second"
    here = stored_upgrade(first)
    secret = first / "upgrades" / here.upgrade / ".my.cnf"
    secret.parent.mkdir(parents=True)
    secret.write_text("[client]\npassword = x\n")
    path = UPGRADES.write(first, here.upgrade, here)
    document = question.again(path, (OLD, NEW), results)
    assert {each.name for each in (results / "upgrades" / document.upgrade).iterdir()} == {
        "old.cnf",
        "new.cnf",
    }

    for name, make in (("key", lambda file: file.write_text("a key")), ("pipe", os.mkfifo)):
        make(first / name)
        for changed in ({"runs": (name,)}, {"statements": name}):
            named = UPGRADES.write(first, name, structs.replace(here, **changed))
            with pytest.raises(InputError, match=rf"^{first}/{name}(:1)?: (cannot be read: )?not a "):
                question.again(named, (OLD, NEW), results)
        assert not (results / name).exists()

    (results / here.runs[0]).write_text("another")
    with pytest.raises(InputError, match=f"^{results}/{here.runs[0]}: differs from "):
        question.again(path, (OLD, NEW), results)
    assert (results / here.runs[0]).read_text() == "another"


def test_only_users_name_programs(tmp_path: Path) -> None:
    program = f"path:{tmp_path}"
    path = UPGRADES.write(tmp_path, "u", structs.replace(EMPTY, references=(OLD, program)))
    with pytest.raises(InputError, match=rf"{NEW} is 'path:.* not in the catalogue\n.*{NEW}=SERVER --again"):
        question.servers_again(path, ("", ""))
    with pytest.raises(InputError, match=f"expected {OLD}=SERVER and {NEW}=SERVER, found {NEW} and {OLD}"):
        question.servers_again(path, (NEW, OLD))
    with pytest.raises(InputError, match=f"expected {OLD}=SERVER and {NEW}=SERVER, found {OLD}$"):
        question.servers_again(path, (OLD, ""))
    assert question.servers_again(path, (OLD, NEW)) == (OLD, NEW)
    catalogued = UPGRADES.write(tmp_path, "u", EMPTY)
    assert question.servers_again(catalogued, ("", "")) == (OLD, NEW)
    with pytest.raises(InputError, match="expected one server, without a comma"):
        question.begin(OLD, f"{NEW}@in-memory,x={program}", "", "", "")


def resumed(results: Path) -> int:
    asked = ("upgrade", OLD, NEW, "--without", ",".join(PARTS), "--resume")
    return cli.main([*asked, "--out", str(results.parent)])


def test_an_upgrade_is_answered_by_one_process_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    asked = structs.replace(EMPTY, settings="")
    path = UPGRADES.write(results, asked.upgrade, asked)
    before = path.read_bytes()
    with campaign.writing(path.parent, asked.upgrade, "upgrade"):
        assert resumed(results) == 2
    said = capsys.readouterr().err
    assert said.endswith(f"{path.parent}: upgrade {asked.upgrade} is still measured by another process\n")
    assert path.read_bytes() == before
    assert resumed(results) == resumed(results) == 0  # now there is a site
    assert UPGRADES.read(path).left_out == dict.fromkeys(PARTS, AS_ASKED)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_what_another_process_has_measured_meanwhile_is_kept(tmp_path: Path) -> None:
    done = structs.replace(EMPTY, done=("settings",), versions={OLD: "5.7.22"})
    path = UPGRADES.write(tmp_path / "results", done.upgrade, done)
    way = measure.Way(without=PARTS)
    assert measure.measure(way, structs.replace(EMPTY, budget_min=3.0), tmp_path, print, print) == path
    kept = UPGRADES.read(path)
    assert (kept.done, kept.versions, kept.budget_min) == (done.done, done.versions, 3.0)


def test_statements_come_from_a_count_of_many_servers(tmp_path: Path) -> None:
    both = {"another": counts.times(3), NEW: counts.times(1.2), OLD: counts.BASE}
    of_many = counts.document(both)
    found = of_count(tmp_path, of_many)
    (path,) = COUNTS.find(tmp_path)
    question.require_counted(path, EMPTY)
    ratios = [change.ratio.estimate for change in found.changes if change.ratio]
    assert ratios == pytest.approx([1.2] * 3, abs=0.01)
    with pytest.raises(InputError, match="other is not in it; its servers are another"):
        question.require_counted(path, structs.replace(EMPTY, labels=(OLD, "other")))
    with pytest.raises(InputError, match="not a count of instructions"):
        question.require_counted(UPGRADES.write(tmp_path, "u", EMPTY), EMPTY)


def test_a_recorded_upgrade_comes_with_all_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showcase, "SHOWCASE", tmp_path / "showcase")
    mine = structs.replace(
        stored_upgrade(tmp_path), settings="/home/me/my.cnf", workload=f"{tmp_path}/w.toml"
    )
    showcase.upgrade(UPGRADES.write(tmp_path, mine.upgrade, mine))
    showcase.unpacked(tmp_path / "unpacked")
    (path,) = UPGRADES.find(tmp_path / "unpacked")
    assert str(tmp_path) not in path.read_text("utf-8")
    there = UPGRADES.read(path)
    assert (there.settings, there.workload) == ("my.cnf", "w.toml")
    answer = judge.read(there, tmp_path / "unpacked")
    assert answer.unreadable == ()
    assert headline(answer) == headline(judge.read(mine, tmp_path))


def test_a_document_that_is_gone_is_named(tmp_path: Path) -> None:
    answer = judged(tmp_path, EMPTY, statements="count/gone.json")
    assert answer.changes == ()
    assert any("gone.json" in line for line in titled(answer, "Not tested").lines)


def test_an_upgrade_has_a_page(tmp_path: Path) -> None:
    UPGRADES.write(tmp_path, EMPTY.upgrade, stored_upgrade(tmp_path))
    listed = CAPABILITY.listing(tmp_path, pytest.fail)
    assert listed is not None
    runs = [judged_runs.in_memory(*builders.a_result())]
    site.build(runs, tmp_path / "site", listings=[listed])
    file = tmp_path / "site" / page_of("upgrades", EMPTY.upgrade)
    shown = Document(file.read_text("utf-8"))
    assert "performance_schema=OFF" in shown.text
    assert "Execution plans: 1 statement with another plan" in shown.text
    headings = ("What to set", "Workloads", "Statements that", "Execution plans:", "Not tested")
    places = [*map(shown.text.index, headings)]
    assert places == sorted(places)
    front = Document((tmp_path / "site" / "index.html").read_text("utf-8"))
    assert front.text.index("What an upgrade ") < front.text.index("Verdicts")
    assert page_of("upgrades", EMPTY.upgrade) in front.links


LOG = "it ended; its error log ends:\n0 [Warning] w\n0 [ERROR] COLLATION x is not valid\n0 [ERROR] Aborting"


def test_the_headline_says_first_what_could_not_be_measured_and_why(tmp_path: Path) -> None:
    failures = [CountFailure(server=label, workload="", kind="", reason=LOG) for label in (OLD, NEW)]
    why = {"data": LOG, "results": "the disk is full", "time": AS_ASKED}
    answer = of_count(tmp_path, counts.document({OLD: {}, NEW: {}}, failures), left_out=why)
    said = "could not measure data, statements (COLLATION x is not valid); "
    said += "could not measure results (the disk is full)"
    assert sentence(answer) == said
    assert answered(answer).exit_code == 3
    titles = [topic.title for topic in topics(answer)]
    assert "Statements: not compared" in titles
    assert "Execution plans: not compared" in titles


def test_session_modes_that_a_dump_lost_are_said(tmp_path: Path) -> None:
    counted = counts.document({OLD: counts.BASE, NEW: counts.BASE})
    old, new = counted.servers
    lost = Warning(code=MODES_DROPPED, text="d.sql was loaded without A")
    counted = structs.replace(counted, servers=(old, structs.replace(new, warnings=(lost,))))
    lines = [line for topic in topics(of_count(tmp_path, counted)) for line in topic.lines]
    assert lines.count(f"{NEW}: d.sql was loaded without A") == 1


def test_what_was_measured_without_the_file_is_said(tmp_path: Path) -> None:
    answer = judged(tmp_path, left_out={"settings": LOG}, options=())
    start = (
        "could not measure settings (COLLATION x is not valid); without my.cnf, throughput on this machine"
    )
    assert sentence(answer).startswith(start)
    assert "takes every option" not in markdown.write(answered(answer))
    *_, untested = topics(answer)
    assert "Your own settings: everything was measured without my.cnf." in untested.lines


def test_cells_that_failed_are_not_tested(tmp_path: Path) -> None:
    answer = judged(tmp_path)
    (failed,) = answer.failed
    *_, untested = topics(answer)
    assert any(line.startswith(failed.cell.workload) and failed.reason in line for line in untested.lines)
    alone = dataclasses.replace(
        answer, runs=tuple(structs.replace(run, cells=(failed,)) for run in answer.runs)
    )
    assert alone.unmeasured["time"] == failed.reason


def test_progress_counts_the_budget_down_whatever_a_part_says(tmp_path: Path) -> None:
    shown: list[Progress] = []
    document = structs.replace(EMPTY, budget_min=2.0)
    session = measure._Session(measure.Way(), document, tmp_path, shown.append, print)
    for left_s in (5.0, None, 900.0):
        session.observe(Progress(stage="measure", detail="", left_s=left_s))
    left = [progress.left_s or 0.0 for progress in shown]
    assert left == sorted(left, reverse=True)
    assert 100 < left[-1] <= left[0] <= 120


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (f"{OLD} {NEW} --add-workloads {{}}/gone.toml", "gone.toml: cannot be read: No such file"),
        (f"{OLD} {NEW} --workloads {{}}/bad.toml", "bad.toml: the file: Object missing required field"),
        (f"{OLD} {NEW} --markdown /proc/nothing/a.md", "/proc/nothing/a.md: cannot be written"),
        (f"dsn:mysql://root@127.0.0.1:1 {NEW}", "expected a server of the catalogue, such as mysql-8.0.33"),
        (f"{OLD} {NEW} --settings /nowhere/my.cnf", "cannot be read"),
        (f"{OLD} {NEW} --without tme", "expected some of settings, data"),
        ("", "expected OLD and NEW, or --again DOC"),
        ("--again old.json --workloads w", "expected no settings, workloads or count"),
        ("--again /nowhere/old.json", "/nowhere/old.json: cannot be read"),
        (f"{OLD} {NEW} --counted /nowhere/count.json", "/nowhere/count.json: cannot be read"),
        (f"{OLD} {NEW} --resume", f"no upgrade from {OLD} to {NEW} to continue"),
    ],
)
def test_a_fault_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    (tmp_path / "bad.toml").write_text('title = "a"\n')
    asked = given.format(tmp_path).split()
    assert cli.main(["upgrade", *asked, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) <= 3
    assert not (tmp_path / "out").exists()


def test_an_interruption_keeps_the_page_and_names_the_whole_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(session: measure._Session) -> None:
        session.keep(done=("settings",))
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "_answer", interrupted)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "my file.cnf"
    file.write_text("[mysqld]\nback_log = 9\n")
    out = tmp_path / "out"
    asked = ["upgrade", OLD, NEW, "--settings", str(file), "--budget", "40", "--without", "time"]
    assert cli.main([*asked, "--out", str(out)]) == 130
    interrupted_, so_far, its_page, go_on = capsys.readouterr().err.splitlines()[-4:]
    (page,) = (out / "site" / "upgrades").glob("2*.html")
    assert interrupted_ == "shootout: interrupted"
    assert so_far.startswith("so far: ")
    assert its_page == f"its page: {page.as_uri()}"
    assert go_on == (
        f"to continue: shootout upgrade {OLD} {NEW} --settings '{file}' "
        f"--budget 40 --without time --out {out} --resume"
    )
    assert "not reached; --resume does it" in page.read_text("utf-8")
    shown = Document(page.read_text("utf-8")).text
    assert " --resume" in shown
    assert str(out) not in shown  # a page is read elsewhere


def test_the_first_page_shows_the_worst_and_the_best_the_plans_and_what_to_set(tmp_path: Path) -> None:
    brief = answered(judged(tmp_path)).brief
    assert brief is not None
    assert brief.lines == ("Another plan for 1 of 1 kind of statement", "Set performance_schema=OFF")
    assert isinstance(brief.drawing, Forest)
    changes = [ratio.estimate for _, _, ratio, _ in brief.drawing.rows]
    assert changes == sorted(changes)
    assert len(changes) == 6  # of eight cells
    made = brief.drawing.__html__()
    assert made.count("<li>") == made.count('<svg class="whisker') == 6


def test_what_the_new_server_refuses_comes_first(tmp_path: Path) -> None:
    upgrade = stored_upgrade(tmp_path)
    failures = tuple(
        CountFailure(server=server, workload="w", kind=kind, reason="unknown", lacks=True)
        for server, kind in ((OLD, "json"), (NEW, "query_cache"))
    )
    upgrade = recounted(tmp_path, upgrade, "statements", failures=failures)
    refused = titled(judged(tmp_path, upgrade, results=("sums differ",)), "Refused")
    assert refused.lines[:2] == (f"{NEW} does not know query_cache: unknown", "sums differ")
    assert refused.lines[-1].startswith(f"{OLD} does not know json")
