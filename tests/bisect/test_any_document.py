"""Whatever a document of this kind contains, it is judged or refused with one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from shootout.bisect.command import CAPABILITY
from shootout.bisect.values import BuildRecord
from tests.bisect.builders import LABELS, a_bisection, a_run, written
from tests.documents import accepted, changed, often, publish, require_judged

pytestmark = pytest.mark.slow

BUILDS = {"a": BuildRecord(seconds=1.0, digest="1"), "c": BuildRecord(seconds=2.0, reason="no\nerror")}
WHOLE = a_bisection(builds=BUILDS, link="https://example.org/{commit}", given={"--workloads": "reads"})
STEP = {label: (-0.05 if label >= "e" else 0.0) for label in LABELS if label != "c"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the document lies, beside a run."""
    return written(tmp_path_factory.mktemp("results"), WHOLE, a_run(STEP))


@often
@given(document=changed(WHOLE))
def test_a_bisection(path: Path, document: Any) -> None:
    path.write_bytes(json.dumps(document).encode() + b"\n")
    require_judged(CAPABILITY, path)
    accepted(lambda: publish(path.parents[2]))
