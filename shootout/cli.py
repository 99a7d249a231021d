"""The command line: the list of all commands, and the one that is run. Exit codes: docs/cli.md.

Only that one is imported, most of what it needs only when it runs: `--version` and `--help` answer at once.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from itertools import chain
from operator import or_

from shootout import __version__, capability, renamed
from shootout import parser as arguments_of
from shootout.errors import INTERRUPTED, InputError, MeasureError, of_places
from shootout.parser import Parser
from shootout.signals import interrupting, put_off

# The commands of the main job with their help, by the module of `commands` that declares them.
OURS = {
    "measuring": {
        "run": "measure servers and publish the report",
        "gate": "measure one pair of servers; exit with 1 if the head is slower",
        "doctor": "examine this machine: what disturbs it, and its noise",
    },
    "judging": {
        "merge": "join the documents of a run's shards and publish the report",
        "compare": "judge run documents again",
        "baseline": "store baselines",
        "history": "show ratios to the anchor over all runs, and where they changed",
        "site": "build the pages of all runs in a folder",
    },
    "github": {"github": "report to GitHub from a workflow"},
    "stores": {
        "cache": "list or clear fetched servers and loaded datasets",
        "servers": "list, fetch or start servers",
        "profiles": "list what runs can measure",
        "workloads": "list the load that servers can be put under",
    },
}
GROUPS = {
    "compare": ("run", "gate", "upgrade", "soak", "compare", "merge"),
    "explain": ("explain", "count", "bisect", "coverage"),
    "keep watch": ("baseline", "history", "site", "github"),
    "servers and data": ("doctor", "servers", "cache", "profiles", "workloads", "learn"),
}
USAGE = 2  # exit code without a command
_PACKAGE = "shootout."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if not {str(stream.encoding).lower() for stream in (sys.stdout, sys.stderr) if stream} <= {
        "utf-8",
        "utf8",
    }:
        from shootout import characters  # noqa: PLC0415 (it imports much)

        characters.write_plainly()
    chosen = next((each for each in given if not each.startswith("-")), "")
    if not given:
        print(parser("").format_help(), end="")
        return USAGE
    try:
        renamed.refuse("command", chosen)
        with interrupting(signal.SIGTERM, signal.SIGHUP):
            with put_off():  # a module that is imported by halves stays so
                args, unknown = parser(chosen).parse_known_args(given)
                if unknown:
                    args.parser.reject(unknown, given)
                _finish_imports()
            with of_places():
                code = _run(args, given)
    except (InputError, MeasureError) as error:
        _fail(error)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        print("shootout: interrupted", *interrupt.args, sep="\n", file=sys.stderr)
        return INTERRUPTED
    except Exception:  # a defect: Python's own exit code, 1, would read as "something regressed"
        traceback.print_exc()
        return MeasureError.exit_code
    return code


def _run(args: argparse.Namespace, given: Sequence[str]) -> int:
    """Run a command; an interruption that says nothing says how to begin again."""
    args.given = given
    try:
        code: int = args.run(args)
    except KeyboardInterrupt as interrupt:
        from shootout.report import commands  # noqa: PLC0415 (it imports much)

        raise KeyboardInterrupt(*(interrupt.args or [f"to begin again: {commands.again(given)}"])) from None
    return code


def parser(chosen: str | None = None) -> Parser:
    """Make the parser of all commands, or of one: to declare its options imports the command."""
    top = Parser(
        prog="shootout",
        description="Is this MySQL-family server slower than that one, by how much, and how sure are we?",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"shootout {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    abouts = {name: capability.about(name) for name in capability.NAMES}
    helps = reduce(or_, OURS.values(), OURS["measuring"] | abouts)
    grouped = {
        group: {name: helps[name] for name in names if name in helps} for group, names in GROUPS.items()
    }
    others = helps.keys() - set(chain.from_iterable(GROUPS.values()))
    top.groups = grouped | ({"others": {name: helps[name] for name in others}} if others else {})
    for name, help in helps.items():
        command = arguments_of.add(commands, name, help)
        if chosen in (None, name):
            _declare(name, command)
    return top


def _declare(name: str, parser: Parser) -> None:
    with _importing_late():
        if name in capability.NAMES:
            capability.load(name).command(parser)
            return
        module = next(module for module, helps in OURS.items() if name in helps)
        getattr(import_module(f"shootout.commands.{module}"), f"declare_{name}")(parser)


def _fail(error: Exception) -> None:
    from shootout.command import warn  # noqa: PLC0415 (they import much)
    from shootout.servers.external import dsn  # noqa: PLC0415

    warn(dsn.redacted(str(error)))  # it may quote a password from the arguments


@contextmanager
def _importing_late() -> Iterator[None]:
    """Have the modules of this package that are imported inside the block run at their first use.

    `from module import name` uses it; `from package import module` does not.
    """
    sys.meta_path.insert(0, _Late)
    try:
        yield
    finally:
        sys.meta_path.remove(_Late)


def _finish_imports() -> None:
    """Run those that nothing has used yet. Two threads may not be the first: Python 3.11 guards nothing."""
    for name in [*sys.modules]:
        if name.startswith(_PACKAGE):
            vars(sys.modules[name])


class _Late(PathFinder):
    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path) if fullname.startswith(_PACKAGE) else None
        if spec is not None and spec.loader is not None and fullname != "shootout._engine":
            spec.loader = LazyLoader(spec.loader)
        return spec


if __name__ == "__main__":
    sys.exit(main())
