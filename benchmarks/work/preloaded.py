"""Counts of servers that a preloaded library makes work longer for each command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.preload import SIZE, Size
from shootout.servers.native import Tree
from shootout.work.bench import Watcher
from shootout.work.units import Unit

Burn = Callable[[Unit], float]  # instructions for each command


@dataclass(frozen=True)
class Preloaded(Watcher):
    """Starts heads of `shootout work` with the library, and tells it before each kind how much to add."""

    library: Path
    heads: Mapping[str, Burn | None]

    def starting(self, server: str, tree: Tree, home: Path) -> Tree:
        """With the library, unless nothing is added to it."""
        if self.heads.get(server) is None:
            return tree
        size = Size(home / "extra")
        size.write(0)
        added = {"LD_PRELOAD": str(self.library), SIZE: str(size.file)}
        return replace(tree, launch=replace(tree.launch, variables={**tree.launch.variables, **added}))

    def sending(self, server: str, unit: Unit, home: Path) -> None:
        """Add what the kind needs."""
        if (burn := self.heads.get(server)) is not None:
            Size(home / "extra").write(round(burn(unit) / 2))
