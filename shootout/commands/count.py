"""`shootout count`: its command line, its documents and its pages."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shootout import command
from shootout.answer import Answer, joined
from shootout.capability import Capability
from shootout.count import answer, judge, measure
from shootout.count.documents import COUNTS
from shootout.errors import InputError, Skip
from shootout.inputs.options import MARKDOWN, MEASURING, OUT
from shootout.parser import Parser

if TYPE_CHECKING:
    from shootout.report.site.answers import AnswerListPage

BUDGET = replace(
    next(option for option in MEASURING if option.name == "budget"),
    help="minutes for all starts (default: 60)",
)


class Count(Capability):
    """Instructions of each kind of statement, counted exactly."""

    name = "count"
    store = COUNTS
    folder = "count"
    title = "Counts"
    about = "Instructions for each kind of statement, counted under Callgrind."
    columns = ("counted", "servers")

    def command(self, parser: Parser) -> None:
        """Declare `count`."""
        command.declare(parser, self._run)
        parser.add_argument("--base", metavar="REF", help="the server to compare with")
        parser.add_argument("--head", metavar="REF", help="the server that may need more instructions")
        command.add_measuring(parser, "count", (*command.LOADING, "resume"))
        command.add_options(parser, (BUDGET,), type=str)
        command.add_options(parser, (OUT, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        given = {} if args.base is None and args.head is None else {"servers": f"{args.base},{args.head}"}
        if None in (args.base, args.head) and (given or args.servers is None):
            raise InputError("expected --base REF and --head REF, or --servers A,B,…")
        prepared = command.prepare(args, **given)
        plan, results = prepared.plan, prepared.results
        command.outset(plan)
        before = measure.to_continue(plan, results, command.left_out) if plan.resume else None
        with command.keeping(self, args, prepared.acknowledged) as observe:
            path = measure.measure(plan, results, observe, before=before)
        return command.conclude(self, path, prepared, args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Judge a count; its base is by default its first server."""
        return answer.answer(judge.compare(COUNTS.read(path), base))

    def listing(self, results: Path, skip: Skip) -> AnswerListPage | None:
        """Make the pages of counts, the newest first, and each kind of statement over time."""
        counted = [judge.compare(document) for document in COUNTS.newest_first(results, skip)]
        every = ((each.document.run, answer.answer(each)) for each in counted)
        again = answer.history(series for series in judge.history(counted) if len(series.points) > 1)
        return self.listed(every, joined([again]))


CAPABILITY = Count()
