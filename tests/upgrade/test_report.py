"""The answer to an upgrade, in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec import structs

from benchmarks.showcase import record as showcase
from shootout.document import journal
from shootout.errors import InputError
from shootout.model.run import MODES_DROPPED, Warning
from shootout.report import judgement_cache, site
from shootout.upgrade import judge, measure, page, report
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import AS_ASKED, DataDirectory, OptionFate, UpgradeDocument
from shootout.work.documents import COUNTS, joined
from shootout.work.values import WorkFailure
from tests import builders
from tests.report.site.pages import Document
from tests.work import builders as counts
from tests.work.test_by_version import a_plan

OLD, NEW = builders.BASE, builders.HEAD
FATE = OptionFate(
    option="query_cache_size", value="16M", variable="query_cache_size", old="16777216", new=None
)
VARIABLES = {OLD: {"sql_mode": "A", "query_cache_size": "16777216"}, NEW: {"sql_mode": "B"}}
EMPTY = UpgradeDocument(
    format=1, upgrade="20261126T100000Z-00ad5e", started="2026-11-26T10:00:00+00:00", version="0",
    labels=(OLD, NEW), references=(OLD, NEW), settings="my.cnf", workload="", workloads="", budget_min=45.0,
)  # fmt: skip


def found(folder: Path) -> UpgradeDocument:
    """An upgrade with all its parts: a run, a count in which everything costs 20 % more, and trials."""
    run = builders.a_run()
    path = folder / journal.new_name(run.header.run)
    folder.mkdir(exist_ok=True)
    path.write_bytes(journal.encoded(run))
    plans = {"w": (a_plan(OLD, "PRIMARY"), a_plan(NEW, "k"))}
    counted = structs.replace(counts.document({OLD: counts.BASE, NEW: counts.times(1.2)}), plans=plans)
    off = "performance_schema=OFF"
    trials = {"old-1": off, "old-2": "useless=1", judge.ALL: f"{off}+useless=1", judge.OFF: off}
    factors = {NEW: 1.2, "old-1": 1.1, "old-2": 1.2, judge.ALL: 1.1, judge.OFF: 1.045}
    of_trials = {label: counts.times(factor) for label, factor in factors.items()}
    restoring = counts.document(of_trials, run="20261124T110000Z-000002")
    paths = [COUNTS.write(folder, document.run, document) for document in (counted, restoring)]
    names = [str(path.relative_to(folder)) for path in paths]
    return structs.replace(
        EMPTY,
        options=(FATE,),
        variables=VARIABLES,
        data=DataDirectory(started=True, seconds=17.0, same_rows=True, told=("it was upgraded",)),
        statements=names[0],
        restoring=names[1],
        trials=trials,
        runs=(path.name,),
        results=(),
        left_out={"results": "why not"},
    )


def test_everything_that_was_found_is_said(tmp_path: Path) -> None:
    answer = judge.read(found(tmp_path), tmp_path)
    text = report.as_markdown(answer)
    assert text.startswith(f"**{NEW} in place of {OLD}&#58; could not measure results &#40;why not&#41;; ")
    assert "; throughput on this machine " in text
    for said in (
        "removed",
        "another default",
        "17",
        "it was upgraded",
        "results&#58; why not",
        "### What to set",
    ):
        assert said in text
    (useful,) = [each for each in answer.restorations if each.helped]
    assert useful.setting == "performance_schema=OFF"
    assert report.judged(answer).exit_code == 3
    setting = next(topic for topic in report.topics(answer) if topic.title == "What to set")
    assert setting.commands == ("[mysqld]", "performance_schema=OFF")
    assert "No statement executes less with useless=1." in setting.lines
    assert {row[3].partition(".")[0] for row in setting.rows} == {"+5"}  # 1.1 / 1.045, both without it
    assert answer.explained == pytest.approx(1 - (1.1 / 1.045 - 1) / 0.2, abs=0.002)
    said = " ".join(setting.lines)
    assert "With performance_schema=OFF on both servers, and useless=1 on" in said
    assert "Settings explain 74\N{NARROW NO-BREAK SPACE}% of a loss: the median of 3 kinds" in said


def test_old_values_and_features_are_suspects() -> None:
    latin = {"character_set_server": "latin1", "collation_server": "latin1_swedish_ci"}
    utf8 = {"character_set_server": "utf8mb4", "collation_server": "utf8mb4_0900_ai_ci"}
    variables = {
        OLD: {"query_cache_size": "1", **latin},
        NEW: {"performance_schema": "ON", "innodb_log_writer_threads": "OFF", **utf8},
    }
    answer = judge.read(structs.replace(EMPTY, variables=variables), Path("/nowhere"))
    assert answer.suspects == ("performance_schema=OFF",)
    planned = judge.read(answer.document, Path("/nowhere"))
    vars(planned)["plans"] = {("w", "select"): "changed"}
    assert planned.suspects == (
        "character_set_server=latin1+collation_server=latin1_swedish_ci", "performance_schema=OFF",
    )  # fmt: skip


def test_features_are_off_on_the_old_server_where_it_has_them_on() -> None:
    variables = {OLD: {"performance_schema": "ON"}, NEW: {}}
    answer = judge.read(structs.replace(EMPTY, variables=variables), Path("/nowhere"))
    trials = ("performance_schema=OFF", "innodb_log_writer_threads=OFF", "query_cache_type=ON")
    assert answer.features_off(trials) == ("performance_schema=OFF",)


def test_as_many_workloads_with_losses_are_counted_again_as_there_is_time_for(tmp_path: Path) -> None:
    worse = {OLD: counts.BASE, NEW: counts.times(1.2)}
    documents = [counts.document(worse, run=f"r-{name}", workload=name) for name in ("a", "b")]
    whole = joined([COUNTS.write(tmp_path, document.run, document) for document in documents])
    path = COUNTS.write(tmp_path, whole.run, whole)
    answer = judge.read(structs.replace(EMPTY, statements=str(path.relative_to(tmp_path))), tmp_path)
    assert [len(answer.workloads_with_losses(kinds)) for kinds in (1, 9, 10)] == [1, 1, 2]


def test_the_headline_is_the_worst_and_the_best_change(tmp_path: Path) -> None:
    answer = judge.read(found(tmp_path), tmp_path)
    ratios = [cell.ratio.estimate for _, cell in answer.cells if cell.ratio]
    assert ratios == sorted(ratios)
    assert "on this machine" in report.headline(answer)
    alone = judge.read(structs.replace(found(tmp_path), runs=()), tmp_path)
    assert "; instructions +" in report.headline(alone)
    assert report.headline(judge.read(EMPTY, tmp_path)).endswith("nothing is measured yet")


def test_the_same_server_again_has_nothing_to_report(tmp_path: Path) -> None:
    partly = {kind: values for kind, values in counts.BASE.items() if kind != "update"}
    failed = WorkFailure(server=NEW, workload="w", kind="update", reason="no answer")
    same = counts.document({OLD: counts.BASE, NEW: partly}, [failed])
    path = COUNTS.write(tmp_path, same.run, same)
    counted = structs.replace(EMPTY, statements=str(path.relative_to(tmp_path)), results=())
    answer = judge.read(counted, tmp_path)
    said = "nothing to report: more or fewer instructions in none of 1 kind of statement"
    assert report.headline(answer).endswith(said)
    *others, untested = report.topics(answer)
    assert not any(topic.commands for topic in others)
    assert f"update on {NEW}: no answer" in untested.lines
    for found in ({"options": (FATE,)}, {"results": ("another row",)}, {"variables": VARIABLES}):
        assert "nothing" not in report.headline(judge.read(structs.replace(counted, **found), tmp_path))


def test_two_machines_stand_side_by_side(tmp_path: Path) -> None:
    here = found(tmp_path / "first")
    results = tmp_path / "second"
    document = measure.again(UPGRADES.write(tmp_path / "first", here.upgrade, here), results)
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
    assert f"; throughput on {first} " in report.headline(answer)
    assert "; on other " in report.headline(answer)
    (workloads,) = (topic for topic in report.topics(answer) if topic.title == "Workloads")
    assert workloads.columns[-2:] == (f"#{first}", "#other")
    assert all(row[-1] == row[-2] for row in workloads.rows)  # the same samples

    (results / name).unlink()
    gone = UPGRADES.write(results, document.upgrade, structs.replace(document, runs=(name,)))
    with pytest.raises(InputError, match="cannot be copied: No such file"):
        measure.again(gone, tmp_path / "third")


def test_files_outside_of_the_results_are_refused(tmp_path: Path) -> None:
    path = UPGRADES.write(tmp_path, EMPTY.upgrade, structs.replace(EMPTY, runs=("../run.jsonl",)))
    with pytest.raises(InputError, match=r"it names \.\./run\.jsonl, which lies elsewhere"):
        UPGRADES.read(path)


def test_statements_come_from_a_count_of_many_servers(tmp_path: Path) -> None:
    both = {"another": counts.times(3), NEW: counts.times(1.2), OLD: counts.BASE}
    of_many = counts.document(both)
    path = COUNTS.write(tmp_path, of_many.run, of_many)
    measure.require_counted(path, EMPTY)
    document = structs.replace(EMPTY, statements=str(path.relative_to(tmp_path)))
    ratios = [change.ratio.estimate for change in judge.read(document, tmp_path).changes if change.ratio]
    assert ratios == pytest.approx([1.2] * 3, abs=0.01)
    with pytest.raises(InputError, match="other is not in it; its servers are another"):
        measure.require_counted(path, structs.replace(EMPTY, labels=(OLD, "other")))
    with pytest.raises(InputError, match="not a count of instructions"):
        measure.require_counted(UPGRADES.write(tmp_path, "u", EMPTY), EMPTY)


def test_a_recorded_upgrade_comes_with_all_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showcase, "SHOWCASE", tmp_path / "showcase")
    mine = structs.replace(found(tmp_path), settings="/home/me/my.cnf", workload=f"{tmp_path}/w.toml")
    showcase.upgrade(UPGRADES.write(tmp_path, mine.upgrade, mine))
    showcase.unpacked(tmp_path / "unpacked")
    (path,) = UPGRADES.find(tmp_path / "unpacked")
    assert str(tmp_path) not in path.read_text("utf-8")
    there = UPGRADES.read(path)
    assert (there.settings, there.workload) == ("my.cnf", "w.toml")
    answer = judge.read(there, tmp_path / "unpacked")
    assert answer.unreadable == ()
    assert report.headline(answer) == report.headline(judge.read(mine, tmp_path))


def test_a_document_that_is_gone_is_named(tmp_path: Path) -> None:
    answer = judge.read(structs.replace(EMPTY, statements="work/gone.json"), tmp_path)
    assert answer.changes == ()
    (untested,) = (topic for topic in report.topics(answer) if topic.title == "Not tested")
    assert any("gone.json" in line for line in untested.lines)


def test_an_upgrade_has_a_page(tmp_path: Path) -> None:
    listed = page.listing([judge.read(found(tmp_path), tmp_path)])
    assert listed is not None
    runs = [judgement_cache.in_memory(*builders.a_result())]
    site.build(runs, tmp_path / "site", listings=[listed])
    file = tmp_path / "site" / page.path_of(EMPTY.upgrade)
    shown = Document(file.read_text("utf-8"))
    assert "performance_schema=OFF" in shown.text
    assert "Plans: 1 statement planned in another way" in shown.text
    headings = ("What to set", "Workloads", "Statements that", "Plans:", "Not tested")
    places = [*map(shown.text.index, headings)]
    assert places == sorted(places)
    front = Document((tmp_path / "site" / "index.html").read_text("utf-8"))
    assert front.text.index("What an upgrade does") < front.text.index("Verdicts")
    assert page.path_of(EMPTY.upgrade) in front.links
    assert UPGRADES.write(tmp_path, EMPTY.upgrade, found(tmp_path)).exists()


LOG = "it ended; its error log ends:\n0 [Warning] w\n0 [ERROR] COLLATION x is not valid\n0 [ERROR] Aborting"


def test_the_headline_says_first_what_could_not_be_measured_and_why(tmp_path: Path) -> None:
    failures = [WorkFailure(server=label, workload="", kind="", reason=LOG) for label in (OLD, NEW)]
    nothing = counts.document({OLD: {}, NEW: {}}, failures)
    path = COUNTS.write(tmp_path, nothing.run, nothing)
    why = {"data": LOG, "results": "the disk is full", "time": AS_ASKED}
    document = structs.replace(EMPTY, statements=str(path.relative_to(tmp_path)), left_out=why)
    answer = judge.read(document, tmp_path)
    said = "could not measure data, statements (COLLATION x is not valid); "
    said += "could not measure results (the disk is full)"
    assert report.sentence(answer) == said
    assert report.judged(answer).exit_code == 3
    titles = [topic.title for topic in report.topics(answer)]
    assert "Statements: not compared" in titles
    assert "Plans: not compared" in titles


def test_session_modes_that_a_dump_lost_are_said(tmp_path: Path) -> None:
    counted = counts.document({OLD: counts.BASE, NEW: counts.BASE})
    old, new = counted.servers
    lost = Warning(code=MODES_DROPPED, text="d.sql was loaded without A")
    counted = structs.replace(counted, servers=(old, structs.replace(new, warnings=(lost,))))
    path = COUNTS.write(tmp_path, counted.run, counted)
    document = structs.replace(EMPTY, statements=str(path.relative_to(tmp_path)))
    lines = [line for topic in report.topics(judge.read(document, tmp_path)) for line in topic.lines]
    assert lines.count(f"{NEW}: d.sql was loaded without A") == 1


def test_what_was_measured_without_the_file_is_said(tmp_path: Path) -> None:
    document = structs.replace(found(tmp_path), left_out={"settings": LOG}, options=())
    answer = judge.read(document, tmp_path)
    start = (
        "could not measure settings (COLLATION x is not valid); without my.cnf, throughput on this machine "
    )
    assert report.sentence(answer).startswith(start)
    assert "takes every option" not in report.as_markdown(answer)
    *_, untested = report.topics(answer)
    assert "Your own settings: everything was measured without my.cnf." in untested.lines


def test_cells_that_failed_are_not_tested(tmp_path: Path) -> None:
    answer = judge.read(found(tmp_path), tmp_path)
    (failed,) = answer.failed
    *_, untested = report.topics(answer)
    assert any(line.startswith(failed.cell.workload) and failed.reason in line for line in untested.lines)
    alone = dataclasses.replace(
        answer, runs=tuple(structs.replace(run, cells=(failed,)) for run in answer.runs)
    )
    assert alone.unmeasured["time"] == failed.reason
