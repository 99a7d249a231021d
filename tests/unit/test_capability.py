"""A capability of a few lines has a command, documents and pages."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from shootout import app, capability, cli, command
from shootout.answer import Answer, Table, Topic
from shootout.capability import Capability
from shootout.document import journal
from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.errors import Skip
from shootout.explain import changed_cells
from shootout.inputs.options import OUT
from shootout.model.plan import Cell
from shootout.model.value import Value
from shootout.parser import Parser
from shootout.report.sections import Section
from tests.support import builders
from tests.support.report.site.pages import Document


class Greeting(Value):
    """Its document."""

    greeting: str
    to: str


GREETINGS = Store("a greeting", "greetings/*.json", Greeting, "greeting", Format(1))


class Greet(Capability):
    """Greets servers."""

    name = "greet"
    store = GREETINGS
    folder = "greetings"
    title = "Greetings"
    columns = ("to",)

    def command(self, parser: Parser) -> None:
        """Declare `greet`."""
        command.declare(parser, self._run)
        parser.add_argument("server")
        command.add_options(parser, (OUT,))

    def _run(self, args: argparse.Namespace) -> int:
        document = Greeting(greeting="hello", to=args.server)
        path = GREETINGS.write(args.out / "results", args.server, document)
        return command.show(self.judge(path).at(path), args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """The greeting itself."""
        document = GREETINGS.read(path)
        table = Table(("greeting", "to"), ((document.greeting, document.to),))
        topics = (Topic(tables=(table,)),)
        return Answer("Greeting", "hello", topics, {"to": document.to}, exit_code=1, listed=(document.to,))


@pytest.fixture(autouse=True)
def only_greet(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the only capability."""
    module = ModuleType("shootout.commands.greet")
    module.CAPABILITY = Greet()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shootout.greet", ModuleType("shootout.greet", "Greet a server."))
    monkeypatch.setitem(sys.modules, "shootout.commands.greet", module)
    monkeypatch.setattr(capability, "NAMES", ("greet",))


def test_its_command_prints_and_its_document_is_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["greet", "mysql", "--out", str(tmp_path), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"document": str(tmp_path / "results/greetings/mysql.json"), "to": "mysql"}
    assert cli.main(["compare", printed["document"]]) == 1
    assert "hello     mysql" in capsys.readouterr().out
    assert cli.main(["merge", printed["document"]]) == 2
    assert "documents of `shootout greet` cannot be joined" in capsys.readouterr().err
    assert re.search(r"^  greet +greet a server$", cli.parser("").format_help(), re.MULTILINE)
    assert cli.main(["explain"]) == 2  # there is no other
    assert "invalid choice: 'explain'" in capsys.readouterr().err


def test_a_site_begins_with_it_where_no_run_is_and_lists_it_beside_runs(tmp_path: Path) -> None:
    results = tmp_path / "results"
    GREETINGS.write(results, "a", Greeting(greeting="hello", to="a"))
    page = app.publish(results, tmp_path / "site", (), pytest.fail)
    assert "greetings/a.html" in Document(page.read_text()).links
    (results / "run.jsonl").write_bytes(journal.encoded(builders.a_run()))
    page = app.publish(results, tmp_path / "site", (), pytest.fail)
    assert "greetings/index.html" in Document(page.read_text()).links


class Faulty:
    """A picture with a defect."""

    def __html__(self) -> str:
        """Nothing."""
        raise ValueError("no such colour")


def test_a_picture_that_cannot_be_drawn_costs_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sections(results: Path, run: str, cells: Sequence[Cell], skip: Skip) -> dict[Cell, tuple[Section]]:
        return dict.fromkeys(cells, (Section("explain", "words", "Why", (Topic("Why", drawing=Faulty()),)),))

    monkeypatch.setattr(changed_cells, "sections", sections)
    results = tmp_path / "results"
    results.mkdir()
    (results / "run.jsonl").write_bytes(journal.encoded(builders.a_run()))
    page = app.publish(results, tmp_path / "site", (), pytest.fail)
    cells = [*page.parent.glob("runs/*/oltp_point_select-*.html")]
    assert cells
    assert all("ValueError: no such colour" in each.read_text() for each in cells)
