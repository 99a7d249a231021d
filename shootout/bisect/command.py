"""`shootout bisect`: its command line, its documents and its pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from shootout import capability, command
from shootout.bisect import counts, judge, measure, page, report
from shootout.bisect.documents import BISECTIONS, runs
from shootout.bisect.values import Answer, Revision
from shootout.capability import Capability, Instrument, Skip
from shootout.errors import InputError
from shootout.inputs.options import MARKDOWN, MEASURING, OUT
from shootout.model.verdict import Comparison
from shootout.parser import Parser
from shootout.report.github import http
from shootout.report.judged import Judged
from shootout.servers import builds

if TYPE_CHECKING:
    from shootout.measure.plan import Plan
    from shootout.report.site.page import Listing

PROFILE = "bisect"


class Bisect(Capability):
    """The change that made a server slower."""

    name = "bisect"
    store = BISECTIONS

    def command(self, parser: Parser) -> None:
        """Declare `bisect`."""
        command.declare(parser, self._run)
        over = "servers in the order of their age, the oldest first: the base"
        parser.add_argument("--over", metavar="A,B,…", help=over)
        parser.add_argument("--repo", metavar="DIR", help="a git repository whose commits are servers")
        parser.add_argument("--good", metavar="REV", help="the commit to compare with")
        parser.add_argument("--bad", metavar="REV", help="a later commit, which may be slower")
        for instrument in _instruments():
            exact = f"compare {instrument.title} instead of time; needs no quiet machine"
            flag = f"--{instrument.name}"
            parser.add_argument(flag, dest="instrument", action="store_const", const=instrument, help=exact)
        parser.set_defaults(instrument=None)
        url = "address of a commit, with {commit} in it, for pages and --markdown"
        parser.add_argument("--url", metavar="TEMPLATE", default="", help=url)
        names = (option.name for option in MEASURING if option.name not in ("servers", "shard"))
        command.add_measuring(parser, PROFILE, names)
        command.add_options(parser, (OUT, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        versions, named = args.over is not None, (args.repo, args.good, args.bad)
        if versions == (named != (None, None, None)) or (not versions and None in named):
            raise InputError("expected --over A,B,…, or --repo DIR --good REV --bad REV --build CMD")
        link = http.checked_url("--url", args.url) if args.url else ""
        commits = () if versions else builds.history(*named)
        instrument: Instrument | None = args.instrument
        prepared = command.prepare(
            args,
            servers=args.over if versions else ",".join(_reference(args.repo, commit) for commit in commits),
            profile=instrument.profile if instrument and args.profile == PROFILE else args.profile,
        )
        question = _question(prepared.plan, commits, link, instrument)
        with command.progress() as observe:
            try:
                path = measure.bisect(question, prepared.results, observe)
            except KeyboardInterrupt:
                kept = "what was built and measured is kept, and --resume goes on"
                raise KeyboardInterrupt(kept) from None
        return command.conclude(self, path, prepared, args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """Judge a bisection; its base is always its first revision."""
        return report.judged(_answer(path))

    def page(self, path: Path) -> str:
        """The page of a bisection."""
        return page.path_of(BISECTIONS.read(path).id)

    def listing(self, results: Path, runs: Sequence[Comparison], skip: Skip) -> Listing | None:
        """The pages of bisections, the newest first."""
        return page.listing(_answers(results, skip))


def _instruments() -> Iterator[Instrument]:
    for other in capability.every():
        if other.instrument is not None:
            yield other.instrument


def _reference(repository: str, commit: builds.Commit) -> str:
    return f"{commit.hash[:10]}=git:{repository}#{commit.hash}"


def _question(
    plan: Plan, commits: Sequence[builds.Commit], link: str, instrument: Instrument | None
) -> measure.Question:
    """The history of a plan's servers, or of commits, which the servers are built of. Raises InputError."""
    build = plan.profile.build or None
    if commits and build is None:
        raise InputError("--repo: expected --build CMD, the command that builds a commit")
    if len(plan.blocks) != 1 or len(plan.servers) < 2:
        raise InputError("a bisection takes one workload, one number of threads, and two servers or more")
    revisions = [
        Revision(label=label, server=server.reference.text) for label, server in plan.servers.items()
    ]
    if not commits:
        return measure.Question(plan, tuple(revisions), None, link, instrument)
    described = (
        structs.replace(
            revision,
            commit=commit.hash,
            parents=commit.parents,
            author=commit.author,
            date=commit.date,
            subject=commit.subject,
        )
        for revision, commit in zip(revisions, commits, strict=True)
    )
    return measure.Question(plan, tuple(described), build, link, instrument)


def _answer(path: Path) -> Answer:
    """What a bisection says. Raises InputError."""
    bisection = BISECTIONS.read(path)
    if not bisection.is_exact:
        return judge.Timed(bisection, runs(path.parent)).answer
    for instrument in _instruments():
        if instrument.name == bisection.instrument:
            counted = instrument.counted(path.parent, bisection.revisions[0].label)
            return counts.Halved(bisection, counted, instrument.title).answer
    raise InputError(f"{path}: bisected by {bisection.instrument!r}, which this shootout does not have")


def _answers(results: Path, skip: Skip) -> Iterator[Answer]:
    """What the bisections of a folder say, the newest first."""
    for path in reversed(BISECTIONS.find(results)):
        try:
            yield _answer(path)
        except InputError as error:
            skip(str(error))


CAPABILITY = Bisect()
