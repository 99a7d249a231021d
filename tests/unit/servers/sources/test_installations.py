"""Servers' own names, asked of real ones."""

from __future__ import annotations

import sys

import pytest

from shootout import cli
from shootout.errors import InputError
from shootout.servers.sources import installations, reference

pytest_plugins = ["tests.support.servers.external.external_server"]


def test_a_running_server_has_no_program() -> None:
    with pytest.raises(InputError, match="already running; there is nothing to fetch or to start"):
        installations.find(reference.parse("dsn:mysql://guest@127.0.0.1:3306"))


@pytest.mark.parametrize("package", ["docker", "testcontainers"])
def test_without_the_container_packages_it_says_how_to_install_them(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    assert cli.main(["servers", "fetch", "image:mysql:8.4"]) == 2
    said = capsys.readouterr().err
    assert "image:mysql:8.4 needs Docker: the engine (on Debian: apt-get install docker.io; " in said
    assert said.endswith("pip install 'shootout[container]'\n")
