"""Names that changed: old ones are refused with the new ones, and read as them in stored documents."""

from __future__ import annotations

from typing import Literal, TypeAlias

from shootout.errors import InputError

Kind: TypeAlias = Literal["command", "option", "upgrade's option", "profile"]

NAMES: dict[Kind, dict[str, str]] = {
    "command": {"reach": "coverage", "work": "count"},
    "option": {"--reach": "--coverage", "--work": "--count"},
    "upgrade's option": {"--workload": "--add-workloads"},
    "profile": {"work": "count"},
}


def current(kind: Kind, name: str) -> str:
    """Give a name as it is now."""
    return NAMES[kind].get(name, name)


def refuse(kind: Kind, name: str, error: type[Exception] = InputError) -> None:
    """Raise that error, with the new name, if a name is an old one."""
    if name in NAMES[kind]:
        raise error(f"`{name}` is now `{NAMES[kind][name]}`")
