"""Characters that act on a display."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shootout import characters, paths


def test_what_acts_on_a_display_becomes_visible() -> None:
    assert characters.visible("\x1b[31mred\x1b[0m\u202egnp\x00") == "␛[31mred␛[0m[U+202E]gnp␀"
    assert characters.visible("line\n\tnext") == "line\n\tnext"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_output_that_lacks_characters_gets_plain_ones(encoding: str) -> None:
    code = (
        "import sys; from shootout import cli\n"
        "try: cli.main(['profiles', '--help'])\nexcept SystemExit: pass\n"
        "for each in (sys.stdout, sys.stderr): print('▼ −20\u202f% é …', file=each)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=True, cwd=paths.ROOT,
    )  # fmt: skip
    for output in (done.stdout, done.stderr):
        line = output.decode(encoding).splitlines()[-1]
        assert line.startswith("v -20 % ")
        assert "?" not in line.replace("e?", "")
