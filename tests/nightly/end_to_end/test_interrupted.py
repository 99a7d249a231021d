"""Every command that measures, interrupted at many moments: nothing is lost, and nothing leaks."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import pytest

from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, until

pytest_plugins = ["tests.support.runs"]

POINT, ALONE = ("--workloads", "oltp_point_select"), ("--threads", "1")
COMMANDS = {
    "run": ("--servers", f"{BASE},{HEAD}", "--profile", "{tiny}", "--markdown", "{folder}/a.md"),
    "gate": ("--base", BASE, "--head", HEAD, "--profile", "{tiny}", *POINT, "--junit-xml", "{folder}/a.xml"),
    "upgrade": (BASE, HEAD, *POINT, "--budget", "1", "--markdown", "{folder}/a.md"),
    "count": ("--base", BASE, "--head", HEAD, *POINT, "--set", "dataset.rows=500", "--budget", "1"),
    "soak": ("--servers", f"{BASE},{HEAD}", "--profile", "{tiny}", *POINT, *ALONE, "--minutes", "0.1"),
    "bisect": ("--over", f"{BASE},{HEAD}", "--profile", "{tiny}", *POINT, *ALONE),
}  # fmt: skip
MOMENTS = (1, 2, 3, 5, 6, 8, 12, 20, 40)  # lines of the log
WORDS = ("to continue: ", "to begin again: ")


@pytest.mark.parametrize("lines", [*MOMENTS, None], ids=[*map(str, MOMENTS), "pages"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_interrupted_says_how_to_go_on(
    name: str, lines: int | None, lab: Lab, tmp_path: Path
) -> None:
    options = [each.format(tiny=lab.profile, folder=tmp_path) for each in COMMANDS[name]]
    command = (SHOOTOUT, name, *options, "--out", str(tmp_path / "out"))
    site = tmp_path / "out" / "site"
    with lab.running(*command, folder=tmp_path) as run:

        def due() -> bool:
            reached = site.exists() if lines is None else run.err.read_text().count("\n") >= lines
            return reached or run.process.poll() is not None

        until(due)
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGINT)
        code = run.ended()
    said = run.err.read_text()
    assert "Traceback" not in said
    assert lab.left() == ([], [])
    if code != 130:  # it was done already
        assert code in (0, 1, 4), said
        return
    told = said.partition("shootout: interrupted\n")[2].splitlines()
    assert told[-1].startswith(WORDS), said
    words = shlex.split(told[-1].partition(": ")[2])
    assert words[: len(command)] == ["shootout", *command[1:]]
    assert words[len(command) :] in ([], ["--resume"])
