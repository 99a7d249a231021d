"""The command line: the only printer, and the only one that exits.

Exit codes: 0 nothing regressed, 1 regressed, 2 usage or configuration, 3 could not measure.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from rich.console import Console

from shootout import __version__, cached, compare, document, look, plan, site, terminal
from shootout.errors import InputError, MeasureError
from shootout.model import Comparison, RunDocument, ServerReference
from shootout.places import REPORTS, ROOT, SUITES, cache
from shootout.servers import catalogue, reference
from shootout.servers.catalogue import Fetched
from shootout.servers.native import Tree
from shootout.toml import hint

EXIT_CODES: dict[type[Exception], int] = {InputError: 2, MeasureError: 3}
INTERRUPTED = 130
LOG_WIDTH = 132  # columns, where the output is no terminal


@dataclass(frozen=True)
class Conclusion:
    """A run, what it says, and where both can be read."""

    path: Path
    page: Path
    document: RunDocument
    comparison: Comparison


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        given, unknown = _parser().parse_known_args(arguments)
        if unknown:
            given.parser.refuse(unknown)
        code: int = given.run(given)
    except (InputError, MeasureError) as error:
        print(f"shootout: {error}", file=sys.stderr)
        return EXIT_CODES[type(error)]
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def conclude(path: Path, out: Path) -> Conclusion:
    """Judge the run at `path`, and publish it with all others beside it."""
    document_ = document.read(path)
    return Conclusion(path, publish(path.parent, out), document_, compare.compare(document_))


def publish(results: Path, out: Path) -> Path:
    """Make the site of all run documents in `results`; what is none is named on stderr and left out."""
    runs = []
    for path in document.find(results):
        try:
            read = document.read(path)
            runs.append((read, compare.compare(read)))
        except InputError as error:
            print(f"shootout: left out: {error}", file=sys.stderr)
    if not runs:
        raise InputError(f"{results}: no run document in it; `shootout run` makes one")
    return site.build(runs, out)


def show(conclusion: Conclusion, *, as_json: bool) -> None:
    """Print what a run says."""
    if as_json:
        _print_json(conclusion.comparison, document=str(conclusion.path), page=str(conclusion.page))
        return
    console = _console()
    terminal.print_verdicts(console, conclusion.comparison)
    console.print(f"run document  {conclusion.path}", highlight=False, soft_wrap=True)
    console.print(f"report        {conclusion.page.as_uri()}", highlight=False, soft_wrap=True)


# --- commands -------------------------------------------------------------------------------------


def _run(given: argparse.Namespace) -> int:
    selection = plan.Selection.of(given)
    plan.make(selection)  # what is wrong is said before pytest begins
    options = [f"{flag}={text}" if text else flag for flag, text in selection.given.items()]
    options += [f"--out={given.out}", *(["--json"] if given.json else [])]
    front = _Front()
    place = ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}", "-p", "no:cacheprovider"]
    code = pytest.main([str(SUITES), *place, "-p", "no:terminal", *options], plugins=[front])
    if front.interrupted:
        return INTERRUPTED
    if front.broken or code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        return EXIT_CODES[MeasureError]
    return EXIT_CODES[InputError] if code == pytest.ExitCode.USAGE_ERROR else int(code)


def _compare(given: argparse.Namespace) -> int:
    comparisons = [compare.compare(document.read(path), base=given.base) for path in given.documents]
    for path, comparison in zip(given.documents, comparisons, strict=True):
        if given.json:
            _print_json(comparison, document=str(path))
        else:
            terminal.print_verdicts(_console(), comparison)
    return max(compare.exit_code(comparison) for comparison in comparisons)


def _site(given: argparse.Namespace) -> int:
    page = publish(given.results, given.out)
    print(msgspec.json.encode({"page": str(page)}).decode() if given.json else page.resolve().as_uri())
    return 0


def _cache_list(given: argparse.Namespace) -> int:
    found = cached.contents(cache(), cached.limit_bytes(os.environ))
    if given.json:
        print(msgspec.json.encode(found).decode())
    else:
        terminal.print_cache(_console(), found)
    return 0


def _cache_clear(given: argparse.Namespace) -> int:
    cleared = cached.clear(cache())
    if given.json:
        print(msgspec.json.encode(cleared).decode())
    else:
        terminal.print_cleared(_console(), cleared)
    return 0


def _servers_list(given: argparse.Namespace) -> int:
    offers = catalogue.offers(cache())
    if given.json:
        print(msgspec.json.encode(offers).decode())
    else:
        terminal.print_servers(_console(), offers)
    return 0


def _servers_fetch(given: argparse.Namespace) -> int:
    references = [reference.parse(text) for text in given.references]
    fetched = []
    for each in references:
        with terminal.fetching(Console(stderr=True)) as tell:
            directory = catalogue.bring(each, cache(), tell=tell)
        fetched.append(_fetched(each, directory))
        if not given.json:
            terminal.print_fetched(_console(), fetched[-1])
    if given.json:
        print(msgspec.json.encode(fetched).decode())
    return 0


def _fetched(server: ServerReference, directory: Path) -> Fetched:
    tree = Tree.inspect(directory)
    version = ".".join(map(str, tree.version))
    return Fetched(reference=server.text, family=tree.family, version=version, directory=str(directory))


def _servers_start(given: argparse.Namespace) -> int:
    with look.running(reference.parse(given.reference), given.settings, given.port) as instance:
        access = look.access(instance)
        if given.json:
            print(msgspec.json.encode(access).decode(), flush=True)
        else:
            terminal.print_access(_console(), given.reference, access)
        look.until_interrupted(instance)
    return 0


class _Front:
    """Stands in for pytest's own reporter: says only what the verdict table does not."""

    def __init__(self) -> None:
        self.interrupted = False
        self.broken = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, KeyboardInterrupt):
            self.interrupted = True
            print("shootout: interrupted; all servers are stopped", file=sys.stderr)
        else:
            print(f"shootout: {excinfo.value}", file=sys.stderr)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._show(report, report.failed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A failed call is a failed cell, and stands in the table with its reason.
        self._show(report, report.failed and report.when != "call")

    def _show(self, report: pytest.CollectReport | pytest.TestReport, broken: bool) -> None:
        if broken:
            self.broken = True
            print(report.longreprtext, file=sys.stderr)


# --- arguments ------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one message."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}\n`{self.prog} --help` lists what there is.")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Say that the command takes none of `words`, with the nearest option that it does take."""
        known = [option for action in self._actions for option in action.option_strings]
        near = hint(words[0].partition("=")[0], known) if words[0].startswith("-") else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{near}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="shootout",
        description="Is this MySQL-family server slower than that one, by how much, and how sure are we?",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"shootout {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="measure servers, publish the report", allow_abbrev=False)
    run.set_defaults(run=_run, parser=run)
    for option in plan.OPTIONS:
        run.add_argument(option.flag, **option.shown)
    run.add_argument("--out", metavar="DIR", type=Path, default=REPORTS, help="for results/ and site/")

    compare_ = commands.add_parser("compare", help="judge run documents again", allow_abbrev=False)
    compare_.set_defaults(run=_compare, parser=compare_)
    compare_.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    compare_.add_argument("--base", metavar="SERVER", help="the label to compare with (default: the first)")

    site_ = commands.add_parser("site", help="make the pages of all runs in a folder", allow_abbrev=False)
    site_.set_defaults(run=_site, parser=site_)
    site_.add_argument("--results", metavar="DIR", type=Path, default=REPORTS / "results")
    site_.add_argument("--out", metavar="DIR", type=Path, default=REPORTS / "site")

    cache_ = commands.add_parser(
        "cache", help="what is kept of servers and loaded datasets", allow_abbrev=False
    )
    actions = cache_.add_subparsers(metavar="ACTION", required=True)
    list_ = actions.add_parser("list", help="what there is, and how large", allow_abbrev=False)
    list_.set_defaults(run=_cache_list, parser=list_)
    clear = actions.add_parser("clear", help="remove all that is not in use", allow_abbrev=False)
    clear.set_defaults(run=_cache_clear, parser=clear)

    servers = commands.add_parser("servers", help="what can be measured", allow_abbrev=False)
    acts = servers.add_subparsers(metavar="ACTION", required=True)
    known = acts.add_parser(
        "list", help="the catalogue: what is here, what can be fetched", allow_abbrev=False
    )
    known.set_defaults(run=_servers_list, parser=known)
    fetch = acts.add_parser("fetch", help="bring servers here; prints where they are", allow_abbrev=False)
    fetch.set_defaults(run=_servers_fetch, parser=fetch)
    fetch.add_argument("references", metavar="REF", nargs="+", help="a catalogue id, or path:…")
    start = acts.add_parser("start", help="keep one running for a look, until Ctrl-C", allow_abbrev=False)
    start.set_defaults(run=_servers_start, parser=start)
    start.add_argument("reference", metavar="SERVER", help="a server reference")
    start.add_argument("--settings", metavar="NAME", default="defaults", help="a profile's name, or a file")
    start.add_argument("--port", metavar="N", type=int, help="TCP port on 127.0.0.1 (default: a free one)")

    for command in (run, compare_, site_, list_, clear, known, fetch, start):
        command.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=LOG_WIDTH)


def _print_json(comparison: Comparison, **places: str) -> None:
    cells = msgspec.to_builtins(comparison.cells)
    print(msgspec.json.encode({"run": comparison.header.run, **places, "cells": cells}).decode())


if __name__ == "__main__":
    sys.exit(main())
