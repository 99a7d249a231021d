"""Requests that fail tell no secret, and go nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report.github.github_server import GitHub, comment
from tests.unit.test_cli import a_document, saved

pytest_plugins = ["tests.support.report.github.github_server"]


@pytest.mark.parametrize(("status", "said"), [(403, "HTTP 403 Forbidden"), (302, "HTTP 302 Found")])
def test_a_refusal_is_told_without_the_token_and_no_redirect_followed(
    status: int, said: str, at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at.status = status
    assert comment(saved(a_document(), tmp_path)) == 3
    assert capsys.readouterr().err == f"shootout: GitHub: GET pulls: {said}\n"
    assert len(at.asked) == 1
