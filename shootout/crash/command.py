"""`shootout crash`: its command line and its documents."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from shootout import command
from shootout.capability import Capability
from shootout.crash import measure, report
from shootout.crash.documents import CRASHES
from shootout.inputs import texts
from shootout.inputs.options import OUT, Option
from shootout.parser import Parser
from shootout.report.judged import Judged

TIMES = Option(
    "crashes of each server (default: 3)", "N", partial(texts.integer, allowed=range(1, 1001)), "times", 3
)


class Crash(Capability):
    """kill -9 under durable load, and a search for every commit that was confirmed."""

    name = "crash"
    store = CRASHES

    def command(self, parser: Parser) -> None:
        """Declare `crash`."""
        command.declare(parser, self._run)
        command.add_options(parser, (TIMES,))
        command.add_measuring(parser, "crash", (*command.LOADING, "threads"))
        command.add_options(parser, (OUT,))

    def _run(self, args: argparse.Namespace) -> int:
        prepared = command.prepare(args)
        with command.progress() as observe:
            path = measure.measure(prepared.plan, prepared.results, args.times, observe)
        return command.show(self.judge(path).at(path), args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """Judge a document of crashes; every server is judged by itself."""
        return report.judged(CRASHES.read(path))


CAPABILITY = Crash()
