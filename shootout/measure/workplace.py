"""Where a measurement's servers live, and what it holds until it ends."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shootout.model.run import Observe, Progress, Runner
from shootout.paths import cache_folder
from shootout.runner.preflight import BUSY, MARK
from shootout.servers.processes.leftovers import working_directory
from shootout.signals import interrupting


@contextmanager
def workplace(name: str, data: Path | None = None, *, loads: bool = True) -> Iterator[tuple[Path, ExitStack]]:
    """Make a directory for instances until the block ends, by a signal too. Main thread only."""
    with interrupting(signal.SIGTERM, signal.SIGHUP):
        if any(cache_folder().glob("containers/*")):
            with suppress(ModuleNotFoundError):  # uninstalled since
                from shootout.servers.processes import containers  # noqa: PLC0415 (it imports optional packages)

                containers.clear_leftovers()
        with (
            working_directory(cache_folder(), name, data) as directory,
            ExitStack() as held,
            ExitStack() as marked,
        ):
            if loads:
                marked.enter_context(socket.socket(socket.AF_UNIX)).bind(f"\0{MARK}{os.getpid()}/{name}")
            yield directory, held


def say_who_else_measures(runner: Runner, observe: Observe) -> None:
    """Say what disturbs a measurement from its beginning, and may be over before the next one."""
    for warning in runner.warnings:
        if warning.code in BUSY:
            observe(Progress(stage="note", detail=f"warning: {warning.text}"))
