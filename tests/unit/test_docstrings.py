"""Docstrings and comments name their subject, and nothing uses words that the field does not use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shootout.paths import ROOT
from tests.messages import MODULES, messages

FOLDERS = ("shootout", "suites", "benchmarks", "lab", "tests")
POINTING = r"(?:What|That|Those|Of|Such|Which)\b.*"
SENTENCE = re.compile(rf"(?:\A|\.\s+){POINTING}")
CLAUSE = re.compile(r"(?:How|Where|Why|Who|Whether)\b.*")  # it describes a property, never an action
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
COMMENT = re.compile(r"(?:^ *#.*\n)+|  # .*", re.MULTILINE)
RUST = re.compile(rf"(?<!//[/!]\n)^ *//[/!] {POINTING}", re.MULTILINE)

# Each is archaic, or points at what it should name; the second part says it as the field does.
FOREIGN = {
    "anew": "again", "dear": "expensive", "dearly": "expensively", "mend": "fix", "mends": "fixes",
    "mended": "fixed", "stand still": "stall", "stands still": "stalls", "go on": "continue",
    "goes on": "continues", "going on": "continuing", "says of": "says about", "said of": "reported about",
    "one's own": "your own", "come upon": "find", "comes upon": "finds", "not ours to": "external",
    "settings profile": "settings",
}  # fmt: skip
WORDS = re.compile(rf"\b(?:{'|'.join(FOREIGN)})\b", re.IGNORECASE)


def acts(node: ast.AST) -> bool:
    """Whether it is a function, but neither a property nor one that answers yes or no."""
    if not isinstance(node, ast.FunctionDef) or "property" in " ".join(map(ast.unparse, node.decorator_list)):
        return False
    return node.returns is None or not re.match("bool|Type", ast.unparse(node.returns))


def pointing(text: str) -> Iterator[str]:
    """Find sentences of a module that begin with a barred word, and foreign words."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and (said := ast.get_docstring(node)):
            found = (
                SENTENCE.search(said) or (CLAUSE.match(said) if acts(node) else None) or WORDS.search(said)
            )
            if found:
                yield f"{node.body[0].lineno}: {found[0].lstrip('. ')}"
    for comment in COMMENT.findall(text):
        if found := SENTENCE.search(re.sub(r"\s*# ", " ", comment).strip()):
            yield found[0].lstrip(". ")


def test_no_docstring_or_comment_points_at_its_subject() -> None:
    files = [*ROOT.glob("*.py"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))]
    found = {str(file.relative_to(ROOT)): [*pointing(file.read_text("utf-8"))] for file in files}
    assert {file: sentences for file, sentences in found.items() if sentences} == {}


def test_no_doc_comment_of_the_engine_does() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "engine").glob("**/src/**/*.rs")]
    assert [found for text in texts for found in RUST.findall(text)] == []


def test_no_page_and_no_message_uses_words_that_the_field_does_not_use() -> None:
    pages = [*ROOT.glob("[!C]*.md"), ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]
    texts = {page: page.read_text("utf-8") for page in pages}
    texts |= {file: "\n".join(text for _, text in messages(file)) for file in MODULES}
    found = [(file.name, word) for file, text in texts.items() for word in WORDS.findall(text)]
    assert [f"{name}: {word}: {FOREIGN[word.lower()]}" for name, word in found] == []
