"""A capability is a folder that can be deleted whole, and the core never notices."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shootout import capability
from shootout.paths import ROOT
from tests import rooms

LINK = re.compile(r"\[[^]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


def run(root: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def require_unnamed(root: Path, name: str) -> None:
    """Nothing that remains leads to a deleted capability."""
    path = re.compile(
        rf"\b(?:shootout|tests|templates|benchmarks)[./]{name}\b|docs/{name}\.md|test_{name}\.py"
    )
    for file in (*rooms.texts(root), *(str(page.relative_to(root)) for page in root.glob("*.md"))):
        text = (root / file).read_text("utf-8")
        assert not (hit := path.search(text)), f"{file}: {hit and hit[0]}"


@pytest.mark.parametrize("name", capability.NAMES)
def test_a_capability_lists_what_is_its_own(name: str) -> None:
    listed = rooms.own(ROOT, name)
    assert f"shootout/{name}" in listed
    assert [path for path in listed if not (ROOT / path).exists()] == []
    for folder in ("templates", "tests", "benchmarks"):
        assert (ROOT / folder / name).is_dir() == (f"{folder}/{name}" in listed), folder


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in LINK.findall(page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


@pytest.mark.slow
def test_without_any_capability_the_main_job_passes_its_checks(tmp_path: Path) -> None:
    root = rooms.copied(tmp_path)
    rooms.delete(root, capability.NAMES)
    for name in capability.NAMES:
        require_unnamed(root, name)
    # Newer than what the environment was installed from: nothing is built again.
    run(root, "make", "--assume-old=.venv/installed", "check")


@pytest.mark.slow
@pytest.mark.parametrize("name", capability.NAMES)
def test_without_one_capability_the_others_are_whole(name: str, tmp_path: Path) -> None:
    root = rooms.copied(tmp_path)
    rooms.delete(root, [name])
    require_unnamed(root, name)
    run(root, "make", "--assume-old=.venv/installed", "lint")
    run(root, ".venv/bin/pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests")
