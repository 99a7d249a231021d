"""Headlines for a chat room."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout import cli
from tests.report.github.github_server import GitHub
from tests.test_cli import a_document, saved

pytest_plugins = ["tests.report.github.github_server"]


def test_a_chat_room_is_told_the_headlines(
    hub: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(a_document(servers=("mysql-5.7.22", "<!channel> & *co*")), tmp_path)
    assert cli.main(["notify", str(path), f"--webhook={hub.url}/hook", "--link=https://example.org/"]) == 0
    (said,) = hub.said
    assert said.keys() == {"text"}
    assert said["text"].startswith(
        "&lt;!channel&gt; &amp; *co* is slower than mysql-5.7.22 in 2 of 2 cells: "
    )
    assert said["text"].endswith("\n<https://example.org/|The report>")
    assert capsys.readouterr().out == "sent\n"


def test_the_rooms_address_stays_a_secret(
    hub: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(a_document(), tmp_path)
    hub.status = 404
    assert cli.main(["notify", str(path), f"--webhook={hub.url}/hook"]) == 3
    assert cli.main(["notify", str(path), "--webhook=http://example.org/secret"]) == 2
    assert cli.main(["notify", str(path), "--webhook=http://127.0.0.1:1/secret"]) == 3
    said = capsys.readouterr().err
    assert "webhook: HTTP 404 Not Found" in said
    assert "--webhook: expected an address that starts with https://" in said
    assert "Connection refused" in said
    assert "secret" not in said
    assert "/hook" not in said
