"""A capability of a few lines has a command, documents, pages, and a section of a cell."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shootout import app, capability, cli, command
from shootout.capability import Capability
from shootout.conclusion import Conclusion
from shootout.document import journal
from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.errors import InputError, Skip
from shootout.inputs.options import OUT, Option
from shootout.model.plan import Cell
from shootout.model.run import Observe
from shootout.model.value import Value
from shootout.model.verdict import Comparison
from shootout.parser import Parser
from shootout.report.judged import Judged, Line, Table
from shootout.report.sections import Point, Section
from shootout.report.site.page import Listing, ListPage
from tests.support import builders
from tests.support.report.site.pages import Document


class Greeting(Value):
    """Its document."""

    greeting: str
    to: str


GREETINGS = Store("a greeting", "greetings/*.json", Greeting, "greeting", Format(1))


@dataclass(frozen=True, kw_only=True)
class GreetingList(ListPage):
    """Its page: that of runs, for want of a template of its own."""

    every: tuple[Greeting, ...]
    template = "runs"
    folder = "greetings"

    @property
    def runs(self) -> tuple[()]:
        """None: what the template lists."""
        return ()


class Greet(Capability):
    """Greets servers."""

    name = "greet"
    store = GREETINGS
    option = Option("greet the cells that changed", "WORD", name="greet")

    def command(self, parser: Parser) -> None:
        """Declare `greet`."""
        command.declare(parser, self._run)
        parser.add_argument("server")
        command.add_options(parser, (OUT,))

    def _run(self, args: argparse.Namespace) -> int:
        document = Greeting(greeting="hello", to=args.server)
        path = GREETINGS.write(args.out / "results", args.server, document)
        return command.show(self.judge(path).at(path), args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """The greeting itself."""
        document = GREETINGS.read(path)
        row: tuple[str | Line, ...] = (document.greeting, Line(document.to, "bold"))
        return Judged((Table(("greeting", "to"), (row,)),), {"to": document.to}, exit_code=1)

    def listing(self, results: Path, runs: Sequence[Comparison], skip: Skip) -> Listing | None:
        """All greetings."""
        every = tuple(GREETINGS.newest_first(results, skip))
        return Listing("Greetings", GreetingList(every=every), ()) if every else None

    def follow(self, conclusion: Conclusion, wish: Any, observe: Observe, skip: Skip) -> None:
        """Greet the run."""
        run = conclusion.comparison.header.run
        GREETINGS.write(conclusion.path.parent, run, Greeting(greeting=wish, to=run))

    def cell_section(self, results: Path, run: str, cell: Cell) -> Section | None:
        """What was said to the run."""
        path = GREETINGS.path_of(results, run)
        if not path.is_file():
            return None
        said = GREETINGS.read(path).greeting
        return Section("greet", "words", "Greetings", (Point(said),), "no-such-template", None)


@pytest.fixture(autouse=True)
def only_greet(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the only capability."""
    module = ModuleType("shootout.greet.command")
    module.CAPABILITY = Greet()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shootout.greet", ModuleType("shootout.greet", "Greet a server."))
    monkeypatch.setitem(sys.modules, "shootout.greet.command", module)
    monkeypatch.setattr(capability, "NAMES", ("greet",))


def test_its_command_prints_and_its_document_is_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["greet", "mysql", "--out", str(tmp_path), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"document": str(tmp_path / "results/greetings/mysql.json"), "to": "mysql"}
    assert cli.main(["compare", printed["document"]]) == 1
    assert "hello     mysql" in capsys.readouterr().out
    with pytest.raises(InputError, match="cannot be joined"):
        capability.load("greet").merge([Path(printed["document"])], tmp_path)
    assert re.search(r"^    greet +greet a server$", cli.parser("").format_help(), re.MULTILINE)
    assert cli.main(["explain"]) == 2  # there is no other
    assert "invalid choice: 'explain'" in capsys.readouterr().err


def test_a_site_begins_with_it_where_no_run_is_and_lists_it_beside_runs(tmp_path: Path) -> None:
    results = tmp_path / "results"
    GREETINGS.write(results, "a", Greeting(greeting="hello", to="a"))
    page = app.publish(results, tmp_path / "site", (), pytest.fail)
    assert (page.parent / "greetings" / "index.html").is_file()
    (results / "run.jsonl").write_bytes(journal.encoded(builders.a_run()))
    page = app.publish(results, tmp_path / "site", (), pytest.fail)
    assert "greetings/index.html" in Document(page.read_text()).links


def test_it_may_have_no_use_for_what_was_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    capability.executed(tmp_path, "run", "2026", (), said.append)
    assert said == []

    def refuse(*_: object) -> None:
        raise InputError("no")

    monkeypatch.setattr(Greet, "executed", refuse)
    capability.executed(tmp_path, "run", "2026", (), said.append)
    assert said == ["greet: no"]


def test_it_follows_a_run_and_a_section_that_cannot_be_drawn_costs_no_page(tmp_path: Path) -> None:
    run = builders.a_run()
    path = tmp_path / "results" / journal.new_name(run.header.run)
    path.parent.mkdir()
    path.write_bytes(journal.encoded(run))
    args = cli.parser().parse_args(["run", "--greet", "good evening", "--out", str(tmp_path)])
    prepared = app.prepare(command.request(args))
    conclusion = app.judge_run(path, (), pytest.fail)
    app.follow(conclusion, prepared.request.wishes, lambda progress: None, pytest.fail)
    sections = app.sections(path, conclusion.comparison, pytest.fail)
    every = [section for known in sections.values() for section in known]
    assert {point.text for section in every for point in section.points} == {"good evening"}
    page = app.publish(path.parent, tmp_path / "site", (), pytest.fail)
    cells = [*page.parent.glob("runs/*/oltp_point_select-*.html")]
    assert cells
    assert all("Greetings: TemplateNotFound" in each.read_text() for each in cells)
