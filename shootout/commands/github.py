"""`shootout github`, for workflows."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from shootout import app, capability, command, steps
from shootout.bisect import since
from shootout.command import left_out
from shootout.errors import InputError
from shootout.inputs.options import ACKNOWLEDGED, ANCHOR, LINK, RESULTS
from shootout.model.history import Regression
from shootout.parser import Parser
from shootout.report import run_answer
from shootout.report.github import http, issues, markdown, request
from shootout.report.github.repository import Repository
from shootout.writers.markdown import write


def _github_annotate(args: argparse.Namespace) -> int:
    judged = (steps.judge(path, args.acknowledged, left_out) for path in args.documents)
    return command.print_lines(args, "done", [line for each in judged for line in markdown.annotate(each)])


def _github_comment(args: argparse.Namespace) -> int:
    repository, link = Repository.from_environment(os.environ), _link(args)
    if not repository.is_open(args.pull, args.branch, args.sha, args.into):
        asked = f"{args.branch} into {args.into} at {args.sha}"
        missing = f"{args.pull} is no open pull request of {asked}: nothing written"
        return command.print_lines(args, "done", [missing])
    if repository.may_change_workflows(args.pull, args.sha):
        body = markdown.refusal(link)
    else:
        runs, others = capability.by_owner(args.documents)
        pairs = [(path, steps.judge(path, args.acknowledged, left_out)) for path in runs]
        said = [run_answer.answer(each, app.sections(path, each, left_out)) for path, each in pairs]
        said += [owner.judge(path) for owner, paths in others.items() for path in paths]
        summaries = map(write, said)
        body = markdown.comment(summaries, args.into, link)
    written = repository.comment(
        args.pull, request.MARKER, lambda old: markdown.beside(old, body, args.run_id)
    )
    return command.print_lines(args, "done", [written["html_url"]])


def _github_issues(args: argparse.Namespace) -> int:
    repository, link = Repository.from_environment(os.environ), _link(args)
    unread: list[str] = []
    found = app.open_regressions(args.results, args.anchor, args.acknowledged, unread.append)
    for reason in unread:
        left_out(reason)
    found = tuple(each for each in found if args.regression in ("", each.issue))

    def origin(regression: Regression) -> issues.Origin | None:
        try:
            return since.origin(args.results, regression)
        except InputError as error:
            left_out(str(error))
            return None

    done = issues.sync(
        repository, found, link, complete=not unread, origin=origin, hold=args.hold, only=args.regression
    )
    return command.print_lines(args, "done", list(done))


def _link(args: argparse.Namespace) -> str | None:
    return None if args.link is None else http.checked_url("--link", args.link)


def declare_github(github: Parser) -> None:
    steps = command.group(github)
    annotate = command.add(steps, "annotate", _github_annotate, "print the annotations of runs")
    comment = command.add(steps, "comment", _github_comment, "write or update a pull request's comment")
    comment.add_argument("--branch", metavar="OWNER:NAME", required=True, help="the pull request's branch")
    measured = "the commit that was measured; a newer one gets no comment"
    comment.add_argument("--sha", metavar="SHA", required=True, help=measured)
    comment.add_argument("--pull", metavar="N", type=int, required=True, help="the pull request's number")
    into = "the branch that it was measured against; a pull request into another one gets no comment"
    comment.add_argument("--into", metavar="NAME", required=True, help=into)
    waited = "the workflow run that measured; what announces another one stays"
    comment.add_argument("--run", metavar="ID", dest="run_id", required=True, help=waited)
    issues_ = command.add(
        steps, "issues", _github_issues, "open, update and close the issues about regressions"
    )
    hold = "open only those whose commit, or commits, were found"
    issues_.add_argument("--hold", action="store_true", help=hold)
    only = "the key of the only regression whose issue is updated, from the issue's first line"
    issues_.add_argument("--regression", metavar="KEY", default="", help=only)
    command.add_options(issues_, (RESULTS, ANCHOR))
    for each in (annotate, comment):
        each.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    for each in (comment, issues_):
        command.add_options(each, (LINK,))
    for each in (annotate, comment, issues_):
        command.add_options(each, (ACKNOWLEDGED,))
