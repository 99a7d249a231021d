import sys

import pytest

from shootout import cli


def test_without_sqlglot_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)  # as if it were not installed
    assert cli.main(["learn", "--schema", "a.sql", "--queries", "a.log", "--out", "a"]) == 2
    assert "needs sqlglot: `pip install 'shootout[learn]'` installs it" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["learn", "--schema", "no.sql", "--queries", "a.log", "--out", "a"]) == 2
    assert capsys.readouterr().err == "shootout: no.sql: cannot be read: No such file or directory\n"
