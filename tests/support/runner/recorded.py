"""Recorded machines (tests/support/runner/machines/*.toml), laid out as files below a folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from shootout.model.run import Finding
from shootout.runner.host import Host

FOLDER = Path(__file__).with_name("machines")


def a_host(name: str, folder: Path, changes: Mapping[str, str | None] | None = None) -> Host:
    """Unpack the machine of that name; `changes` are files with other contents, or gone."""
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


def by_code(findings: Iterable[Finding]) -> dict[str, Finding]:
    found = list(findings)
    assert len({each.code for each in found}) == len(found)
    return {each.code: each for each in found}
