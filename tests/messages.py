"""The messages of all errors of shootout; `python -m tests.messages` prints file, line and text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from shootout.paths import ROOT

ERRORS = {"InputError", "MeasureError"}
MODULES = sorted((ROOT / "shootout").rglob("*.py"))


def messages(file: Path) -> Iterator[tuple[int, str]]:
    """Find the texts that a module gives to errors: directly, or to a class or function that makes one."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args and _names([node.func]) & makers():
            yield node.lineno, " ".join(_said(each) for each in node.args).replace("\n", " / ")


@cache
def makers() -> set[str]:
    """Name the errors, the classes derived from them, and the functions that return one."""
    nodes = [node for file in MODULES for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    derived = {each.name for each in nodes if isinstance(each, ast.ClassDef) and _names(each.bases) & ERRORS}
    made = {
        each.name for each in nodes if isinstance(each, ast.FunctionDef) and _names([each.returns]) & ERRORS
    }
    return ERRORS | derived | made


def _names(nodes: Iterable[ast.expr | None]) -> set[str]:
    return {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}


def _said(node: ast.expr) -> str:
    """Write an expression as its reader sees it: text as it is, values in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_said(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _said(node.left) + _said(node.right)
    return f"{{{ast.unparse(node.value if isinstance(node, ast.FormattedValue) else node)}}}"


if __name__ == "__main__":
    for path in MODULES:
        for line, text in sorted(messages(path)):
            print(f"{path.relative_to(ROOT)}:{line}: {text}")
