"""Imports that run no module until a command runs: `--help` answers without most of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader

PACKAGE = "shootout."


@contextmanager
def importing() -> Iterator[None]:
    """Have the modules of this package that are imported inside the block run at their first use.

    `from module import name` uses it; `from package import module` does not.
    """
    sys.meta_path.insert(0, _Late)
    try:
        yield
    finally:
        sys.meta_path.remove(_Late)


def finish() -> None:
    """Run those that nothing has used yet. Two threads may not be the first: Python 3.11 guards nothing."""
    for name in [*sys.modules]:
        if name.startswith(PACKAGE):
            vars(sys.modules[name])


class _Late(PathFinder):
    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path) if fullname.startswith(PACKAGE) else None
        if spec is not None and spec.loader is not None and fullname != "shootout._engine":
            spec.loader = LazyLoader(spec.loader)
        return spec
