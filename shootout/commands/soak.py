"""`shootout soak`: its command line, its documents and its pages."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from shootout import command
from shootout.answer import Answer
from shootout.capability import Capability
from shootout.inputs import texts
from shootout.inputs.options import BUDGET_MAX_MIN, OUT, Option
from shootout.parser import Parser
from shootout.soak import answer, judge, measure
from shootout.soak.documents import SOAKS

MINUTES_MIN = 0.05  # three slices
MINUTES = Option(
    "minutes of load on each server (default: 30)",
    "N",
    partial(texts.decimal, maximum=BUDGET_MAX_MIN, minimum=MINUTES_MIN),
    "minutes",
    30.0,
)
TURNS = Option(
    "seconds of load on each server in turn, while the others are stopped; 0: one after the other "
    "(default: 1)",
    "S",
    partial(texts.decimal, maximum=3600, minimum=0, unit="seconds"),
    "turns",
    1.0,
)


class Soak(Capability):
    """Long load on each server, and what becomes of it."""

    name = "soak"
    store = SOAKS
    folder = "soaks"
    title = "Soaks"
    about = "Servers under load for long."
    columns = ("begun", "servers", "load")

    def command(self, parser: Parser) -> None:
        """Declare `soak`."""
        command.declare(parser, self._run)
        command.add_options(parser, (MINUTES, TURNS))
        command.add_measuring(parser, "soak", (*command.LOADING, "threads"))
        command.add_options(parser, (OUT,))

    def _run(self, args: argparse.Namespace) -> int:
        prepared = command.prepare(args)
        with command.keeping(self, args, prepared.acknowledged) as observe:
            path = measure.measure(prepared.plan, prepared.results, 60 * args.minutes, args.turns, observe)
        return command.conclude(self, path, prepared, args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Judge a soak; its base is always its first server."""
        return answer.answer(judge.judge(SOAKS.read(path)))


CAPABILITY = Soak()
