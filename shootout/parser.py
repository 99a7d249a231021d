"""The parser of a command's arguments. It imports nothing else: `shootout --help` answers at once."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from shootout.errors import InputError

# Two ways to use each command, as `--help` shows them.
EXAMPLES = {
    "run": ("--servers mysql-5.7.22,mysql-8.0.33", "--servers mysql-8.0.33,mysql-8.0.33@sort_buffer_size=4M"),
    "gate": (
        "--base mysql-8.0.12 --head path:$HOME/mysql-patched",
        "--base git:.#main --head git:.#HEAD --build CMD",
    ),
    "doctor": ("", "--calibrate --budget 60"),
    "upgrade": ("mysql-5.7.22 mysql-8.0.33 --settings my.cnf", "mariadb-10.11 mariadb-11.8 --budget 15"),
    "explain": ("", "20261124T235227Z-1a9751 oltp_point_select-t1-mysql-8.0.33"),
    "count": ("--base mysql-5.7.22 --head mysql-8.0.33", "--base A --head B --workloads report.sql"),
    "bisect": ("--over mysql-5.6.24,mysql-5.7.22,mysql-8.0.12", "--repo . --good v1 --bad HEAD --build CMD"),
    "learn": (
        "--schema dump.sql --queries slow.log --out learned",
        "--schema dump.sql --queries slow.log.xz --out learned --variables my.cnf",
    ),
    "soak": ("--servers mysql-5.7.22,mysql-8.0.33", "--servers mysql-8.0.33 --minutes 240"),
    "coverage": ("", "--repo . --base v1 --head HEAD"),
    "merge": ("shard-*/results/*.jsonl* --out merged",),
    "compare": (
        "20261124T235227Z-1a9751",
        "reports/results/20261124T235227Z-1a9751.jsonl --base mysql-8.0.33",
    ),
    "baseline": ("accept reports/results/20261124T235227Z-1a9751.jsonl",),
    "history": ("", "--anchor mysql-5.7.22"),
    "site": ("", "--single report.html"),
    "cache": ("list", "clear"),
    "servers": ("list", "fetch mysql-8.0.33"),
    "profiles": ("list",),
    "workloads": ("list",),
}  # fmt: skip
WIDTH_MAX = 110  # columns


class Help(argparse.RawDescriptionHelpFormatter):
    """A command's help: a short usage, then options, as wide as the terminal."""

    def __init__(self, prog: str) -> None:
        width = min(shutil.get_terminal_size((WIDTH_MAX, 24)).columns, WIDTH_MAX)
        super().__init__(prog, max_help_position=24, width=width)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """Name what has to be given; options follow below."""
        needed = [action for action in actions if not action.option_strings or action.required]
        super().add_usage(usage, needed, (), prefix)


class Parser(argparse.ArgumentParser):
    """Raises InputError for wrong arguments."""

    groups: Mapping[str, Mapping[str, str]] | None = None  # commands with what they do, by heading

    def format_help(self) -> str:
        """Format the help; of the list of commands, in groups."""
        if self.groups is None:
            return super().format_help()
        text = f"usage: {self.prog} COMMAND [options]\n\n{self.description}\n"
        for heading, commands in self.groups.items():
            formatter = Help(self.prog)
            formatter.start_section(heading)
            formatter.add_arguments(
                argparse.Action([], name, metavar=name, help=about) for name, about in commands.items()
            )
            formatter.end_section()
            text += f"\n{formatter.format_help()}"
        return f"{text}\n`{self.prog} COMMAND --help` shows options and examples.\n"

    def error(self, message: str) -> NoReturn:
        if message.endswith(": ACTION"):
            (actions,) = (each.choices for each in self._actions if each.metavar == "ACTION")
            message = f"expected one of {', '.join(actions or ())}"
        raise InputError(f"{message}\n`{self.prog} --help` lists the options.")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is no choice; suggests what was meant."""
        from shootout.inputs.toml import hint  # noqa: PLC0415 (it imports msgspec)

        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint(value, action.choices)}")

    def reject(self, unknown: Sequence[str], given: Sequence[str]) -> NoReturn:
        """Raise InputError for unknown ones of the `given` arguments; suggests what was meant."""
        from shootout.inputs.toml import hint  # noqa: PLC0415 (it imports msgspec)

        known = [option for action in self._actions for option in action.option_strings]
        near = hint(unknown[0].partition("=")[0], known) if unknown[0].startswith("-") else ""
        *_, flag, first = ("", "", *given[: given.index(unknown[0])])
        if not near and any(
            "," in str(each.metavar) for each in self._actions if flag in each.option_strings
        ):
            near = f"; separate them by a comma: {flag} {','.join([first, *unknown])}"
        self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # argparse has no public name for it


def add(commands: Commands, name: str, help: str) -> Parser:
    """Add a command without options."""
    examples = "".join(f"  shootout {name} {each}".rstrip() + "\n" for each in EXAMPLES.get(name, ()))
    return commands.add_parser(
        name,
        help=help,
        description=f"{help[:1].upper()}{help[1:]}.",
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=Help,
        allow_abbrev=False,
    )
