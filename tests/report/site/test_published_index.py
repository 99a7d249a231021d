"""What docs/published.md says of claims is what the recorded runs say."""

from __future__ import annotations

import pytest

from benchmarks.showcase import repetitions
from tests.repeated import NAMES


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    """By what is repeated."""
    return {
        run.header.profile.published or "": "\n".join(repetitions.table(run)) for run in repetitions.runs()
    }


def test_each_comparison_has_been_repeated_here(tables: dict[str, str]) -> None:
    assert sorted(tables) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_findings_are_the_runs_own(tables: dict[str, str], name: str) -> None:
    text = repetitions.FINDINGS.read_text("utf-8")
    assert tables[name] in text, "If it is meant: python -m benchmarks.showcase.repetitions"
