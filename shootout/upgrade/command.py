"""`shootout upgrade`: its command line, its documents and its pages."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from shootout import app, command
from shootout.capability import Capability, Skip
from shootout.errors import InputError
from shootout.inputs import texts
from shootout.inputs.options import BUDGET_MAX_MIN, MARKDOWN, OUT, Option
from shootout.model.verdict import Comparison
from shootout.parser import Parser
from shootout.report.judged import Judged
from shootout.upgrade import judge, measure, page, report
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import Part, UpgradeDocument

if TYPE_CHECKING:
    from shootout.report.site.page import Listing

BUDGET = Option(
    "minutes for everything (default: 45)",
    "MIN",
    partial(texts.decimal, maximum=BUDGET_MAX_MIN),
    "budget",
    45.0,
)
WITHOUT = Option("parts to leave out, such as time,data", "PART,…", texts.items, "without", ())


class Upgrade(Capability):
    """What an upgrade will do, and what to set."""

    name = "upgrade"
    store = UPGRADES

    def command(self, parser: Parser) -> None:
        """Declare `upgrade`."""
        command.declare(parser, self._run)
        parser.add_argument("old", metavar="OLD", help="the server that you run, such as mysql-5.7.22")
        parser.add_argument("new", metavar="NEW", help="the server that you consider")
        parser.add_argument("--settings", metavar="FILE", default="", help="your my.cnf")
        parser.add_argument(
            "--workload", metavar="FILE", default="", help="your statements, as `shootout learn` wrote them"
        )
        resume = "continue the newest upgrade of these servers that was cut short"
        parser.add_argument("--resume", action="store_true", help=resume)
        workloads = "what to count and to measure, in place of the catalogue and sysbench's transactions"
        parser.add_argument("--workloads", metavar="W,…", default="", help=workloads)
        command.add_measuring(parser, "upgrade", ("data",))
        command.add_options(parser, (BUDGET, WITHOUT, OUT, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        question = _question(args)
        out = args.out.resolve()
        document = _unfinished(question, out / "results") if args.resume else measure.begin(question)
        try:
            with command.progress() as observe:
                path = measure.measure(question, document, out, observe, command.preparing)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("`--resume` continues this upgrade") from None
        judged = self.judge(path)
        if args.markdown is not None:
            app.write(args.markdown, judged.markdown)
        site = app.published(out, (), command.left_out)
        return command.show(judged.at(path, site and site.parent / self.page(path)), args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """Judge an upgrade again; its base is always the old server."""
        return report.judged(judge.read(UPGRADES.read(path), path.parents[1]))

    def page(self, path: Path) -> str:
        """The page of an upgrade."""
        return page.path_of(UPGRADES.read(path).upgrade)

    def listing(self, results: Path, runs: Sequence[Comparison], skip: Skip) -> Listing | None:
        """The pages of upgrades, the newest first."""
        return page.listing(judge.read(each, results) for each in UPGRADES.newest_first(results, skip))


def _question(args: argparse.Namespace) -> measure.Question:
    unknown = [part for part in args.without if part not in get_args(Part)]
    if unknown:
        raise InputError(f"--without {','.join(unknown)}: expected some of {', '.join(get_args(Part))}")
    return measure.Question(
        args.old, args.new, args.settings, args.workload, args.workloads, args.budget,
        frozenset(args.without), Path(args.data) if args.data else None,
    )  # fmt: skip


def _unfinished(question: measure.Question, results: Path) -> UpgradeDocument:
    """The newest upgrade of the same question. Raises InputError without one."""
    for document in UPGRADES.newest_first(results, command.left_out):
        asked = (*document.references, document.settings, document.workload)
        if asked == (question.old, question.new, question.settings, question.workload):
            return document
    raise InputError(f"{results}: no upgrade of {question.old} to {question.new} to continue")


CAPABILITY = Upgrade()
