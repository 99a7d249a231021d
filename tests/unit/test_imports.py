"""No module imports another one that imports it, however many lie between them.

import-linter's graph has imports inside functions and for types, too. It has none by name: through
`capability.load` the core knows of a capability only what `Capability` declares.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from shootout.paths import ROOT

CRATES = ("engine/src", "engine/learn/src")


def circle(edges: dict[str, set[str]]) -> list[str]:
    """One circle of modules, each imported by the one before it; empty if there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [*reversed(error.args[1])]
    return []


def rust(folder: Path) -> dict[str, set[str]]:
    """The modules of a crate that each of its modules uses outside its tests."""
    texts = {file.stem: file.read_text().partition("\n#[cfg(test)]\n")[0] for file in folder.glob("*.rs")}
    return {name: {*re.findall(r"\bcrate::(\w+)", text)} & texts.keys() for name, text in texts.items()}


def test_benchmarks_and_tests_do_not_import_each_other() -> None:
    barred = {"benchmarks": "tests", "tests": "benchmarks", "lab": "benchmarks|tests", "shootout": "lab"}
    for folder, others in barred.items():
        imports = re.compile(rf"^\s*(?:from|import) (?:{others})\b", re.MULTILINE)
        wrong = [file for file in (ROOT / folder).rglob("*.py") if imports.search(file.read_text("utf-8"))]
        assert wrong == []


def test_a_circle_is_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert {*circle(edges)} == {"a", "b", "c"}
    assert circle(edges | {"c": set()}) == []


def test_the_library_has_no_circle_of_imports() -> None:
    graph = grimp.build_graph("shootout", cache_dir=None)
    edges = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert "shootout.servers.processes.containers" in edges["shootout.measure.workplace"]  # inside a function
    assert "shootout.document.store" in edges["shootout.capability"]  # for types
    assert circle(edges) == []


@pytest.mark.parametrize("crate", CRATES)
def test_a_crate_has_no_circle_of_uses(crate: str) -> None:
    edges = rust(ROOT / crate)
    assert any(edges.values())
    assert circle(edges) == []
