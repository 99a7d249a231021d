"""`shootout bisect`: its command line, its documents and its pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from shootout import app, command
from shootout.answer import Answer
from shootout.bisect import answer, measure, proof, since
from shootout.bisect.documents import BISECTIONS
from shootout.bisect.values import Revision
from shootout.capability import Capability
from shootout.count import instrument as counting
from shootout.count.instrument import Callgrind
from shootout.errors import InputError, Skip
from shootout.inputs import texts
from shootout.inputs.options import ACKNOWLEDGED, ANCHOR, EXPLAIN, MARKDOWN, MEASURING, OUT
from shootout.parser import Parser
from shootout.report import commands
from shootout.report.github import http
from shootout.servers.sources import builds
from shootout.writers import markdown

if TYPE_CHECKING:
    from shootout.measure.plan import Plan

PROFILE = "bisect"


class Bisect(Capability):
    """The change that made a server slower."""

    name = "bisect"
    store = BISECTIONS
    folder = "bisections"
    title = "Bisections"
    about = "Since which version or commit servers are slower or faster."
    columns = ("begun",)

    def command(self, parser: Parser) -> None:
        """Declare `bisect`."""
        command.declare(parser, self._run)
        over = "servers in the order of their age, the oldest first: the base"
        parser.add_argument("--over", metavar="A,B,…", help=over)
        parser.add_argument("--repo", metavar="DIR", help="a git repository whose commits are servers")
        parser.add_argument("--good", metavar="REV", help="the commit to compare with")
        parser.add_argument("--bad", metavar="REV", help="a later commit, which may be slower")
        exact = f"compare {counting.CALLGRIND.title} instead of time; needs no quiet machine"
        flag = f"--{counting.CALLGRIND.name}"
        parser.add_argument(
            flag, dest="instrument", action="store_const", const=counting.CALLGRIND, help=exact
        )
        since = "bisect the regressions that the history confirms, by instructions, then by time"
        parser.add_argument("--since-history", action="store_true", help=since)
        worst = "with --since-history: bisect at most N open regressions, the worst first (default: 1)"
        parser.add_argument("--regressions", metavar="N", default=1, type=_count, help=worst)
        key = "with --since-history: the regression of this key alone, from an issue's first line"
        parser.add_argument("--regression", metavar="KEY", default="", help=key)
        url = "address of a commit, with {commit} in it, for pages and --markdown"
        parser.add_argument("--url", metavar="TEMPLATE", default="", help=url)
        names = (option.name for option in MEASURING if option.name not in ("servers", "shard"))
        command.add_measuring(parser, PROFILE, names)
        command.add_options(parser, (OUT, MARKDOWN, ANCHOR, ACKNOWLEDGED))
        command.add_options(parser, (EXPLAIN,), type=str)
        history = "with --since-history: the folder of the history's runs (default: results/ in --out)"
        parser.add_argument("--results", metavar="DIR", type=Path, help=history)

    def _run(self, args: argparse.Namespace) -> int:
        if args.since_history:
            return self._since_history(args)
        versions, named = args.over is not None, (args.repo, args.good, args.bad)
        if versions == (named != (None, None, None)) or (not versions and None in named):
            raise InputError("expected --over A,B,…, or --repo DIR --good REV --bad REV --build CMD")
        link = http.checked_url("--url", args.url) if args.url else ""
        commits = () if versions else builds.history(*named)
        instrument: Callgrind | None = args.instrument
        prepared = command.prepare(
            args,
            servers=args.over if versions else proof.of_commits(args.repo, commits),
            profile=instrument.profile if instrument and args.profile == PROFILE else args.profile,
        )
        if prepared.request.explain is not None:
            raise InputError(f"{EXPLAIN.flag}: expected --since-history")
        question = _question(prepared.plan, commits, instrument, link)
        with command.keeping(self, args, prepared.acknowledged) as observe:
            path = measure.bisect(question, prepared.results, observe)
        return command.conclude(self, path, prepared, args)

    def _since_history(self, args: argparse.Namespace) -> int:
        others = {args.over, args.good, args.bad}
        if args.repo is None or others != {None} or (args.build is None and args.profile == PROFILE):
            raise InputError(
                "--since-history: expected --repo DIR and --build CMD, and no servers or commits"
            )
        link = http.checked_url("--url", args.url) if args.url else ""
        args.resume, args.profile = True, None if args.profile == PROFILE else args.profile
        request = command.request(args, profile=args.profile or PROFILE)
        results = args.results or request.out / "results"
        lost = app.open_regressions(results, args.anchor, request.acknowledged, command.left_out)
        wanted = [each for each in lost if args.regression in ("", each.issue)]
        instruments = (args.instrument,) if args.instrument else (counting.CALLGRIND, None)
        acknowledged = texts.load_acknowledged(request.acknowledged)
        with command.keeping(self, args, acknowledged) as observe:
            ask = partial(_question, link=link)
            budget_min = request.selection.budget or since.BUDGET_MIN
            search = since.Search(
                args, budget_min, instruments, ask, observe, request.explain,
                report=command.preparing, skip=command.left_out,
            )  # fmt: skip
            paths = search.run(wanted)
        for each in wanted:
            if each.good_commit and each.good_commit == each.bad_commit:
                command.warn(f"{each.workload}, {each.threads} threads: {since.not_in_server(each)}")
        judged = answer.joined([self.judge(path) for path in paths], search.failed)
        request.write_markdown(markdown.write(judged), command.left_out)
        if paths:
            app.published(request.out, acknowledged, command.left_out)
        return command.show(judged, args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Judge a bisection; its base is always its first revision."""
        return answer.answer(proof.read(path), commands.out_of(path.resolve().parents[2]))

    def id_of(self, path: Path) -> str:
        """Return the id of a bisection, which its folder has."""
        return path.parent.name

    def answers(self, results: Path, skip: Skip) -> Iterator[tuple[str, Answer]]:
        """List all bisections."""
        for each in proof.every(results, skip):
            yield each.bisection.id, answer.answer(each)


def _count(text: str) -> int:
    return texts.integer("--regressions", text, range(1, 1000))


def _question(
    plan: Plan, commits: Sequence[builds.Commit], instrument: Callgrind | None, link: str
) -> measure.Question:
    """Read the history of a plan's servers, or of commits that servers are built of. Raises InputError."""
    build = plan.profile.build or None
    if commits and build is None:
        raise InputError("--repo: expected --build CMD, the command that builds a commit")
    if len(plan.blocks) != 1 or len(plan.servers) < 2:
        raise InputError("a bisection needs one workload, one number of threads, and at least two servers")
    revisions = [
        Revision(label=label, server=server.reference.text) for label, server in plan.servers.items()
    ]
    if not commits:
        return measure.Question(plan, tuple(revisions), None, link, instrument)
    pairs = zip(revisions, commits, strict=True)
    described = tuple(structs.replace(revision, **vars(commit)) for revision, commit in pairs)
    return measure.Question(plan, described, build, link, instrument)


CAPABILITY = Bisect()
