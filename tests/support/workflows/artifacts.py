"""The artifacts of a workflow run, as GitHub keeps them: any job of the run may upload one and delete any.

`python -m tests.support.workflows.artifacts FOLDER delete NAME` and `… upload NAME SOURCE` do what a build
can do that takes its job's token from the runner.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def now() -> str:
    """The time as GitHub's API writes it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Artifacts:
    """A folder for each artifact, by its name, and GitHub's records of them beside it."""

    folder: Path

    def records(self) -> list[dict[str, Any]]:
        return [each for each in self._known() if not each["gone"]]

    def upload(self, name: str, source: Path, created_at: str | None = None) -> int | None:
        """Keep a file or a folder; returns its id, a new one. None: the run has an artifact of this name."""
        if (self.folder / name).exists():
            return None
        if source.is_dir():
            shutil.copytree(source, self.folder / name)
        else:
            (self.folder / name).mkdir(parents=True)
            shutil.copy2(source, self.folder / name)
        known = self._known()
        record = {"id": 11 + len(known), "name": name, "created_at": created_at or now(), "gone": False}
        self._keep([*known, record])
        return 11 + len(known)

    def delete(self, name: str) -> None:
        """Delete the artifact of this name, if there is one, whichever job it is of."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self._keep([each | {"gone": each["gone"] or each["name"] == name} for each in self._known()])

    def download(self, names: Sequence[str], target: Path) -> None:
        """Download a single artifact into the folder, each of several into one of its name."""
        for name in names:
            place = target if len(names) == 1 else target / name
            shutil.copytree(self.folder / name, place, dirs_exist_ok=True)

    @property
    def _file(self) -> Path:
        return self.folder.with_name("artifacts.json")

    def _known(self) -> list[dict[str, Any]]:
        return list(json.loads(self._file.read_text())) if self._file.exists() else []

    def _keep(self, records: list[dict[str, Any]]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(records))


if __name__ == "__main__":
    place, verb, artifact, *source = sys.argv[1:]
    if verb == "delete":
        Artifacts(Path(place)).delete(artifact)
    else:
        Artifacts(Path(place)).upload(artifact, Path(*source))
