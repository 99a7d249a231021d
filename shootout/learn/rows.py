"""Many rows in one statement, of VALUES or IN, as groups that repeat."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from shootout.model.workload import Group, Learned, Parameter

_ROWS = re.compile(r"\b(?:VALUES?\s*|IN\s*\()(?=\()", re.IGNORECASE)  # before rows
_LIST = re.compile(r"\bIN\s*\(\{\w+\}\)", re.IGNORECASE)

Sizes = Sequence[tuple[int, int]]  # of lists: length, how often


class Names(Protocol):
    """Names of parameters."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters that have one."""

    def name(self, label: str, parameter: Parameter, taken: set[str]) -> str:
        """Make a name for this parameter that is not taken."""


def grouped(sql: str, sizes: Mapping[str, Sizes], names: Names) -> str:
    """Write the statement with its rows as groups; `sizes` are those of lists, by parameter."""
    for rows in reversed([*_ROWS.finditer(sql)]):
        row = whole = _balanced(sql[rows.end() :])
        inner = re.findall(r"(?<!\{)\{(\w+)\}(?!\})", row)
        if not inner or _LIST.search(row) or not all(map(sizes.get, inner)):
            continue
        for name in inner:
            parameter = names.parameters[name]
            assert isinstance(parameter, Learned)
            own = names.name(name, replace(parameter, counts=()), set(re.findall(r"\w+", row)))
            row = row.replace(f"{{{name}}}", f"{{{own}}}")
        lengths = sizes[inner[0]]
        mean = sum(size * count for size, count in lengths) / sum(count for _, count in lengths)
        group = Group(sql=row, count=max(1, round(mean)))
        after = sql[rows.end() + len(whole) :]
        sql = f"{sql[: rows.end()]}{{{names.name('rows', group, set())}}}{after}"
    return sql


def _balanced(text: str) -> str:
    """The text up to the parenthesis that closes its first."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[: index + 1]
    return text
