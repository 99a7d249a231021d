from pathlib import Path

import msgspec
from msgspec.structs import replace

from shootout.learn.answer import answer, write
from shootout.learn.judge import compared
from shootout.learn.learning import LearnedStatement
from shootout.learn.measure import LearnedWorkload
from shootout.learn.values import LeftOut
from tests.support import goldens
from tests.support.learn.builders import a_log, a_report, a_template
from tests.support.schemas import require_unchanged
from tests.support.screen import answered

LOG = a_log(a_template("SELECT ?", count=75), replace(a_template("DO 1", count=25), rows_examined=None))
SELECT = LearnedStatement(
    name="select", sql="SELECT ?", count=75, share=0.75, seconds=None, rows_examined=None, rows_sent=None,
    unbound=1, problem="odd",
)  # fmt: skip
OUTCOME = LearnedWorkload(
    format=3,
    workload="out/workload.toml",
    learned=a_report(
        statements=(SELECT,),
        left_out=(LeftOut(reason="cut off", statements=2, example=""),),
        warnings=("slow ones only",),
        lost_begins=2,
        lost_commits=1,
    ),
    fidelity=compared(LOG, a_log(LOG.templates[0]), {"SELECT ?": "select"}, tps=1.0, connections=1),
    concerns=("half is missing",),
)


def test_it_is_as_it_was_approved(tmp_path: Path) -> None:
    said = answer(OUTCOME)
    goldens.check(answered(said, 1000), Path(__file__).parent / "golden" / "answer.txt", tmp_path)
    assert said.exit_code == 4
    assert answer(replace(OUTCOME, concerns=())).exit_code == 0


def test_its_schema_changes_with_its_number_only(tmp_path: Path) -> None:
    require_unchanged("learned", OUTCOME.format, LearnedWorkload, Path(__file__).parent / "golden", tmp_path)


def test_its_json_is_the_document() -> None:
    assert msgspec.json.encode(answer(OUTCOME).value) == msgspec.json.encode(OUTCOME)


def test_its_page_needs_no_other_file(tmp_path: Path) -> None:
    text = write(answer(OUTCOME), tmp_path).read_text("utf-8")
    assert "SELECT ?" in text
    assert '<link rel="stylesheet"' not in text
