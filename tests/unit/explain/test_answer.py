"""The answer to why a cell changed, as it was approved, in terminal, comments and pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout import cli
from shootout.document import journal
from shootout.explain import judge
from shootout.explain.answer import answer, points, section
from shootout.model.plan import Cell
from shootout.paths import REPORTS
from shootout.report import run_answer
from shootout.writers import markdown
from tests.support import builders, goldens
from tests.support.explain.builders import CELL, an_explanation, profiled, written
from tests.support.screen import answered
from tests.unit.count.test_instructions import counted, instructions_found
from tests.unit.report.test_commands import parsed

GOLDEN = Path(__file__).parent / "golden" / "answer.txt"
EXPLAINED = judge.evaluate(an_explanation(), profiled())


def test_it_is_as_it_was_approved(tmp_path: Path) -> None:
    """With all parts; and without a count, a profile, or a difference of plans and settings."""
    whole = an_explanation()
    plans = tuple(structs.replace(each, steps=whole.plans[0].steps) for each in whole.plans)
    variables = dict.fromkeys(("base", "head"), whole.variables["base"])
    blind = structs.replace(
        whole, profiles=(), not_profiled="perf is not installed: …", plans=plans, variables=variables
    )
    every = [answer(EXPLAINED, instructions_found(counted()), Path("out"))]
    every.append(answer(judge.evaluate(blind, profiled()), None))
    goldens.check("".join(answered(each, 1000) for each in every), GOLDEN, tmp_path)


def test_json_has_the_count_between_functions_and_plans() -> None:
    value = answer(EXPLAINED, instructions_found(counted())).value
    assert value["instructions"] == instructions_found(counted())
    assert [*value][-4:] == ["functions_with_callees", "instructions", "plans", "variables"]


def test_a_comment_has_the_explanations_of_its_cells() -> None:
    document = builders.a_run()
    known = section(EXPLAINED, None)
    text = markdown.write(run_answer.answer(builders.a_comparison(document), {CELL: [known]}))
    copied = [command for point in known.points for command in point.commands]
    assert copied
    assert all(f"` {command} `" in text for command in copied)
    assert "<summary>Why: oltp_read_write, 8 threads" in text
    assert "  - row_search_mvcc +" in text


def test_a_setting_is_tried_on_a_server_of_any_name() -> None:
    cell = Cell(workload="w", dataset="d", server="mysql-8.0.33 (path)", threads=8)
    explained = judge.evaluate(an_explanation("r1", cell), profiled())
    for out, meant in ((Path("my out"), Path("my out")), (None, REPORTS)):
        *_, (first, *_) = (point.commands for point in points(explained, None, out))
        args = parsed(first)
        assert (args.document, args.cell, args.try_) == ("r1", "w-t8-mysql-8.0.33 (path)", ["sync_binlog=0"])
        assert args.out == meant


def test_a_run_judged_again_leads_with_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But not against another base, of which the explanation knows nothing."""
    run = builders.a_run()
    path = tmp_path / f"{run.header.run}.jsonl"
    path.write_bytes(journal.encoded(run))
    cell = builders.a_block("oltp_read_write", 1).cell(builders.HEAD)
    written(tmp_path, an_explanation(cell=cell))
    for base, leads in (([], True), (["--base", builders.HEAD], False)):
        cli.main(["compare", str(path), *base])
        said = "Cause: plan of SELECT: const on"
        assert (said in " ".join(capsys.readouterr().out.split())) is leads
