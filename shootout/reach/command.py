"""`shootout reach`: its command line, its maps, and its remarks about a run."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shootout import command, files
from shootout.capability import Capability, Executed
from shootout.errors import InputError
from shootout.inputs.options import MARKDOWN, RESULTS, WHAT, Option
from shootout.model.run import REMARK, Warning
from shootout.parser import Parser
from shootout.reach import diffs, documents, judge, report
from shootout.reach.documents import MAPS
from shootout.reach.values import MapDocument
from shootout.report.judged import Judged

if TYPE_CHECKING:
    from shootout.measure.plan import Plan

REACH = Option(
    "name what executes the functions that BASE..HEAD changes in the git repository DIR (see `shootout "
    "reach`)",
    "DIR:BASE..HEAD",
    name="reach",
    about=WHAT,
)
_REVISIONS = re.compile(r"(.*):([^:]+?)\.\.([^:]+)")


class Reach(Capability):
    """Says which statements execute the functions that a change touches."""

    name = "reach"
    store = MAPS
    option = REACH

    def command(self, parser: Parser) -> None:
        """Declare `reach`."""
        command.declare(parser, self._run)
        parser.add_argument("--repo", metavar="DIR", type=Path, help="the git repository of the server")
        parser.add_argument("--base", metavar="REV", help="the revision before the change")
        parser.add_argument("--head", metavar="REV", help="the revision with the change")
        which = "the map that a count left (default: the newest of --results)"
        parser.add_argument("--map", metavar="DOC", type=Path, help=which)
        command.add_options(parser, (RESULTS, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        document = _newest(args.results) if args.map is None else MAPS.read(args.map)
        if (args.repo, args.base, args.head) == (None, None, None):
            judged = report.coverage(document)
        elif args.base is None or args.head is None:
            raise InputError("expected --base REV and --head REV")
        else:
            touches = diffs.of_repository(args.repo or Path(), args.base, args.head)
            judged = report.judged(judge.reach(document, touches))
        if args.markdown is not None:
            files.write(args.markdown, judged.markdown)
        return command.show(judged, args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """Say what a map covers."""
        return report.coverage(MAPS.read(path))

    def executed(self, results: Path, run: str, started: str, servers: Sequence[Executed]) -> None:
        """Keep the map of a count."""
        if servers:
            MAPS.write(results, run, documents.of(run, started, servers))

    def remarks(self, plan: Plan, wish: str, results: Path) -> Sequence[Warning]:
        """Say what the change reaches, and name the functions that it touches, with what executes each."""
        match = _REVISIONS.fullmatch(wish)
        if match is None:
            raise InputError(f"--reach {wish}: expected DIR:BASE..HEAD, a git repository and two revisions")
        document = _newest(results)
        reach = judge.reach(document, diffs.of_repository(Path(match[1]), match[2], match[3]))
        text = report.of_run(reach, [*dict.fromkeys(cell.workload for cell in plan.cells)])
        touched = (Warning(code="touched", text=each) for each in report.touched(reach))
        return (Warning(code=REMARK, text=text), *touched)


def _newest(results: Path) -> MapDocument:
    """Read the newest map of a folder. Raises InputError without one."""
    document = next(MAPS.newest_first(results, command.left_out), None)
    if document is None:
        raise InputError(f"{results}: no map of functions; `shootout work` makes one")
    return document


CAPABILITY = Reach()
