"""Docstrings name their subject: a function's says what it does, a value's what it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from shootout.paths import ROOT

PYTHON = ("shootout/**/*.py", "suites/**/*.py", "benchmarks/**/*.py", "lab/**/*.py", "tests/**/*.py", "*.py")
POINTING = {"What", "That", "Those", "Of", "Such", "Which"}
OF_VALUES = {"How", "Where", "Why", "Who", "Whether"}  # a noun clause describes a property, never an action
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def barred(node: ast.AST) -> set[str]:
    """Return the words with which the docstring may not begin."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return POINTING
    if any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
        return POINTING
    tells = node.returns is not None and re.match(r"(bool|TypeIs|TypeGuard)\b", ast.unparse(node.returns))
    return POINTING | OF_VALUES - ({"Whether"} if tells else set())


def pointing(file: Path) -> Iterator[str]:
    """Yield each docstring that begins with a barred word, with its place."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            word = re.match(r"\w*", text)
            if word and word[0] in barred(node):
                line = node.body[0].lineno
                yield f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"


def test_no_docstring_points_at_its_subject() -> None:
    files = (file for pattern in PYTHON for file in ROOT.glob(pattern))
    assert [found for file in files for found in pointing(file)] == []


def test_no_doc_comment_of_the_engine_does() -> None:
    first = re.compile(rf"(?<!//[/!]\n)^ *//[/!] (?:{'|'.join(sorted(POINTING))})\b.*", re.MULTILINE)
    texts = [file.read_text("utf-8") for file in ROOT.glob("engine/**/src/**/*.rs")]
    assert [found for text in texts for found in first.findall(text)] == []
