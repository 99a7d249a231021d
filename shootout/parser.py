"""The parser of a command's arguments. It imports nothing else: `shootout --help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from shootout.errors import InputError


class Parser(argparse.ArgumentParser):
    """Raises InputError for wrong arguments."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}\n`{self.prog} --help` lists the options.")

    def reject(self, unknown: Sequence[str]) -> NoReturn:
        """Raise InputError for unknown arguments; suggests the nearest known option."""
        from shootout.inputs.toml import hint  # noqa: PLC0415 (it imports msgspec)

        known = [option for action in self._actions for option in action.option_strings]
        near = hint(unknown[0].partition("=")[0], known) if unknown[0].startswith("-") else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # argparse has no public name for it


def add(commands: Commands, name: str, help: str) -> Parser:
    """A command without options."""
    return commands.add_parser(name, help=help, description=help, allow_abbrev=False)
