"""`shootout upgrade`: its command line, its documents and its pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from shootout import app, command, files
from shootout.answer import Answer
from shootout.capability import Capability
from shootout.errors import InputError, Skip, leaving_out
from shootout.inputs import texts
from shootout.inputs.options import BUDGET_MAX_MIN, MARKDOWN, OUT, Option, refuse_renamed
from shootout.parser import Parser
from shootout.report import commands
from shootout.upgrade import answer, judge, measure, question
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import Part, UpgradeDocument
from shootout.writers import markdown

BUDGET = Option(
    "minutes for everything (default: 45)",
    "MIN",
    partial(texts.decimal, maximum=BUDGET_MAX_MIN),
    "budget",
    45.0,
)
WITHOUT = Option("parts to leave out, such as time,data", "PART,…", texts.items, "without", ())


class Upgrade(Capability):
    """An upgrade's effect, and what to set."""

    name = "upgrade"
    store = UPGRADES
    folder = "upgrades"
    title = "Upgrades"
    about = "What a new version does to speed, statements and settings."
    columns = ("servers", "asked")

    def command(self, parser: Parser) -> None:
        """Declare `upgrade`."""
        command.declare(parser, self._run)
        old = "the server that you run, such as mysql-5.7.22"
        parser.add_argument("old", metavar="OLD", nargs="?", default="", help=old)
        parser.add_argument("new", metavar="NEW", nargs="?", default="", help="the server that you consider")
        parser.add_argument(
            "--settings", metavar="FILE", default="", help="your my.cnf; FILE+NAME=VALUE changes an option"
        )
        parser.add_argument(
            "--add-workloads", metavar="FILE", default="", dest="workload",
            help="your statements beside the catalogue's, as `shootout learn` wrote them",
        )  # fmt: skip
        refuse_renamed(parser.add_argument, "upgrade's option")
        resume = "continue the newest upgrade of these servers that was cut short"
        parser.add_argument("--resume", action="store_true", help=resume)
        workloads = "what to count and to measure, in place of the catalogue and sysbench's transactions"
        parser.add_argument("--workloads", metavar="W,…", default="", help=workloads)
        counted = "a count of `shootout count` with both servers, in place of counting statements"
        parser.add_argument("--counted", metavar="DOC", type=Path, help=counted)
        again = (
            "an upgrade of another machine: keep what holds anywhere, and measure time on this one; "
            "OLD and NEW only where its servers are not of the catalogue"
        )
        parser.add_argument("--again", metavar="DOC", type=Path, help=again)
        command.add_measuring(parser, "upgrade", ("data",))
        command.add_options(parser, (BUDGET, WITHOUT, OUT, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        out = args.out.resolve()
        document = _document(args, out / "results")
        way = measure.Way(args.without, args.counted, Path(args.data) if args.data else None)
        written = (UPGRADES.path_of(out / "results", document.upgrade), out / "site", args.markdown, way.data)
        question.require(document, measure.PROFILE, [path for path in written if path])
        with leaving_out(command.left_out):  # each part says by itself what it cannot do
            command.outset(question.plan(document, measure.PROFILE), settings=document.settings)
        for said in question.does_not_fit(document, args.without):
            command.warn(said)
        with command.keeping(self, args) as observe:
            path = measure.measure(way, document, out, observe, command.preparing)
        judged = self.judge(path)
        if args.markdown is not None:
            files.write(args.markdown, markdown.write(judged))
        site = app.published(out, (), command.left_out)
        return command.show(judged.at(path, site and site.parent / self.page(path)), args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Judge an upgrade again; its base is always the old server."""
        results = path.parents[1]
        return answer.answer(judge.read(UPGRADES.read(path), results, commands.out_of(results)))

    def answers(self, results: Path, skip: Skip) -> Iterator[tuple[str, Answer]]:
        """List the upgrades for pages, whose commands name no folder of this machine."""
        for path in reversed(UPGRADES.find(results)):
            with leaving_out(skip):
                yield self.id_of(path), answer.answer(judge.read(UPGRADES.read(path), results))


def _document(args: argparse.Namespace, results: Path) -> UpgradeDocument:
    """Take what was asked, and what is answered already. Raises InputError."""
    unknown = [part for part in args.without if part not in get_args(Part)]
    if unknown:
        raise InputError(f"--without {','.join(unknown)}: expected some of {', '.join(get_args(Part))}")
    asked = (args.old, args.new, args.settings, args.workload, args.workloads)
    if args.again is not None:
        if any(asked[2:]) or args.counted:
            raise InputError("--again DOC: expected no settings, workloads or count: DOC has them")
        servers, earlier = question.servers_again(args.again, asked[:2]), UPGRADES.read(args.again)
        asked = (*servers, earlier.settings, earlier.workload, earlier.workloads)
    elif not (args.old and args.new):
        raise InputError("expected OLD and NEW, or --again DOC")
    if args.resume:
        document = _unfinished(asked, results)
    else:
        again = args.again
        document = question.begin(*asked) if again is None else question.again(again, asked[:2], results)
    if args.counted is not None:
        question.require_counted(args.counted, document)
    return replace(document, budget_min=args.budget)


def _unfinished(asked: tuple[str, ...], results: Path) -> UpgradeDocument:
    """Find the newest upgrade of the same question. Raises InputError without one."""
    for each in UPGRADES.newest_first(results, command.left_out):
        if (*each.references, each.settings, each.workload, each.workloads) == asked:
            return each
    raise InputError(
        f"{results}: no upgrade from {asked[0]} to {asked[1]} to continue; leave out --resume to begin one"
    )


CAPABILITY = Upgrade()
