"""Machines as their kernels tell of them, laid out below a folder: tests/machines/*.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from shootout.runner.host import Host

FOLDER = Path(__file__).with_name("machines")


def a_host(name: str, folder: Path, changes: Mapping[str, str | None] | None = None) -> Host:
    """The machine of that name; `changes` are files with other contents, or gone."""
    files = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    links: dict[str, str] = files.pop("links")
    for file, text in {**files, **(changes or {})}.items():
        if text is not None:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", "utf-8")
    for link, target in links.items():
        path = folder / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    return Host(folder)
