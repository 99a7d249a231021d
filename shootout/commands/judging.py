"""`shootout merge`, `compare`, `baseline`, `history` and `site`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from shootout import app, capability, command, figures, steps
from shootout.analysis import baseline, exit_codes
from shootout.command import console, left_out, show, warn
from shootout.count import answer as count_answer
from shootout.count import judge as counts
from shootout.count.documents import COUNTS, joined
from shootout.document import journal
from shootout.errors import InputError
from shootout.inputs.options import ACKNOWLEDGED, ANCHOR, OUT, RESULTS
from shootout.inputs.texts import load_acknowledged
from shootout.parser import Parser
from shootout.paths import FIXTURES, IS_CHECKOUT, REPORTS
from shootout.report import commands, listings, run_answer
from shootout.writers import terminal

BASELINES = FIXTURES / "baselines"
RUN = "a document, or the id of a run in reports/results"


def _merge(args: argparse.Namespace) -> int:
    known = load_acknowledged(args.acknowledged)  # its errors come before any work
    given = [journal.of_run(document, REPORTS / "results") for document in args.documents]
    runs, others = capability.by_owner(given)
    codes = []
    if runs:
        codes.append(show(app.merged(runs, args.out.resolve(), args.acknowledged, left_out).answer, args))
    for owner, paths in others.items():
        if owner.store is not COUNTS:
            raise InputError(
                f"{paths[0]}: documents of `shootout {owner.name}` cannot be joined; pass one at a time"
            )
        out, count = args.out.resolve(), joined(paths)
        path = COUNTS.write(out / "results", count.run, count)
        page = app.published(out, known, left_out)
        codes.append(show(owner.judge(path).at(path, page and page.parent / owner.page(path)), args))
    return exit_codes.worst(codes)


def _compare(args: argparse.Namespace) -> int:
    documents = dict.fromkeys(journal.of_run(document, REPORTS / "results") for document in args.documents)
    runs, others = capability.by_owner(documents)
    judged = [owner.judge(path, args.base).at(path) for owner, paths in others.items() for path in paths]
    codes = [show(each, args) for each in judged]
    comparisons = [steps.judge(path, args.acknowledged, left_out, args.base, args.baseline) for path in runs]
    same = args.base is None and args.baseline is None  # as what its explanations explain
    for path, comparison in zip(runs, comparisons, strict=True):
        known = app.sections(path, comparison, left_out) if same and not args.json else {}
        said = run_answer.answer(comparison, known, out=commands.out_of(path.parent))
        codes.append(show(said.at(path), args))
    return exit_codes.worst(codes)


def _baseline_accept(args: argparse.Namespace) -> int:
    document = journal.of_run(args.document, REPORTS / "results")
    stored = app.accept(document, args.to, args.anchor, warn, force=args.force)
    if args.json:
        return command.print_lines(args, "accepted", [str(path) for path in stored])
    for path, accepted in stored.items():
        lines_of = [str(path)]
        for cell in accepted.cells:
            name = f"{accepted.workload.name}, {figures.threads(cell.threads)}: {cell.server}"
            lines_of.append(f"    {name} is {baseline.ratio_text(cell, accepted.anchor)}")
            lines_of += [f"    {baseline.advising(cell)}"] if baseline.advising(cell) else []
        for line in lines_of:
            terminal.say(console(), line)
    return 0


def _history(args: argparse.Namespace) -> int:
    measured = app.series(args.results, args.anchor, left_out)
    counted = counts.history(
        counts.compare(document) for document in COUNTS.newest_first(args.results, left_out)
    )
    if not (measured or counted):
        raise app.nothing(args.results, args.anchor)
    if args.json:
        print(msgspec.json.encode([*measured, *counted]).decode())
        return 0
    if measured:
        terminal.write(console(), listings.history(measured))
    if (topic := count_answer.history(counted)) is not None:
        terminal.write_topic(console(), topic)
    return 0


def _site(args: argparse.Namespace) -> int:
    acknowledged = load_acknowledged(args.acknowledged)
    publish, out = (app.publish, args.out) if args.single is None else (app.publish_single, args.single)
    page = publish(args.results, out, acknowledged, left_out, front=args.front)
    print(msgspec.json.encode({"page": str(page)}).decode() if args.json else page.resolve().as_uri())
    return 0


def declare_merge(merge: Parser) -> None:
    command.declare(merge, _merge)
    merge.add_argument("documents", metavar="RUN", nargs="+", help=RUN)
    command.add_options(merge, (OUT, ACKNOWLEDGED))


def declare_compare(compare: Parser) -> None:
    command.declare(compare, _compare)
    compare.add_argument("documents", metavar="RUN", nargs="+", help=RUN)
    compare.add_argument("--base", metavar="SERVER", help="the label to compare with (default: the first)")
    baselines = "compare with stored baselines instead: a file or a folder; --base is the anchor"
    compare.add_argument("--baseline", metavar="PATH", type=Path, help=baselines)
    command.add_options(compare, (ACKNOWLEDGED,))


def declare_baseline(baseline: Parser) -> None:
    accept = command.add(
        command.group(baseline), "accept", _baseline_accept, "store a run's results as baselines"
    )
    accept.add_argument("document", metavar="RUN", help=RUN)
    to = "where baselines are stored (default: a checkout's fixtures/baselines)"
    place: dict[str, Any] = {"default": BASELINES} if IS_CHECKOUT else {"required": True}
    accept.add_argument("--to", metavar="DIR", type=Path, help=to, **place)
    accept.add_argument(
        "--force", action="store_true", help="accept a run that is far from the accepted ones"
    )
    command.add_options(accept, (ANCHOR,))


def declare_history(history: Parser) -> None:
    command.declare(history, _history)
    command.add_options(history, (RESULTS, ANCHOR))


def declare_site(site: Parser) -> None:
    command.declare(site, _site)
    site.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=REPORTS / "site",
        help="folder for the pages (default: reports/site)",
    )
    alone = "write the first page as one file instead, with all that it needs"
    site.add_argument("--single", metavar="FILE", type=Path, help=alone)
    first = "profile whose newest run is on the first page (default: the newest run of all)"
    site.add_argument("--front", metavar="PROFILE", help=first)
    command.add_options(site, (RESULTS, ACKNOWLEDGED))
