"""Deletes capabilities from a checkout, with all that is theirs: `python -m tests.rooms DIR NAME…`."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from shootout import _engine
from shootout.paths import ROOT

LISTS = ("shootout/capability.py", "pyproject.toml")  # what names every capability


def copied(target: Path) -> Path:
    """A copy of this checkout's files that git knows or would add, which uses its virtual environment."""
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (source := ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    built = Path(_engine.__file__)
    shutil.copy2(built, target / built.relative_to(ROOT))
    (target / ".venv").symlink_to(ROOT / ".venv")
    if (known := ROOT / ".mypy_cache").is_dir():
        shutil.copytree(known, target / ".mypy_cache")
    return target


def own(root: Path, name: str) -> tuple[str, ...]:
    """The paths that a capability lists as its own."""
    return _listed(root, name, "OWN")


def _listed(root: Path, name: str, listing: str) -> tuple[str, ...]:
    module = ast.parse((root / "shootout" / name / "__init__.py").read_text("utf-8"))
    found = (
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == [listing]
    )
    texts_of: tuple[str, ...] = ast.literal_eval(next(found, ast.Tuple([])))
    return texts_of


def with_callers(root: Path, names: Sequence[str]) -> tuple[str, ...]:
    """These capabilities, and those that call them."""
    folders = (file.parent.name for file in root.glob("shootout/*/command.py"))
    callers = (name for name in folders if not {*names}.isdisjoint(_listed(root, name, "NEEDS")))
    return tuple(dict.fromkeys((*callers, *names)))


def delete(root: Path, names: Sequence[str]) -> None:
    """Delete these capabilities, and those that call them, from the checkout in `root`."""
    for name in with_callers(root, names):
        pages = [path for path in own(root, name) if path.endswith(".md")]
        for path in own(root, name):
            if (whole := root / path).is_dir():
                shutil.rmtree(whole)
            else:
                whole.unlink()
        for listing in LISTS:
            listed = rf'^    "{name}",\n|\({name}\) \| | \| \({name}\)|^    "\({name}\)".*\n'
            _change(root / listing, listed, "")
        for text in texts(root):
            # A line that the core needs for a capability alone says so at its end.
            _change(root / text, rf"^.*(?:#|//) room: {name}\n", "")
        for page in pages:
            link = rf"\[([^]]*)\]\([^)]*\b{re.escape(Path(page).name)}[^)]*\)"
            for file in root.rglob("*.md"):
                _change(file, rf"^\| {link} \|.*\n", "")  # its row of a table
                _change(file, link, r"\1")
    subprocess.run((root / ".venv/bin/python", "-m", "tests.manual"), cwd=root, check=True)
    subprocess.run((root / ".venv/bin/ruff", "format", "--quiet"), cwd=root, check=True)


def texts(root: Path) -> Iterator[str]:
    """The files in which a line can belong to a capability."""
    for pattern in ("*.py", "*.pyi", "*.toml", "*.rs", "*.yml", "Makefile", "*.txt", "*.lock"):
        for path in root.rglob(pattern):
            if not path.is_relative_to(root / ".venv"):
                yield str(path.relative_to(root))


def _change(file: Path, pattern: str, replacement: str) -> None:
    before = file.read_text("utf-8")
    after = re.sub(pattern, replacement, before, flags=re.MULTILINE)
    if after != before:
        file.write_text(after, "utf-8")


if __name__ == "__main__":
    delete(Path(sys.argv[1]), sys.argv[2:])
