"""`shootout reach`: its command line, its maps, and what it makes of a run's plan."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shootout import app, command
from shootout.capability import Capability, Executed, Skip
from shootout.errors import InputError
from shootout.inputs.options import MARKDOWN, RESULTS, WHAT, Option
from shootout.model.plan import Cell, block_key
from shootout.model.run import REMARK, Warning
from shootout.model.verdict import Comparison
from shootout.parser import Parser
from shootout.reach import diffs, documents, judge, page, report, symbols
from shootout.reach.diffs import Touches
from shootout.reach.documents import MAPS
from shootout.reach.values import MapDocument
from shootout.report.judged import Judged

if TYPE_CHECKING:
    from shootout.measure.plan import Plan
    from shootout.reach.judge import Reach as Reached
    from shootout.report.site.page import Listing

REACH = Option(
    "measure first and longest what a change can reach: a diff's file, or DIR:BASE..HEAD of a git repository "
    "(see `shootout reach`)",
    "DIFF",
    name="reach",
    about=WHAT,
)
_REVISIONS = re.compile(r"(.*):([^:]+?)\.\.([^:]+)")
LAST = 2  # of the places of cells: the change reaches none of their functions


class Reach(Capability):
    """Which statements execute what a change touches."""

    name = "reach"
    store = MAPS
    option = REACH

    def command(self, parser: Parser) -> None:
        """Declare `reach`."""
        command.declare(parser, self._run)
        parser.add_argument("--repo", metavar="DIR", type=Path, help="the git repository of the server")
        parser.add_argument("--base", metavar="REV", help="the revision before the change")
        parser.add_argument("--head", metavar="REV", help="the revision with the change")
        diff = "a diff in place of a repository: names are those that its hunks have"
        parser.add_argument("--diff", metavar="FILE", type=Path, help=diff)
        which = "the map that a count left (default: the newest of --results)"
        parser.add_argument("--map", metavar="DOC", type=Path, help=which)
        for side, when in (("base", "before"), ("head", "with")):
            binary = f"a program {when} the change, with debug information: where functions are inlined"
            parser.add_argument(f"--{side}-binary", metavar="FILE", type=Path, help=binary)
        command.add_options(parser, (RESULTS, MARKDOWN))

    def _run(self, args: argparse.Namespace) -> int:
        document = _newest(args.results) if args.map is None else MAPS.read(args.map)
        touches = _asked(args)
        if touches is None:
            judged = report.coverage(document)
        else:
            judged = report.judged(_reached(document, touches, (args.base_binary, args.head_binary)))
        if args.markdown is not None:
            app.write(args.markdown, judged.markdown)
        return command.show(judged, args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """What a map covers."""
        return report.coverage(MAPS.read(path))

    def page(self, path: Path) -> str:
        """The page of a map."""
        return page.path_of(MAPS.read(path).run)

    def listing(self, results: Path, runs: Sequence[Comparison], skip: Skip) -> Listing | None:
        """The pages of maps, the newest first."""
        return page.listing(MAPS.newest_first(results, skip))

    def executed(self, results: Path, run: str, started: str, servers: Sequence[Executed]) -> None:
        """Keep the map of a count."""
        if servers:
            MAPS.write(results, run, documents.of(run, started, servers))

    def planned(self, plan: Plan, wish: str, results: Path) -> Plan:
        """The plan with the cells first and longest that a change can reach, and remarks for its document."""
        document = _newest(results)
        reach = _reached(document, _touches(wish), (None, None))
        known = {kind.workload for kind in document.kinds}

        def place(cell: Cell) -> int:
            return 0 if cell.workload in reach.workloads else LAST if cell.workload in known else 1

        cells = sorted(plan.cells, key=place)
        text = report.of_run(reach, [*dict.fromkeys(cell.workload for cell in cells)], known)
        *_, head = plan.servers
        touched = (Warning(code="touched", text=each) for each in report.touched(reach))
        told = (*plan.told.get(head, ()), Warning(code=REMARK, text=text), *touched)
        last = frozenset(block_key(cell.workload, cell.threads) for cell in cells if place(cell) == LAST)
        return replace(plan, cells=tuple(cells), last=last, told={**plan.told, head: told})


def _newest(results: Path) -> MapDocument:
    """The newest map of a folder. Raises InputError without one."""
    document = next(MAPS.newest_first(results, command.left_out), None)
    if document is None:
        raise InputError(f"{results}: no map of functions; `shootout work` makes one")
    return document


def _asked(args: argparse.Namespace) -> Touches | None:
    """What the change touches; None: no change is given. Raises InputError."""
    revisions = [args.base, args.head]
    if args.diff is not None:
        if any((args.repo, *revisions)):
            raise InputError("--diff FILE stands alone; expected it, or --repo DIR --base REV --head REV")
        return _touches(str(args.diff))
    if args.repo is None and revisions == [None, None]:
        return None
    if None in revisions:
        raise InputError("expected --base REV and --head REV")
    return diffs.of_repository(args.repo or Path(), args.base, args.head)


def _touches(text: str) -> Touches:
    """What a change touches: a file, or DIR:BASE..HEAD. Raises InputError."""
    if not Path(text).is_file() and (match := _REVISIONS.fullmatch(text)):
        return diffs.of_repository(Path(match[1]), match[2], match[3])
    try:
        content = Path(text).read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{text}: cannot be read: {error.strerror}") from None
    try:
        return diffs.touches(diffs.parse(content))
    except InputError as error:
        raise InputError(f"{text}: {error}") from None


def _reached(document: MapDocument, touches: Touches, binaries: tuple[Path | None, Path | None]) -> Reached:
    """What a change reaches; programs before and after it say where functions are inlined."""
    inlined: dict[str, set[str]] = {}
    for side, binary in enumerate(binaries):
        if binary is not None:
            for name, hosts in symbols.hosts(binary, touches.functions, side).items():
                inlined.setdefault(name, set()).update(hosts)
    return judge.reach(document, touches, inlined)


CAPABILITY = Reach()
