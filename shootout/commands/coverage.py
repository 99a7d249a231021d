"""`shootout coverage`: its command line and its maps."""

from __future__ import annotations

import argparse
from pathlib import Path

from shootout import command, files
from shootout.answer import Answer
from shootout.capability import Capability
from shootout.coverage import answer, diffs, documents, judge
from shootout.coverage.documents import MAPS
from shootout.errors import InputError
from shootout.inputs.options import MARKDOWN, RESULTS
from shootout.parser import Parser
from shootout.writers import markdown


class Coverage(Capability):
    """Says which statements execute the functions that a change touches."""

    name = "coverage"
    store = MAPS

    def command(self, parser: Parser) -> None:
        """Declare `coverage`."""
        command.declare(parser, self._run)
        parser.add_argument("--repo", metavar="DIR", type=Path, help="the git repository of the server")
        parser.add_argument("--base", metavar="REV", help="the revision before the change")
        parser.add_argument("--head", metavar="REV", help="the revision with the change")
        which = "the coverage map that a count left (default: the newest of --results)"
        parser.add_argument("--map", metavar="DOC", type=Path, help=which)
        command.add_options(parser, (RESULTS, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        document = (
            documents.newest(args.results, command.left_out) if args.map is None else MAPS.read(args.map)
        )
        if (args.repo, args.base, args.head) == (None, None, None):
            answered = answer.of_map(document)
        elif args.base is None or args.head is None:
            raise InputError("expected --base REV and --head REV")
        else:
            touches = diffs.of_repository(args.repo or Path(), args.base, args.head)
            answered = answer.answer(judge.coverage(document, touches))
        if args.markdown is not None:
            files.write(args.markdown, markdown.write(answered))
        return command.show(answered, args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Say what a map covers."""
        return answer.of_map(MAPS.read(path))


CAPABILITY = Coverage()
