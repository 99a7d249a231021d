"""docs/cli.md, made from the declared options: `python -m tests.manual` writes it again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from shootout import cli
from shootout.paths import ROOT

FILE = ROOT / "docs" / "cli.md"

PREFACE = """\
# The command line

This page is made from the declared options (`python -m tests.manual`); `shootout COMMAND --help` prints the
same. Plain pytest takes the options of `shootout run`, too (`pytest suites --servers A,B`), except
`--check-results`.

## Exit codes

| code | meaning |
|---|---|
| 0 | nothing regressed |
| 1 | something regressed |
| 2 | wrong usage or configuration |
| 3 | something could not be measured |
| 4 | a cell is inconclusive, and the policy says that this fails; a bisection is undecided |
| 130 | interrupted with Ctrl-C |

Every command takes `--json`, which prints its result for machines. In a checkout, `reports` is the
checkout's own folder, wherever the command runs; elsewhere it is in the current one.
"""


def text() -> str:
    """The whole page."""
    return "\n".join([PREFACE, *_commands(cli.parser())])


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    for command in _subcommands(parser).values():
        yield from _command(command)
        yield from _commands(command)


def _command(command: argparse.ArgumentParser) -> Iterator[str]:
    options = _shown(command)
    if any(isinstance(action, argparse._SubParsersAction) for action in options):
        return
    positional = [action for action in options if not action.option_strings]
    operands = "".join(f" {each.metavar}{'…' if each.nargs == '+' else ''}" for each in positional)
    description = (command.description or "").rstrip("?.")
    yield f"## {command.prog}{operands}\n\n{description[:1].upper()}{description[1:]}.\n"
    rows = [_row(each) for each in options if each.option_strings or each.help]
    if command.prog in ("shootout gate", "shootout doctor"):
        of_run = _flags_of_run()
        lacking = [f"`{flag}`" for row, flag in of_run.items() if row not in rows]
        rows = [row for row in rows if row not in of_run]
        yield f"It takes the options of `shootout run`, except {', '.join(lacking)}, and these:\n"
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows, ""])


def _flags_of_run() -> dict[str, str]:
    """The options of `shootout run` by row."""
    return {_row(each): each.option_strings[0] for each in _shown(_subcommands(cli.parser())["run"])}


def _shown(command: argparse.ArgumentParser) -> list[argparse.Action]:
    hidden = ("help", "json")
    return [each for each in command._actions if each.dest not in hidden and each.help != argparse.SUPPRESS]


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {
        name: command
        for group in parser._actions
        if isinstance(group, argparse._SubParsersAction)
        for name, command in group.choices.items()
    }


def _row(action: argparse.Action) -> str:
    written = " ".join(filter(None, (*action.option_strings, str(action.metavar or ""))))
    needed = " (required)" if action.required and action.option_strings else ""
    return f"| `{written}` | {(action.help or '') % {'default': action.default}}{needed} |"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
