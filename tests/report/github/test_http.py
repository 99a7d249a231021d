"""Requests that fail tell no secret, and go nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.github.github_server import GitHub, comment
from tests.test_cli import a_document, saved

pytest_plugins = ["tests.report.github.github_server"]


def test_a_refusal_is_told_without_the_token(
    at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at.status = 403
    assert comment(saved(a_document(), tmp_path)) == 3
    assert capsys.readouterr().err == "shootout: GitHub: GET pulls: HTTP 403 Forbidden\n"


def test_a_redirect_is_not_followed(at: GitHub, tmp_path: Path) -> None:
    at.status = 302
    assert comment(saved(a_document(), tmp_path)) == 3
    assert len(at.asked) == 1
