"""How commands are declared, what they make of their arguments, and how they print what they found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from shootout import app, characters
from shootout import parser as arguments_of
from shootout.answer import Answer
from shootout.capability import Capability
from shootout.conclusion import Prepared, Request
from shootout.errors import InputError
from shootout.inputs.options import (
    ACKNOWLEDGED,
    CHECK_RESULTS,
    COVERAGE,
    EXPLAIN,
    JSON,
    LONG,
    MEASURING,
    OUTCOME,
    WHAT,
    WHERE,
    Option,
    Selection,
    refuse_gone,
)
from shootout.measure import outset as measured
from shootout.measure.plan import Plan
from shootout.model.run import Observe
from shootout.model.verdict import Acknowledgement
from shootout.parser import Commands, Parser
from shootout.report import commands
from shootout.writers import markdown, terminal

# Options of a run that a command with a load of its own takes, too.
LOADING = (
    "profile", "servers", "workloads", "set", "build", "policy", "seed", "data",
)  # fmt: skip


def declare(parser: Parser, run: Callable[[argparse.Namespace], int]) -> None:
    """Make `run`, which returns the exit code, what runs a command."""
    parser.set_defaults(run=run, parser=parser)
    add_options(parser, (JSON,))


def group(parser: Parser) -> Commands:
    """Add the commands of a command that has some of its own."""
    return parser.add_subparsers(metavar="ACTION", required=True)


def add(commands: Commands, name: str, run: Callable[[argparse.Namespace], int], help: str) -> Parser:
    """Add one of them, which `run` runs."""
    parser = arguments_of.add(commands, name, help)
    declare(parser, run)
    return parser


def add_options(parser: Parser, options: Iterable[Option], **changes: Any) -> None:
    """Declare options; `changes` override keywords of those that take a value."""
    for option in options:
        option.add_to(below(parser, option.about).add_argument, **(changes if option.metavar else {}))


def below(parser: Parser, heading: str) -> argparse._ActionsContainer:
    """Return the options below a heading of --help; without a heading, the parser."""
    if not heading:
        return parser
    if not any(group.title == heading for group in parser._action_groups):
        for title in (WHAT, LONG, WHERE, OUTCOME):
            parser.add_argument_group(title)
    return next(group for group in parser._action_groups if group.title == heading)


def add_measuring(parser: Parser, profile: str, names: Iterable[str] | None = None) -> None:
    """Declare the options of a run, or those of these names; `profile`: the default."""
    wanted = {option.name for option in MEASURING} if names is None else {*names}
    add_options(parser, (option for option in MEASURING if option.name in wanted), type=str)
    if "set" in wanted:
        refuse_gone(parser.add_argument)
    parser.set_defaults(profile=profile)


def request(args: argparse.Namespace, **changed: Any) -> Request:
    """Make the request that options make; `changed` replaces some. Raises InputError."""
    return Request(
        Selection.from_arguments(args, **changed),
        args.out.resolve(),
        getattr(args, "acknowledged", ACKNOWLEDGED.default),
        getattr(args, "markdown", None),
        getattr(args, "junit_xml", None),
        _parsed(EXPLAIN, args),
        _parsed(COVERAGE, args),
        tuple(each.flag for each in (CHECK_RESULTS, JSON) if getattr(args, each.name, False)),
    )


def _parsed(option: Option, args: argparse.Namespace) -> Any:
    text = getattr(args, option.name, None)
    return None if text is None else option.parse(option.flag, text)


def prepare(args: argparse.Namespace, **changed: str) -> Prepared:
    """Decide everything before a server starts; says what it fetches. Raises InputError."""
    return app.prepare(request(args, **changed), preparing, left_out)


def outset(plan: Plan, results: Path | None = None, settings: str = "") -> None:
    """Say within seconds what is compared and for how long, as `lines` of measure.outset does."""
    for line in measured.lines(plan, preparing, results, settings):
        print(characters.visible(line), file=sys.stderr)


@contextmanager
def progress() -> Iterator[Observe]:
    """Show progress on standard error; nothing else reaches standard output inside the block."""
    with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
        yield display.show


@contextmanager
def keeping(
    which: Capability, args: argparse.Namespace, acknowledged: Sequence[Acknowledgement] = ()
) -> Iterator[Observe]:
    """Show progress; an interruption says what is found so far, publishes it, and says how to continue."""
    out, began_s = args.out.resolve(), time.time()
    try:
        with progress() as observe:
            yield observe
    except KeyboardInterrupt:
        said = []
        with suppress(InputError, KeyboardInterrupt):  # one is enough
            documents = which.store.find(out / "results") if which.store else ()
            for path in documents:
                if path.stat().st_mtime >= began_s:
                    said = [f"so far: {which.judge(path).headline}"]
                    if page := app.published(out, acknowledged, left_out):
                        page = page.parent / which.page(path) if which.folder else page
                        said.append(f"its page: {page.as_uri()}")
        resume = hasattr(args, "resume") and bool(said)
        goes_on = "to continue" if resume else "to begin again"
        raise KeyboardInterrupt(*said, f"{goes_on}: {commands.again(args.given, resume=resume)}") from None


@contextmanager
def fetching() -> Iterator[Callable[[str], None]]:
    """Show the current step on standard error; all output goes there inside the block."""
    with redirect_stdout(sys.stderr), terminal.fetching(Console(stderr=True)) as report:
        yield report


def show(answer: Answer, args: argparse.Namespace) -> int:
    """Print a result; returns its exit code."""
    if args.json:
        print(msgspec.json.encode(answer.value).decode())
    else:
        terminal.write(console(), answer)
    return answer.exit_code


def print_lines(args: argparse.Namespace, key: str, lines: Sequence[str]) -> int:
    """Print lines, or JSON that has them under `key`."""
    print(msgspec.json.encode({key: lines}).decode() if args.json else "\n".join(lines))
    return 0


def conclude(which: Capability, path: Path, prepared: Prepared, args: argparse.Namespace) -> int:
    """Judge a capability's document, write and publish what it says, and print it; returns the exit code."""
    judged = which.judge(path)
    prepared.request.write_markdown(markdown.write(judged), left_out)
    site = app.published(prepared.request.out, prepared.acknowledged, left_out)
    return show(judged.at(path, site and site.parent / which.page(path)), args)


def console() -> Console:
    """Standard output."""
    return terminal.console(sys.stdout)


def preparing(step: str) -> None:
    """Say what is being fetched."""
    print(f"preparing {characters.visible(step)}", file=sys.stderr)


@cache  # a run is judged, and published later
def left_out(reason: str) -> None:
    """Say once that something was left out."""
    warn(f"left out: {reason}")


def warn(message: str) -> None:
    """Say something beside the results."""
    print(f"shootout: {characters.visible(message)}", file=sys.stderr)
