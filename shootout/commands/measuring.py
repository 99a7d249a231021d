"""`shootout run`, `gate` and `doctor`."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

from shootout import app, command, harness
from shootout.analysis import exit_codes, gate
from shootout.command import progress, show, warn
from shootout.conclusion import Prepared, Request
from shootout.errors import MeasureError
from shootout.inputs import texts
from shootout.inputs.options import (
    ACKNOWLEDGED,
    CHECK_RESULTS,
    COVERAGE,
    EXPLAIN,
    JUNIT_XML,
    MARKDOWN,
    MEASURING,
    OUT,
    WHAT,
)
from shootout.measure import results
from shootout.parser import Parser
from shootout.paths import cache_folder
from shootout.report import commands, listings

_OF_ONE_PAIR = tuple(option.name for option in MEASURING if option.name != "servers")


def _run(args: argparse.Namespace) -> int:
    return _checked(command.request(args), args)


def _gate(args: argparse.Namespace) -> int:
    return _checked(command.request(args, servers=f"{args.base},{args.head}"), args)


def _checked(request: Request, args: argparse.Namespace) -> int:
    prepared = app.prepare(request, command.preparing, command.left_out)
    command.outset(prepared.plan, prepared.results)
    unlike: list[str] = []
    if args.check_results:
        with progress() as observe:
            plan, unlike = results.checked(prepared.plan, observe)
        prepared = replace(prepared, plan=plan)
    code = _measured(prepared, args).code
    for line in unlike:
        warn(line)
    return exit_codes.worst([code, exit_codes.UNMEASURED]) if unlike else code


def _measured(prepared: Prepared, args: argparse.Namespace) -> harness.SuiteResult:
    """Run the suites, and print what they conclude; an interruption says how to continue."""
    try:
        result = harness.run(prepared)
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            goes_on = f"to continue: {commands.again(args.given, resume=True)}"
            raise KeyboardInterrupt(*interrupt.args, goes_on) from None
        raise
    if result.conclusion is not None:
        show(result.conclusion.answer, args)
    return result


def _doctor(args: argparse.Namespace) -> int:
    if args.calibrate is not None:
        code = _calibrate(args)
        if code not in app.JUDGED:
            return code
    data = cache_folder() if args.data is None else Path(args.data)
    policy = None if args.policy is None else texts.policy("--policy", args.policy)
    return show(listings.doctor(app.examine(args.out, data, args.profile, policy, command.left_out)), args)


def _calibrate(args: argparse.Namespace) -> int:
    def measured(request: Request) -> int:
        with redirect_stdout(sys.stderr):
            code, conclusion = _measured(app.prepare(request, command.preparing, command.left_out), args)
        late = code == MeasureError.exit_code and conclusion and not gate.has_failed(conclusion.comparison)
        return 0 if late else code  # as many cells as the budget allows

    request = command.request(args, servers=f"{args.calibrate},{args.calibrate}")
    return app.calibrate_noise(request, measured)


def declare_run(run: Parser) -> None:
    command.declare(run, _run)
    command.add_measuring(run, "quick")
    command.add_options(run, (EXPLAIN, COVERAGE, CHECK_RESULTS), type=str)
    command.add_options(run, (ACKNOWLEDGED, OUT, MARKDOWN, JUNIT_XML))


def declare_gate(gate: Parser) -> None:
    command.declare(gate, _gate)
    pair = command.below(gate, WHAT)
    pair.add_argument("--base", metavar="REF", required=True, help="the server to compare with")
    pair.add_argument("--head", metavar="REF", required=True, help="the server that may be slower")
    command.add_measuring(gate, "gate", _OF_ONE_PAIR)
    command.add_options(gate, (EXPLAIN, COVERAGE, CHECK_RESULTS), type=str)
    command.add_options(gate, (ACKNOWLEDGED, OUT, MARKDOWN, JUNIT_XML))


def declare_doctor(doctor: Parser) -> None:
    command.declare(doctor, _doctor)
    calibrate = "measure this server against itself, run after run, until the budget is spent"
    doctor.add_argument("--calibrate", metavar="SERVER", nargs="?", const="mysql-8.0.12", help=calibrate)
    command.add_measuring(doctor, "gate", _OF_ONE_PAIR)
    command.add_options(doctor, (ACKNOWLEDGED, OUT, MARKDOWN, JUNIT_XML))
