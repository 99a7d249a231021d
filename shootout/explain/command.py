"""`shootout explain`: its command line, what it does after a run, and its section of a cell's page."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shootout import app, capability, command
from shootout.capability import Capability
from shootout.conclusion import Conclusion
from shootout.document import journal
from shootout.errors import InputError, MeasureError, Skip, leaving_out
from shootout.explain import cells, judge, measure, page, report
from shootout.explain.documents import EXPLANATIONS
from shootout.inputs import texts
from shootout.inputs.acknowledgements import load_acknowledged
from shootout.inputs.options import ACKNOWLEDGED, BUDGET_MAX_MIN, LONG, OUT, Option
from shootout.model.plan import Cell
from shootout.model.run import Observe
from shootout.model.verdict import Comparison
from shootout.parser import Parser
from shootout.report.figures import counted
from shootout.report.judged import Judged
from shootout.report.sections import Section

if TYPE_CHECKING:
    from shootout.report.site.page import Listing

EXPLAIN = Option(
    "find out why cells changed, within so many more minutes (see `shootout explain`)",
    "MIN",
    partial(texts.decimal, maximum=BUDGET_MAX_MIN),
    "explain",
    about=LONG,
)
BUDGET = replace(EXPLAIN, name="budget", help="minutes (default: 4)", default=4.0)
SUSPECTS = ""  # in place of a setting to try
CELL_MIN = 1.5  # minutes for a cell at least: three starts of two servers


class Explain(Capability):
    """The functions, plans and settings that differ between the servers of a cell."""

    name = "explain"
    store = EXPLANATIONS
    option = EXPLAIN

    def command(self, parser: Parser) -> None:
        """Declare `explain`."""
        command.declare(parser, self._run)
        which = "a run document, or the id of a run (default: the newest)"
        parser.add_argument("document", metavar="RUN", nargs="?", help=which)
        which = "WORKLOAD-tTHREADS, and -SERVER if the run has several heads (default: the worst regression)"
        parser.add_argument("cell", metavar="CELL", nargs="?", help=which)
        trial = (
            "measure the head with this setting, too (repeatable; without a value: the first three suspects)"
        )
        parser.add_argument(
            "--try", metavar="NAME=VALUE", dest="try_", action="append", nargs="?", const=SUSPECTS, help=trial
        )
        command.add_options(parser, (BUDGET, ACKNOWLEDGED, OUT))

    def _run(self, args: argparse.Namespace) -> int:
        out = args.out.resolve()
        path = journal.of_run(args.document, out / "results")
        document = journal.read(path)
        acknowledged = load_acknowledged(args.acknowledged)
        if args.cell is None:
            cell = cells.worst(app.judge(path, args.acknowledged, command.left_out))
        else:
            cell = cells.named(document, args.cell)
        question = measure.Question(document, cell, path.parent, tuple(args.try_ or ()))
        with command.progress() as observe:
            file = _answered(question, args.budget, observe)
        judged = _judged(file, args.out)
        with leaving_out(command.left_out):
            site = app.publish(path.parent, out / "site", acknowledged, command.left_out)
            judged = judged.at(file, site)
        return command.show(judged, args)

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """Evaluate an explanation again; its base is always that of its cell."""
        return _judged(path)

    def follow(self, conclusion: Conclusion, wish: float, observe: Observe, skip: Skip) -> None:
        """Explain what regressed, then what improved, within these minutes; `skip` receives what is not."""
        servers = {} if conclusion.prepared is None else conclusion.prepared.plan.servers
        passwords = {label: server.password for label, server in servers.items()}
        changed = cells.changed(conclusion.comparison)
        wanted = changed[: max(1, int(wish // CELL_MIN))]
        for left_out in changed[len(wanted) :]:
            skip(f"explanation of {left_out.name}: the budget allows {counted(len(wanted), 'cell')}")
        for cell in wanted:
            question = measure.Question(conclusion.document, cell, conclusion.path.parent)
            try:
                _measured(question, wish / len(wanted), observe, passwords)
            except (InputError, MeasureError) as error:
                skip(f"explanation of {cell.name}: {error}")
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a defect costs no other cell its explanation
                skip(f"explanation of {cell.name}: {type(error).__name__}: {error}")

    def listing(self, results: Path, runs: Sequence[Comparison], skip: Skip) -> Listing | None:
        """None: explanations are sections of cells. Those that cannot be read are named here, once."""
        for _ in EXPLANATIONS.newest_first(results, skip):
            pass
        return None

    def cell_section(self, results: Path, run: str, cell: Cell) -> Section | None:
        """What explains a cell's change, with what other capabilities know of its servers."""
        path = EXPLANATIONS.path_of_cell(results, run, cell.name)
        if not path.exists():
            return None
        explained = judge.read(path)
        if (explained.explanation.run, explained.explanation.cell) != (run, cell):
            raise InputError(f"{path}: not an explanation of this run's {cell.name}")
        return page.section(explained, _evidence(path, explained))


def _answered(question: measure.Question, budget_min: float, observe: Observe) -> Path:
    """Explain a cell; settings to try may be those of an explanation that is made first, in half the time."""
    if SUSPECTS in question.trials:
        budget_min /= 2
        first = judge.read(_measured(replace(question, trials=()), budget_min, observe, {}))
        given = (trial for trial in question.trials if trial != SUSPECTS)
        question = replace(question, trials=(*given, *first.suspects))
    return _measured(question, budget_min, observe, {})


def _measured(
    question: measure.Question, budget_min: float, observe: Observe, passwords: Mapping[str, str]
) -> Path:
    """Measure what explains a cell; returns the explanation's file. Raises InputError and MeasureError."""
    planned = measure.plan(question, 60 * budget_min, os.environ, passwords)
    return measure.explain(question, planned, observe)


def _judged(path: Path, out: Path | None = None) -> Judged:
    explained = judge.read(path)
    return report.judged(explained, _evidence(path, explained), out)


def _evidence(path: Path, explained: judge.Explained) -> tuple[Section, ...]:
    """What other capabilities know of the servers in an explanation's file."""
    return tuple(capability.evidence(path.parents[2], explained.header))


CAPABILITY = Explain()
