"""A count of instructions in the comment on a pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.count.documents import COUNTS
from tests.support.count import builders
from tests.support.report.github.github_server import GitHub, a_pull, comment

pytest_plugins = ["tests.support.report.github.github_server"]


def test_a_count_is_commented_on_and_says_nothing_of_its_own(
    at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "<b>@everyone"
    counted = builders.document({"base": builders.BASE, hostile: builders.times(1.2)})
    a_pull(at)
    assert comment(COUNTS.write(tmp_path, "r", counted)) == 0, capsys.readouterr().err
    (posted,) = at.comments
    assert "regressed" in posted["body"]
    assert "\\<b>" in posted["body"]
    assert hostile not in posted["body"]
