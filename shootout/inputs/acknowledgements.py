"""The file of acknowledgements, the regressions that are known and accepted."""

from __future__ import annotations

from pathlib import Path

from shootout.inputs import toml
from shootout.model.value import Value
from shootout.model.verdict import Acknowledgement


class _File(Value):
    change: tuple[Acknowledgement, ...] = ()


def load_acknowledged(file: Path) -> tuple[Acknowledgement, ...]:
    """Read the file's acknowledgements. Raises InputError."""
    return toml.load(file, _File).change
