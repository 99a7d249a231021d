"""Repositories with two revisions, and maps, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab.commits import git
from shootout.coverage.values import UNUSED, BlindSpot, MapDocument, MapKind, MapPart, MapServer


def a_repository(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Path:
    """Make a repository whose tags `before` and `after` have these files."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet")
    for tag, files in (("before", before), ("after", after)):
        for old in filter(Path.is_file, folder.iterdir()):
            old.unlink()
        for name, text in files.items():
            (folder / name).write_text(text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", tag)
        git(folder, "tag", tag)
    return folder


POINT, RANGE, WHOLE = (MapKind(workload="w", name=name) for name in ("point", "range", "transaction"))


def a_map(run: str = "20261126T100000Z-000001") -> MapDocument:
    """Two servers of which the head executes more; `flush` is a background thread's."""
    functions = ("Item::second", "entry", "flush", "n::C::one", "n::C::one::{lambda#1}::operator()", "third")
    base = ((500, UNUSED, 900), (1000, 1000, 1000), 3 * (UNUSED,), (10, 0, 5), 3 * (UNUSED,), 3 * (UNUSED,))
    head = ((400, 120, 910), (1000, 1000, 1000), 3 * (UNUSED,), (10, 0, 5), (1, UNUSED, 7), 3 * (UNUSED,))
    parts = (
        MapPart(name="InnoDB", functions=3000, executed=300, bytes=2**21, executed_bytes=2**18),
        MapPart(name="empty", functions=1, executed=0, bytes=0, executed_bytes=0),
    )
    blind = (BlindSpot(name="row_", part="InnoDB", functions=219, bytes=156_883),)
    servers = (
        MapServer(
            label=label, reference=label, version="8.0.33", build="b", commit="", shares=shares, beside=(2,),
            parts=parts, named=0.5, blind=blind,
        )
        for label, shares in (("base", base), ("head", head))
    )  # fmt: skip
    return MapDocument(
        format=2, run=run, started="2026-11-26T10:00:00+00:00", version="0", functions=functions,
        symbols=("C::two", "fts_sync", "y"), kinds=(POINT, RANGE, WHOLE), mapped=tuple(servers),
    )  # fmt: skip
