"""Record for the repository why a recorded run's cells changed.

Usage: `python -m benchmarks.explain.record RESULTS`, after benchmarks.showcase.record
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from benchmarks.showcase import record
from shootout.explain.documents import EXPLANATIONS


def recorded(results: Path, path: Path) -> None:
    """Write an explanation and its profiled starts, without what names files of the measuring machine."""
    explanation = EXPLANATIONS.read(path)
    variables = {
        server: {name: text for name, text in own.items() if not text.startswith("/")}
        for server, own in explanation.variables.items()
    }
    folder = path.relative_to(results).parent
    record.compress(msgspec.json.encode(replace(explanation, variables=variables)), str(folder / path.name))
    record.record(path.with_name(explanation.document), str(folder))


if __name__ == "__main__":
    results = Path(sys.argv[1])
    for path in EXPLANATIONS.find(results):
        recorded(results, path)
