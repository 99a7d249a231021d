"""`shootout explain`: its command line and its documents."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shootout import app, command, steps
from shootout.answer import Answer
from shootout.capability import Capability
from shootout.document import journal
from shootout.errors import Skip, leaving_out
from shootout.explain import changed_cells, judge, measure, perf
from shootout.explain.documents import EXPLANATIONS
from shootout.inputs.options import ACKNOWLEDGED, EXPLAIN, OUT
from shootout.inputs.texts import load_acknowledged
from shootout.model.run import Observe
from shootout.parser import Parser

if TYPE_CHECKING:
    from shootout.report.site.answers import AnswerListPage

MINUTES = 4.0
BUDGET = replace(
    EXPLAIN,
    name="budget",
    help="minutes; measures again what is explained already (default: 4)",
    default=None,
)
SUSPECTS = ""  # in place of a setting to try


class Explain(Capability):
    """The functions, plans and settings that differ between the servers of a cell."""

    name = "explain"
    store = EXPLANATIONS

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
            cell = changed_cells.worst(steps.judge(path, args.acknowledged, command.left_out))
        else:
            cell = changed_cells.named(document, args.cell)
        question = measure.Question(document, cell, path.parent, tuple(args.try_ or ()))
        file = None if args.budget is not None or question.trials else changed_cells.known(question)
        if file is None:
            if lack := perf.lack():
                command.left_out(f"samples: {lack}")
            with command.keeping(self, args, acknowledged) as observe:
                file = _answered(question, args.budget or MINUTES, observe)
        else:
            command.warn(f"{cell.name} is explained already; --budget MIN measures it again")
        judged = changed_cells.answer(file, args.out)
        with leaving_out(command.left_out):
            site = app.publish(path.parent, out / "site", acknowledged, command.left_out)
            judged = judged.at(file, site)
        return command.show(judged, args)

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Evaluate an explanation again; its base is always that of its cell."""
        return changed_cells.answer(path)

    def listing(self, results: Path, skip: Skip) -> AnswerListPage | None:
        """Return None: explanations are sections of cells. Unreadable ones are named here, once."""
        for _ in EXPLANATIONS.newest_first(results, skip):
            pass
        return None


def _answered(question: measure.Question, budget_min: float, observe: Observe) -> Path:
    """Explain a cell; settings to try may be those of an explanation that is made first, in half the time."""
    if SUSPECTS in question.trials:
        budget_min /= 2
        first = judge.read(changed_cells.measured(replace(question, trials=()), budget_min, observe, {}))
        given = (trial for trial in question.trials if trial != SUSPECTS)
        question = replace(question, trials=(*given, *first.suspects))
    return changed_cells.measured(question, budget_min, observe, {})


CAPABILITY = Explain()
