"""The command line: the only printer, and the only one that exits.

Exit codes: 0 nothing regressed, 1 regressed, 2 usage or configuration, 3 could not measure, 4 could not tell
where the policy says that this fails.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from rich.console import Console

from shootout import __version__
from shootout.analysis import baseline, claims, compare, history, ledger
from shootout.document import journal, merge
from shootout.errors import InputError, MeasureError
from shootout.inputs import acknowledgements, matrix
from shootout.inputs.toml import hint
from shootout.measure import calibrate, managed, plan, session
from shootout.model.history import HistoryPoint
from shootout.model.plan import ServerReference
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, Comparison, JudgedClaim, Verdict
from shootout.paths import FIXTURES, REPORTS, ROOT, SUITES, cache_folder
from shootout.report import judgement_cache, site, terminal
from shootout.report.github import http, issues, markdown, regressions, webhook
from shootout.report.github.repository import Repository
from shootout.runner import doctor
from shootout.servers import cache, catalogue, dsn, reference
from shootout.servers.catalogue import Fetched
from shootout.servers.native import Tree
from shootout.servers.program import Program

EXIT_CODES: dict[type[Exception], int] = {InputError: 2, MeasureError: 3}
INTERRUPTED = 130
GATE_PROFILE = "a profile's name, or a .toml file (default: gate)"
BASELINES = FIXTURES / "baselines"
ACKNOWLEDGED = FIXTURES / "acknowledged.toml"
ACKNOWLEDGED_HELP = "regressions that are known and accepted (default: fixtures/acknowledged.toml)"
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
        print(f"shootout: {dsn.hidden(str(error))}", file=sys.stderr)  # it may quote what was given
        return EXIT_CODES[type(error)]
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def known(acknowledged: Path | None) -> tuple[Acknowledgement, ...]:
    """What a file says of regressions that are known and accepted; None: this repository's own.

    Raises InputError.
    """
    return acknowledgements.load(ACKNOWLEDGED if acknowledged is None else acknowledged)


def conclude(path: Path, out: Path, acknowledged: Path | None = None) -> Conclusion:
    """Judge the run at `path`, keep what its A/A cells showed, and publish it with all others beside it."""
    run = judgement_cache.run(path, known(acknowledged))
    ledger.learn(path.parent / ledger.FOLDER, run.outline.entries)
    page = publish(path.parent, out, acknowledged)
    whole = run.whole()
    return Conclusion(path, page, whole.document, whole.comparison)


def judged(
    read: RunDocument, results: Path, base: str | None = None, acknowledged: Path | None = None
) -> Comparison:
    """A run judged by what its runner's A/A cells have shown before it."""
    history = ledger.known(results / ledger.FOLDER, read.header)
    return compare.compare(read, base=base, history=history, acknowledged=known(acknowledged))


def publish(results: Path, out: Path, acknowledged: Path | None = None) -> Path:
    """Make the site of all run documents in `results`; what is none is named on stderr and left out."""
    accepted = known(acknowledged)
    runs = judgement_cache.runs(results, _left_out, accepted)
    if not runs:
        raise _nothing_in(results)
    return site.update(runs, out, accepted)


def _points(results: Path, anchor: str | None) -> Iterator[Iterable[tuple[history.Key, HistoryPoint]]]:
    """What every run of a folder adds to history; with `anchor`, relative to that, the runs that have it."""
    if anchor is None:
        yield from (run.points for run in judgement_cache.runs(results, _left_out))
    else:
        yield from map(history.points_of, _judged_all(results, anchor))


def _judged_all(results: Path, base: str | None = None, acknowledged: Path | None = None) -> list[Comparison]:
    """Every run of a folder, without those that are part of another; with `base`, those that have it."""
    runs: dict[str, Comparison] = {}
    for path in journal.find(results):
        try:
            read = journal.read(path)
            if base is None or any(base in block.servers for block in read.header.blocks):
                runs[read.header.run] = judged(read, results, base, acknowledged)
        except InputError as error:
            _left_out(error)
    parts = {run: [part.run for part in each.header.parts] for run, each in runs.items()}
    hidden = merge.superseded(parts)
    return [each for run, each in runs.items() if run not in hidden]


def _nothing_in(results: Path, base: str | None = None) -> InputError:
    which = f" with the server {base!r}" if base else ""
    return InputError(f"{results}: no run document{which} in it; `shootout run` makes one")


def _left_out(error: InputError) -> None:
    print(f"shootout: left out: {error}", file=sys.stderr)


def write(file: Path, text: str) -> None:
    """Write a file that was asked for. Raises InputError where that cannot be."""
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


def show(conclusion: Conclusion, *, as_json: bool) -> None:
    """Print what a run says."""
    claimed = claims.judge_all(conclusion.document, conclusion.comparison.policy)
    if as_json:
        places = {"document": str(conclusion.path), "page": str(conclusion.page)}
        _print_json(conclusion.comparison, claimed, **places)
        return
    console = _console()
    terminal.print_verdicts(console, conclusion.comparison)
    terminal.print_claims(console, claimed)
    console.print(f"run document  {conclusion.path}", highlight=False, soft_wrap=True)
    console.print(f"report        {conclusion.page.as_uri()}", highlight=False, soft_wrap=True)


# --- commands -------------------------------------------------------------------------------------


def _run(given: argparse.Namespace) -> int:
    return _measure(plan.Selection.of(given), given)


def _gate(given: argparse.Namespace) -> int:
    given.servers = f"{given.base},{given.head}"
    return _measure(plan.Selection.of(given), given)


def _measure(selection: plan.Selection, given: argparse.Namespace) -> int:
    """Run the suites under pytest; returns the exit code."""
    plan.make(selection)  # these two: what is wrong is said before pytest begins
    known(given.acknowledged)
    options = [f"{flag}={text}" if text else flag for flag, text in selection.given.items()]
    options += [f"--out={given.out}", *(["--json"] if given.json else [])]
    options += [f"--junit-xml={given.junit_xml}"] if given.junit_xml else []
    options += [f"--markdown={given.markdown}"] if given.markdown else []
    options += [f"--acknowledged={given.acknowledged}"] if given.acknowledged else []
    front = _Front()
    place = ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}", "-p", "no:cacheprovider"]
    code = pytest.main([str(SUITES), *place, "-p", "no:terminal", *options], plugins=[front])
    if front.interrupted:
        return INTERRUPTED
    if front.broken or code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        return EXIT_CODES[MeasureError]
    return EXIT_CODES[InputError] if code == pytest.ExitCode.USAGE_ERROR else int(code)


def _merge(given: argparse.Namespace) -> int:
    def skip(words: str) -> None:
        print(f"shootout: left out: {words}", file=sys.stderr)

    out = given.out.resolve()
    known(given.acknowledged)  # what is wrong with it is said before anything is written
    whole = merge.merge(given.documents, out / "results", skip)
    conclusion = conclude(whole, out / "site", given.acknowledged)
    show(conclusion, as_json=given.json)
    unmeasured = [
        cell.cell
        for cell in conclusion.comparison.cells
        if cell.figures is None and cell.verdict is Verdict.UNJUDGED
    ]
    if unmeasured:
        absent = " ".join(block.key for block in merge.missing(conclusion.document.header)) or "none"
        print(
            f"shootout: {len(unmeasured)} cells of {len(conclusion.comparison.cells)} were not measured; "
            f"blocks in no document: {absent}",
            file=sys.stderr,
        )
        return EXIT_CODES[MeasureError]
    return compare.exit_code(conclusion.comparison)


def _compare(given: argparse.Namespace) -> int:
    comparisons = _judged_each(given, given.base)
    if given.baseline is not None:
        comparisons = [
            baseline.judged(
                each, baseline.find(given.baseline, each.header), acknowledgements.load(ACKNOWLEDGED)
            )
            for each in comparisons
        ]
    for path, comparison in zip(given.documents, comparisons, strict=True):
        if given.json:
            _print_json(comparison, document=str(path))
        else:
            terminal.print_verdicts(_console(), comparison)
    return max(compare.exit_code(comparison) for comparison in comparisons)


def _baseline_accept(given: argparse.Namespace) -> int:
    comparison = judged(journal.read(given.document), given.document.parent, given.anchor)
    paths = [str(path) for path in baseline.accept(given.to, baseline.of(comparison))]
    print(msgspec.json.encode({"accepted": paths}).decode() if given.json else "\n".join(paths))
    return 0


def _history(given: argparse.Namespace) -> int:
    runs = list(_points(given.results, given.anchor))
    if not runs:
        raise _nothing_in(given.results, given.anchor)
    found = history.of_points(point for run in runs for point in run)
    if given.json:
        print(msgspec.json.encode(found).decode())
    else:
        terminal.print_history(_console(), found)
    return 0


def _doctor(given: argparse.Namespace) -> int:
    if given.calibrate is not None:
        with redirect_stdout(sys.stderr):
            code = _calibrate(given)
        if code not in (0, 1):
            return code
    policy = matrix.load_profile(given.profile).policy
    data = cache_folder() if given.data is None else Path(given.data)
    report = doctor.examine(data, given.out / "results", policy)
    if given.json:
        print(msgspec.json.encode(report).decode())
    else:
        terminal.print_doctor(_console(), report)
    return 0


def _calibrate(given: argparse.Namespace) -> int:
    """Find what is least noisy here, then measure the server against itself until the budget is over.

    Every cell is an A/A cell, and goes into the ledger. Returns the exit code of the last run.
    """
    given.servers = f"{given.calibrate},{given.calibrate}"
    selection = plan.Selection.of(given)
    with terminal.Display(Console(stderr=True)) as display:
        left_min = float(calibrate.begin(selection, given.out / "results", display.show))
    usual_s = plan.make(replace(selection, budget=None)).profile.sampling.budget_s

    def measure(budget_s: float) -> int:
        chosen = replace(selection, budget=f"{budget_s / 60:.6f}", resume=False)
        return _measure(chosen, given)

    return repeated(measure, 60 * left_min, usual_s)


def repeated(run: Callable[[float], int], budget_s: float, each_max_s: float) -> int:
    """Run again and again, each time with at most so much of the budget, while one as long as the last fits.

    Ends with the first exit code that is neither 0 nor 1; returns the last.
    """
    ends_s = time.monotonic() + budget_s
    took_s, code = 0.0, 0
    while code in (0, 1) and (left_s := ends_s - time.monotonic()) > took_s:
        began_s = time.monotonic()
        code = run(min(each_max_s, left_s))
        took_s = time.monotonic() - began_s
    return code


def _site(given: argparse.Namespace) -> int:
    page = publish(given.results, given.out, given.acknowledged)
    print(msgspec.json.encode({"page": str(page)}).decode() if given.json else page.resolve().as_uri())
    return 0


def _notify(given: argparse.Namespace) -> int:
    address, link = http.checked("--webhook", given.webhook), _link(given)
    webhook.post(address, webhook.message(_judged_each(given), link))
    return _done(["sent"], given)


def _github_annotate(given: argparse.Namespace) -> int:
    return _done([line for each in _judged_each(given) for line in markdown.marks(each)], given)


def _github_comment(given: argparse.Namespace) -> int:
    repository, link = Repository.of(os.environ), _link(given)
    body = markdown.comment(_judged_each(given), link)
    number = repository.pull(given.branch, given.sha)
    if number is None:
        return _done([f"no open pull request of {given.branch} is at {given.sha}: nothing written"], given)
    return _done([repository.comment(number, markdown.MARKER, body)], given)


def _github_issues(given: argparse.Namespace) -> int:
    repository, link = Repository.of(os.environ), _link(given)
    comparisons = _judged_all(given.results, given.anchor, given.acknowledged)
    if not comparisons:
        raise _nothing_in(given.results, given.anchor)
    found = regressions.standing(history.series(comparisons), comparisons)
    return _done(list(issues.keep(repository, found, link)), given)


def _judged_each(given: argparse.Namespace, base: str | None = None) -> list[Comparison]:
    return [judged(journal.read(path), path.parent, base, given.acknowledged) for path in given.documents]


def _link(given: argparse.Namespace) -> str | None:
    return None if given.link is None else http.checked("--link", given.link)


def _done(lines: Sequence[str], given: argparse.Namespace) -> int:
    print(msgspec.json.encode({"done": lines}).decode() if given.json else "\n".join(lines))
    return 0


def _cache_list(given: argparse.Namespace) -> int:
    found = cache.contents(cache_folder(), cache.limit_bytes(os.environ))
    if given.json:
        print(msgspec.json.encode(found).decode())
    else:
        terminal.print_cache(_console(), found)
    return 0


def _cache_clear(given: argparse.Namespace) -> int:
    cleared = cache.clear(cache_folder())
    if given.json:
        print(msgspec.json.encode(cleared).decode())
    else:
        terminal.print_cleared(_console(), cleared)
    return 0


def _servers_list(given: argparse.Namespace) -> int:
    offers = catalogue.offers(cache_folder())
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
            program = managed.program_of(each, tell=tell)
        fetched.append(_fetched(each, program))
        if not given.json:
            terminal.print_fetched(_console(), fetched[-1])
    if given.json:
        print(msgspec.json.encode(fetched).decode())
    return 0


def _fetched(server: ServerReference, program: Program) -> Fetched:
    version = ".".join(map(str, program.version))
    place = str(catalogue.bring(server, cache_folder())) if isinstance(program, Tree) else program.digest
    return Fetched(reference=server.text, family=program.family, version=version, directory=place)


def _servers_start(given: argparse.Namespace) -> int:
    with session.running(reference.parse(given.reference), given.settings, given.port) as instance:
        access = session.access(instance)
        if given.json:
            print(msgspec.json.encode(access).decode(), flush=True)
        else:
            terminal.print_access(_console(), given.reference, access)
        session.until_interrupted(instance)
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


Commands = argparse._SubParsersAction  # argparse names it nowhere else


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="shootout",
        description="Is this MySQL-family server slower than that one, by how much, and how sure are we?",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"shootout {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_measuring(commands)
    _add_judging(commands)
    _add_telling(commands)
    _add_cache(_group(commands, "cache", "what is kept of servers and loaded datasets"))
    _add_servers(_group(commands, "servers", "what can be measured"))
    return parser


def _add_measuring(commands: Commands[_Parser]) -> None:
    run = _command(commands, "run", _run, "measure servers, publish the report")
    gate = _command(commands, "gate", _gate, "is the head slower than the base?")
    gate.set_defaults(servers=None)
    gate.add_argument("--base", metavar="REF", required=True, help="the server to compare with")
    gate.add_argument("--head", metavar="REF", required=True, help="the server that may have become slower")
    for option in plan.OPTIONS:
        run.add_argument(option.flag, **option.shown)
        if option.name == "profile":
            gate.add_argument(option.flag, **{**option.shown, "default": "gate", "help": GATE_PROFILE})
        elif option.name != "servers":
            gate.add_argument(option.flag, **option.shown)
    doctor_ = _command(commands, "doctor", _doctor, "what is to be known of this machine, and its noise")
    calibrate = "measure it against itself first: every cell is an A/A cell"
    doctor_.add_argument("--calibrate", metavar="SERVER", nargs="?", const="mysql-8.0.12", help=calibrate)
    doctor_.set_defaults(servers=None)
    for option in plan.OPTIONS:
        if option.name == "profile":
            doctor_.add_argument(option.flag, **{**option.shown, "default": "gate", "help": GATE_PROFILE})
        elif option.name not in ("servers", "policy"):
            doctor_.add_argument(option.flag, **option.shown)
    doctor_.set_defaults(policy=None, acknowledged=None)
    for each in (run, gate):
        _take_acknowledged(each)
    for each in (run, gate, doctor_):
        each.add_argument("--out", metavar="DIR", type=Path, default=REPORTS, help="for results/ and site/")
        each.add_argument("--markdown", metavar="FILE", type=Path, help="write the verdicts as Markdown")
        cases = "write each cell as a JUnit test case"
        each.add_argument("--junit-xml", metavar="FILE", type=Path, help=cases)


def _add_judging(commands: Commands[_Parser]) -> None:
    merge_ = _command(commands, "merge", _merge, "join the documents of a run's shards, publish the report")
    merge_.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    merge_.add_argument("--out", metavar="DIR", type=Path, default=REPORTS, help="for results/ and site/")

    compare_ = _command(commands, "compare", _compare, "judge run documents again")
    compare_.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    compare_.add_argument("--base", metavar="SERVER", help="the label to compare with (default: the first)")
    bar = "hold against stored baselines instead: a file, or a folder of them; --base is the anchor"
    compare_.add_argument("--baseline", metavar="PATH", type=Path, help=bar)

    steps = _group(commands, "baseline", "the bar for later runs")
    accept = _command(steps, "accept", _baseline_accept, "store what a run measured")
    accept.add_argument("document", metavar="DOC", type=Path)
    accept.add_argument(
        "--to", metavar="DIR", type=Path, default=BASELINES, help="default: fixtures/baselines"
    )

    history_ = _command(commands, "history", _history, "ratios to the anchor over all runs")
    for each in (accept, history_):
        anchor = "what ratios are relative to (default: the first)"
        each.add_argument("--anchor", metavar="SERVER", help=anchor)
    site_ = _command(commands, "site", _site, "make the pages of all runs in a folder")
    site_.add_argument("--out", metavar="DIR", type=Path, default=REPORTS / "site")
    for each in (history_, site_):
        each.add_argument("--results", metavar="DIR", type=Path, default=REPORTS / "results")
    for each in (merge_, compare_, site_):
        _take_acknowledged(each)


def _add_telling(commands: Commands[_Parser]) -> None:
    notify = _command(commands, "notify", _notify, "tell a chat room what runs say")
    hook = "an address that takes Slack's messages; who knows it can write there"
    notify.add_argument("--webhook", metavar="URL", required=True, help=hook)
    steps = _group(commands, "github", "tell GitHub, from a workflow")
    annotate = _command(steps, "annotate", _github_annotate, "print the annotations of runs")
    comment = _command(steps, "comment", _github_comment, "write a pull request's comment, or write it anew")
    comment.add_argument("--branch", metavar="OWNER:NAME", required=True, help="the pull request's")
    comment.add_argument(
        "--sha", metavar="SHA", required=True, help="that was measured; a newer one: no comment"
    )
    issues_ = _command(steps, "issues", _github_issues, "open, update and close the issues about regressions")
    issues_.add_argument("--results", metavar="DIR", type=Path, default=REPORTS / "results")
    issues_.add_argument(
        "--anchor", metavar="SERVER", help="what ratios are relative to (default: the first)"
    )
    for each in (notify, annotate, comment):
        each.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    for each in (notify, comment, issues_):
        each.add_argument("--link", metavar="URL", help="where the report is")
    for each in (notify, annotate, comment, issues_):
        _take_acknowledged(each)


def _take_acknowledged(command: _Parser) -> None:
    command.add_argument("--acknowledged", metavar="FILE", type=Path, help=ACKNOWLEDGED_HELP)


def _add_cache(actions: Commands[_Parser]) -> None:
    _command(actions, "list", _cache_list, "what there is, and how large")
    _command(actions, "clear", _cache_clear, "remove all that is not in use")


def _add_servers(actions: Commands[_Parser]) -> None:
    _command(actions, "list", _servers_list, "the catalogue: what is here, what can be fetched")
    fetch = _command(actions, "fetch", _servers_fetch, "bring servers here; prints where they are")
    fetch.add_argument("references", metavar="REF", nargs="+", help="a catalogue id, path:… or image:…")
    start = _command(actions, "start", _servers_start, "keep one running for a look, until Ctrl-C")
    start.add_argument("reference", metavar="SERVER", help="a server reference")
    start.add_argument("--settings", metavar="NAME", default="defaults", help="a profile's name, or a file")
    start.add_argument("--port", metavar="N", type=int, help="TCP port on 127.0.0.1 (default: a free one)")


def _group(commands: Commands[_Parser], name: str, help: str) -> Commands[_Parser]:
    parser = commands.add_parser(name, help=help, allow_abbrev=False)
    return parser.add_subparsers(metavar="ACTION", required=True)


def _command(
    commands: Commands[_Parser], name: str, run: Callable[[argparse.Namespace], int], help: str
) -> _Parser:
    parser = commands.add_parser(name, help=help, allow_abbrev=False)
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=LOG_WIDTH)


def _print_json(comparison: Comparison, claimed: Sequence[JudgedClaim] = (), **places: str) -> None:
    cells = msgspec.to_builtins(comparison.cells)
    wanting = ledger.wanting(comparison.false_alarms, comparison.policy)
    gate = {"advisory": compare.advisory(comparison), "aa_cells_wanting": wanting}
    found = {"run": comparison.header.run, **places, **gate, "cells": cells}
    found["curves"] = msgspec.to_builtins(comparison.curves)
    found["false_alarms"] = msgspec.to_builtins(comparison.false_alarms)
    if claimed:
        found["claims"] = msgspec.to_builtins(claimed)
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    sys.exit(main())
