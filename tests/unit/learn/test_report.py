from pathlib import Path

import msgspec
from msgspec.structs import replace

from shootout.learn import report
from shootout.learn.judge import compared
from shootout.learn.learning import LearnedStatement, LearningReport
from shootout.learn.measure import LearnedWorkload
from shootout.learn.values import LeftOut
from shootout.writers.judged import Line, Table
from tests.support.learn.builders import a_log, a_template
from tests.support.schemas import require_unchanged

LOG = a_log(a_template("SELECT ?", count=75), replace(a_template("DO 1", count=25), rows_examined=None))
SELECT = LearnedStatement(
    name="select",
    sql="SELECT ?",
    count=75,
    share=0.75,
    seconds=None,
    rows_examined=None,
    rows_sent=None,
    unbound=1,
    problem="odd",
)
OUTCOME = LearnedWorkload(
    format=3,
    workload="out/workload.toml",
    learned=LearningReport(
        logs=("slow.log",),
        server="5.7.22",
        rows={"t": 3},
        statements=(SELECT,),
        left_out=(LeftOut(reason="cut off", statements=2, example=""),),
        transactions=100,
        kinds=2,
        per_transaction=1.0,
        connections=1,
        think_s=0.0,
        ordered=True,
        kept_values=False,
        warnings=("slow ones only",),
    ),
    fidelity=compared(LOG, a_log(LOG.templates[0]), {"SELECT ?": "select"}, tps=1.0, connections=1),
    concerns=("half is missing",),
)


def test_a_learned_workload_is_told_in_lines_and_a_table() -> None:
    judged = report.judged(OUTCOME, Path("/out/fidelity.html"))
    lines = [part.text for part in judged.text if isinstance(part, Line)]
    assert lines[1] == (
        "75.0 % of the log's statements are sent as often, 75.0 % with as many rows, "
        "which take 50.0 % of the log's time"
    )
    assert lines[4:] == [
        "WARNING       half is missing",
        "warning       slow ones only",
        "left out      2 statements: cut off",
        "not parsed    select: odd",
        "workload      out/workload.toml",
        "report        file:///out/fidelity.html",
    ]
    (table,) = (part for part in judged.text if isinstance(part, Table))
    assert [row[0] for row in table.rows] == ["select", "DO 1"]
    assert [(row[1], row[2], row[-1]) for row in table.rows] == [
        ("75.00", "100.00", "yes"),
        ("25.00", "0.00", "no"),
    ]
    assert judged.exit_code == 4
    assert report.judged(replace(OUTCOME, concerns=()), Path("/out/fidelity.html")).exit_code == 0


def test_its_schema_changes_with_its_number_only(tmp_path: Path) -> None:
    require_unchanged("learned", OUTCOME.format, LearnedWorkload, Path(__file__).parent / "golden", tmp_path)


def test_its_json_is_the_document() -> None:
    judged = report.judged(OUTCOME, Path("/out/fidelity.html"))
    assert msgspec.json.encode(judged.value) == msgspec.json.encode(OUTCOME)
