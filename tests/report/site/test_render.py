"""Compiled templates are kept, and never stand in the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from shootout.report.site.render import Compiled

PAGE = "{% set name = 'it' %}{{ name }} is {{ value }}"


def rendered(folder: Path, text: str = PAGE) -> str:
    """By an environment of its own, which knows of others only what is kept."""
    environment = Environment(
        loader=DictLoader({"page": text}), bytecode_cache=Compiled(str(folder)), autoescape=True
    )
    return environment.get_template("page").render(value="<b>")


def test_a_template_is_compiled_once_and_again_when_it_is_another(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert rendered(folder) == "it is &lt;b&gt;"
    (kept,) = folder.iterdir()
    compiled = kept.read_bytes()
    was = kept.stat().st_mtime_ns
    assert rendered(folder) == "it is &lt;b&gt;"
    assert kept.stat().st_mtime_ns == was
    assert rendered(folder, "{{ value }}!") == "&lt;b&gt;!"
    assert [*folder.iterdir()] == [kept]
    assert kept.read_bytes() != compiled


def _nothing(kept: Path) -> None:
    kept.write_bytes(b"")


def _others(kept: Path) -> None:
    kept.write_bytes(b"something else")


def _gone(kept: Path) -> None:
    kept.unlink()
    kept.parent.rmdir()
    kept.parent.write_text("a file where the folder would be")


@pytest.mark.parametrize("spoil", [_nothing, _others, _gone])
def test_what_is_kept_may_be_lost(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    rendered(folder)
    (kept,) = folder.iterdir()
    spoil(kept)
    assert rendered(folder) == "it is &lt;b&gt;"
