from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from shootout import cli, steps
from shootout.analysis import compare
from shootout.conclusion import Conclusion, Prepared, Request
from shootout.inputs.options import Selection
from shootout.model.run import EndRecord, RunDocument
from shootout.writers.junit import Suite
from tests.support.analysis.builders import a_document, confirming, starts_of, with_profile


def test_a_run_names_the_command_that_decides_more_of_its_cells() -> None:
    document = a_document(starts_of(0, (-1.44, 1.44, 0.72, -0.72)))
    sampling = structs.replace(document.header.profile.sampling, starts_max=24, half_width=0.004)
    document = with_profile(document, sampling=sampling)
    end = EndRecord(finished="", elapsed_s=600.0, interrupted=False)

    def more_starts(document: RunDocument) -> str | None:
        found = compare.compare(document)
        quiet = structs.replace(found.cells[-1], per_start=(0.995, 1.005) * 2, judged=())
        found = structs.replace(found, aa_controls=(quiet,) * 4)  # minutes are told of quiet machines only
        conclusion = Conclusion(document, found, (), Path())
        assert conclusion.more_starts is None  # it answers no request as a whole
        request = Request(
            Selection.read(), Path("out"), Path("known.toml"), Path("a b.md"), Path("c.xml"), 1.5, ".:a..b",
            ("--check-results", "--json"),
        )  # fmt: skip
        prepared = Prepared(request, steps.plan(request.selection), ())
        return replace(conclusion, prepared=prepared).more_starts

    over = structs.replace(document, end=end)
    command = more_starts(over)
    assert command is not None
    args = cli.parser().parse_args(shlex.split(command)[1:])
    given = Selection.from_arguments(args)
    assert (given.resume, args.out, args.acknowledged) == (True, Path("out"), Path("known.toml"))
    assert (args.markdown, args.junit_xml) == (Path("a b.md"), Path("c.xml"))
    assert (args.explain, args.coverage, args.check_results, args.json) == ("1.5", ".:a..b", True, True)
    assert float(given.written["--budget"]) * 60 > document.header.profile.sampling.budget_s
    assert more_starts(structs.replace(over, end=None)) is None  # how long a start takes is not known
    told = a_document(starts_of(-20, (-0.1, 0.1)))
    assert more_starts(structs.replace(told, end=end)) is None
    confirmed = (*over.starts[:-1], *confirming(over.starts[-1:]))
    assert more_starts(structs.replace(over, starts=confirmed)) is None


def test_what_a_run_says_to_do_names_its_folder(tmp_path: Path) -> None:
    document = a_document(starts_of(-20, (-0.1, 0.1, 0.2, -0.2)))
    found = compare.compare(document)
    looked = [
        command
        for topic in Conclusion(document, found, (), tmp_path / "results" / "run.jsonl").answer.topics
        for point in topic.points
        for command in point.commands
        if command.startswith("shootout explain ")
    ]
    assert looked
    assert all(command.endswith(f" --out {tmp_path}") for command in looked)


def test_a_summary_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    left_out: list[str] = []
    request = Request(Selection.read(), tmp_path, markdown=tmp_path / "missing" / "summary.md")
    request.write_markdown("# Verdicts", left_out.append)
    assert (tmp_path / "missing" / "summary.md").read_text() == "# Verdicts"
    replace(request, markdown=tmp_path).write_markdown("# Verdicts", left_out.append)
    replace(request, junit_xml=tmp_path).write_junit(Suite("", "", 0.0, ()), left_out.append)
    assert left_out == 2 * [f"{tmp_path}: cannot be written: Is a directory"]
