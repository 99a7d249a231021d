"""The messages of all errors of shootout; `python -m tests.messages` prints file, line and text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from shootout import errors
from shootout.paths import ROOT

ERRORS = {name for name in vars(errors) if name.endswith("Error")}


def messages(file: Path) -> Iterator[tuple[int, str]]:
    """Find the texts that a module gives to errors: directly, or to a class or function that makes one."""
    tree = ast.parse(file.read_text("utf-8"))
    makers = ERRORS | {node.name for node in ast.walk(tree) if _makes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in makers and node.args:
            yield node.lineno, " ".join(_said(each) for each in node.args).replace("\n", " / ")


def _makes(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return bool(ERRORS & {ast.unparse(base) for base in node.bases})
    return isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or node.args) in ERRORS


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
    for path in sorted((ROOT / "shootout").rglob("*.py")):
        for line, text in sorted(messages(path)):
            print(f"{path.relative_to(ROOT)}:{line}: {text}")
