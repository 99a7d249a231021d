"""The command line: parses arguments, calls the application, prints. Exit codes: docs/cli.md."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import msgspec
from rich.console import Console

from shootout import __version__, app, capability, command, harness
from shootout.analysis import baseline, exit_codes, gate
from shootout.app import Request
from shootout.capability import Capability
from shootout.command import Commands, Parser, console, left_out, progress, show, warn
from shootout.errors import InputError, MeasureError
from shootout.inputs import matrix, texts, workload
from shootout.inputs.acknowledgements import load_acknowledged
from shootout.inputs.options import (
    ACKNOWLEDGED,
    ANCHOR,
    CHECK_RESULTS,
    JUNIT_XML,
    LINK,
    MARKDOWN,
    MEASURING,
    OUT,
    RESULTS,
)
from shootout.measure import results, session
from shootout.model.plan import Build
from shootout.model.verdict import Comparison
from shootout.paths import FIXTURES, REPORTS, cache_folder
from shootout.report import figures, lines, listings, terminal
from shootout.report.github import http, issues, markdown
from shootout.report.github.repository import Repository
from shootout.servers import cache, catalogue, dsn, pack, reference

BASELINES = FIXTURES / "baselines"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        args, unknown = parser().parse_known_args(arguments)
        if unknown:
            args.parser.reject(unknown)
        code: int = args.run(args)
    except (InputError, MeasureError) as error:
        warn(dsn.redacted(str(error)))  # it may quote a password from the arguments
        return error.exit_code
    except KeyboardInterrupt:
        return harness.INTERRUPTED
    except Exception:  # a defect: Python's own exit code, 1, would read as "something regressed"
        traceback.print_exc()
        return MeasureError.exit_code
    return code


# --- commands -------------------------------------------------------------------------------------


def _run(args: argparse.Namespace) -> int:
    return _checked(command.request(args), args)


def _gate(args: argparse.Namespace) -> int:
    return _checked(command.request(args, servers=f"{args.base},{args.head}"), args)


def _checked(request: Request, args: argparse.Namespace) -> int:
    """Run the suites; before them, compare results if that was asked for."""
    prepared = app.prepare(request, command.preparing)
    unlike: list[str] = []
    if args.check_results:
        with progress() as observe:
            try:
                unlike += map(str, results.compared(prepared.plan, observe))
            except MeasureError as error:
                unlike.append(f"results are not compared: {error}")
    code = _measured(prepared, args).code
    for line in unlike:
        warn(line)
    return code


def _measured(prepared: app.Prepared, args: argparse.Namespace) -> harness.SuiteResult:
    """Run the suites, and print what they conclude."""
    result = harness.run(prepared)
    if result.conclusion is not None:
        harness.show(result.conclusion, json=args.json)
    return result


def _doctor(args: argparse.Namespace) -> int:
    if args.calibrate is not None:
        code = _calibrate(args)
        if code not in app.JUDGED:
            return code
    data = cache_folder() if args.data is None else Path(args.data)
    policy = None if args.policy is None else texts.policy("--policy", args.policy)
    return show(listings.doctor(app.examine(args.out, data, args.profile, policy)), args)


def _calibrate(args: argparse.Namespace) -> int:
    def measured(request: Request) -> int:
        with redirect_stdout(sys.stderr):
            code, conclusion = _measured(app.prepare(request, command.preparing), args)
        late = code == MeasureError.exit_code and conclusion and not gate.has_failed(conclusion.comparison)
        return 0 if late else code  # as many cells as the budget allows

    request = command.request(args, servers=f"{args.calibrate},{args.calibrate}")
    return app.calibrate_noise(request, measured)


def _merge(args: argparse.Namespace) -> int:
    runs, others = _by_owner(args.documents)
    codes = [_merge_runs(args, runs)] if runs else []
    for owner, paths in others.items():
        out = args.out.resolve()
        path = owner.merge(paths, out / "results")
        page = app.published(out, load_acknowledged(args.acknowledged), left_out)
        codes.append(show(owner.judge(path).at(path, page and page.parent / owner.page(path)), args))
    return exit_codes.worst(codes)


def _by_owner(documents: Sequence[Path]) -> tuple[list[Path], dict[Capability, list[Path]]]:
    """The documents of runs, and those of capabilities."""
    runs: list[Path] = []
    others: dict[Capability, list[Path]] = {}
    for path in documents:
        owner = capability.owner(path)
        (runs if owner is None else others.setdefault(owner, [])).append(path)
    return runs, others


def _compare(args: argparse.Namespace) -> int:
    runs, others = _by_owner(args.documents)
    judged = [owner.judge(path, args.base).at(path) for owner, paths in others.items() for path in paths]
    codes = [show(each, args) for each in judged]
    comparisons = [app.judge(path, args.acknowledged, args.base, args.baseline) for path in runs]
    for path, comparison in zip(runs, comparisons, strict=True):
        if args.json:
            print(app.as_json(comparison, document=path).decode())
        else:
            same = args.base is None and args.baseline is None  # as what its explanations explain
            known = app.sections(path, comparison, left_out) if same else {}
            terminal.show(console(), lines.verdicts(comparison, known))
    return exit_codes.worst([*codes, *map(gate.exit_code, comparisons)])


def _merge_runs(args: argparse.Namespace, measured: Sequence[Path]) -> int:
    merged = app.merged(measured, args.out.resolve(), args.acknowledged, left_out)
    harness.show(merged, json=args.json)
    return merged.exit_code


def _baseline_accept(args: argparse.Namespace) -> int:
    stored = app.accept(args.document, args.to, args.anchor)
    if args.json:
        return _print_lines(args, "accepted", [str(path) for path in stored])
    for path, accepted in stored.items():
        print(path)
        for cell in accepted.cells:
            name = f"{accepted.workload.name}, {figures.threads(cell.threads)}: {cell.server}"
            print(f"    {name} is {baseline.ratio_text(cell, accepted.anchor)}")
    return 0


def _history(args: argparse.Namespace) -> int:
    measured = app.series(args.results, args.anchor, left_out)
    histories = [listings.history(measured)] if measured else []
    histories += filter(None, (each.history(args.results, left_out) for each in capability.every()))
    if not histories:
        raise app.nothing(args.results, args.anchor)
    if args.json:
        values = [series for history in histories for series in history.value["series"]]
        print(msgspec.json.encode(values).decode())
        return 0
    for history in histories:
        terminal.show(console(), history.text)
    return 0


def _site(args: argparse.Namespace) -> int:
    acknowledged = load_acknowledged(args.acknowledged)
    publish, out = (app.publish, args.out) if args.single is None else (app.publish_single, args.single)
    page = publish(args.results, out, acknowledged, left_out, front=args.front)
    print(msgspec.json.encode({"page": str(page)}).decode() if args.json else page.resolve().as_uri())
    return 0


def _github_annotate(args: argparse.Namespace) -> int:
    return _print_lines(args, "done", [line for each in _judged(args) for line in markdown.annotate(each)])


def _github_comment(args: argparse.Namespace) -> int:
    repository, link = Repository.of(os.environ), _link(args)
    number = repository.pull(args.branch, args.sha)
    if number is None:
        missing = f"no open pull request of {args.branch} is at {args.sha}: nothing written"
        return _print_lines(args, "done", [missing])
    if repository.may_change_workflows(number, args.sha):
        body = markdown.refusal(link)
    else:
        runs, others = _by_owner(args.documents)
        pairs = [(path, app.judge(path, args.acknowledged)) for path in runs]
        summaries = [markdown.summary(each, app.sections(path, each, left_out)) for path, each in pairs]
        summaries += [owner.judge(path).markdown for owner, paths in others.items() for path in paths]
        body = markdown.comment(summaries, link)
    return _print_lines(args, "done", [repository.comment(number, markdown.MARKER, body)])


def _github_issues(args: argparse.Namespace) -> int:
    repository, link = Repository.of(os.environ), _link(args)
    unread: list[str] = []
    found = app.open_regressions(args.results, args.anchor, args.acknowledged, unread.append)
    for reason in unread:
        left_out(reason)
    done = issues.sync(repository, found, link, complete=not unread)
    return _print_lines(args, "done", list(done))


def _cache_list(args: argparse.Namespace) -> int:
    return show(listings.cache(cache.contents(cache_folder(), cache.limit_bytes(os.environ))), args)


def _cache_clear(args: argparse.Namespace) -> int:
    return show(listings.cleared(cache.clear(cache_folder())), args)


def _profiles_list(args: argparse.Namespace) -> int:
    return show(listings.descriptions(matrix.shipped()), args)


def _workloads_list(args: argparse.Namespace) -> int:
    return show(listings.descriptions(workload.shipped()), args)


def _servers_list(args: argparse.Namespace) -> int:
    return show(listings.servers(catalogue.offers(cache_folder())), args)


def _servers_fetch(args: argparse.Namespace) -> int:
    return _fetch(args, None)


def _servers_build(args: argparse.Namespace) -> int:
    return _fetch(args, Build(command=args.build, tree=args.tree))


def _fetch(args: argparse.Namespace, build: Build | None) -> int:
    fetched = []
    for each in [reference.parse(text) for text in args.references]:
        with terminal.fetching(Console(stderr=True)) as report:
            fetched.append(app.fetch(each, report, build))
        if not args.json:
            terminal.show(console(), [listings.fetched(fetched[-1])])
    if args.json:
        print(msgspec.json.encode(fetched).decode())
    return 0


def _servers_pack(args: argparse.Namespace) -> int:
    pack.pack(args.directory, args.file, args.commit)
    return _print_lines(args, "done", [str(args.file)])


def _servers_unpack(args: argparse.Namespace) -> int:
    pack.unpack(args.file, args.directory)
    return _print_lines(args, "done", [str(args.directory)])


def _servers_start(args: argparse.Namespace) -> int:
    with session.running(reference.parse(args.reference), args.settings, args.port) as instance:
        show(listings.access(args.reference, session.endpoint(instance)), args)
        sys.stdout.flush()
        session.until_interrupted(instance)
    return 0


def _judged(args: argparse.Namespace) -> list[Comparison]:
    return [app.judge(path, args.acknowledged) for path in args.documents]


def _link(args: argparse.Namespace) -> str | None:
    return None if args.link is None else http.checked_url("--link", args.link)


# --- output ---------------------------------------------------------------------------------------


def _print_lines(args: argparse.Namespace, key: str, lines: Sequence[str]) -> int:
    print(msgspec.json.encode({key: lines}).decode() if args.json else "\n".join(lines))
    return 0


# --- arguments ------------------------------------------------------------------------------------


def parser() -> Parser:
    """All commands with their options; the source of docs/cli.md."""
    top = Parser(
        prog="shootout",
        description="Is this MySQL-family server slower than that one, by how much, and how sure are we?",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"shootout {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_measuring(commands)
    for each in capability.every():
        each.command(commands)
    _add_judging(commands)
    _add_reporting(commands)
    _add_cache(command.group(commands, "cache", "list or clear fetched servers and loaded datasets"))
    _add_servers(command.group(commands, "servers", "list, fetch or start servers"))
    profiles = command.group(commands, "profiles", "list what runs can measure")
    command.add(profiles, "list", _profiles_list, "show the profiles that come with shootout")
    workloads = command.group(commands, "workloads", "list the load that servers can be put under")
    command.add(workloads, "list", _workloads_list, "show the workloads that come with shootout")
    return top


def _add_measuring(commands: Commands) -> None:
    run = command.add(commands, "run", _run, "measure servers and publish the report")
    command.add_measuring(run, "quick")
    gate = command.add(
        commands, "gate", _gate, "measure one pair of servers; exit with 1 if the head is slower"
    )
    gate.add_argument("--base", metavar="REF", required=True, help="the server to compare with")
    gate.add_argument("--head", metavar="REF", required=True, help="the server that may be slower")
    doctor = command.add(commands, "doctor", _doctor, "examine this machine: what disturbs it, and its noise")
    calibrate = "measure this server against itself, run after run, until the budget is spent"
    doctor.add_argument("--calibrate", metavar="SERVER", nargs="?", const="mysql-8.0.12", help=calibrate)
    for each in (gate, doctor):
        command.add_measuring(each, "gate", (option.name for option in MEASURING if option.name != "servers"))
    for each in (run, gate):
        command.add_options(each, (*capability.options(), CHECK_RESULTS), type=str)
    for each in (run, gate, doctor):
        command.add_options(each, (ACKNOWLEDGED, OUT, MARKDOWN, JUNIT_XML))


def _add_judging(commands: Commands) -> None:
    merge = command.add(
        commands, "merge", _merge, "join the documents of a run's shards and publish the report"
    )
    merge.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    command.add_options(merge, (OUT,))

    compare_ = command.add(commands, "compare", _compare, "judge run documents again")
    compare_.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    compare_.add_argument("--base", metavar="SERVER", help="the label to compare with (default: the first)")
    baselines = "compare with stored baselines instead: a file or a folder; --base is the anchor"
    compare_.add_argument("--baseline", metavar="PATH", type=Path, help=baselines)

    accept = command.add(
        command.group(commands, "baseline", "store baselines"),
        "accept",
        _baseline_accept,
        "store a run's results as baselines",
    )
    accept.add_argument("document", metavar="DOC", type=Path)
    to = "where baselines are stored (default: fixtures/baselines)"
    accept.add_argument("--to", metavar="DIR", type=Path, default=BASELINES, help=to)

    history = command.add(
        commands, "history", _history, "show ratios to the anchor over all runs, and where they changed"
    )
    site = command.add(commands, "site", _site, "build the pages of all runs in a folder")
    site.add_argument(
        "--out", metavar="DIR", type=Path, default=REPORTS / "site", help="folder for the pages"
    )
    alone = "write the first page as one file instead, with all that it needs"
    site.add_argument("--single", metavar="FILE", type=Path, help=alone)
    first = "profile whose newest run is on the first page (default: the newest run of all)"
    site.add_argument("--front", metavar="PROFILE", help=first)
    for each in (history, site):
        command.add_options(each, (RESULTS,))
    for each in (accept, history):
        command.add_options(each, (ANCHOR,))
    for each in (merge, compare_, site):
        command.add_options(each, (ACKNOWLEDGED,))


def _add_reporting(commands: Commands) -> None:
    steps = command.group(commands, "github", "report to GitHub from a workflow")
    annotate = command.add(steps, "annotate", _github_annotate, "print the annotations of runs")
    comment = command.add(steps, "comment", _github_comment, "write or update a pull request's comment")
    comment.add_argument("--branch", metavar="OWNER:NAME", required=True, help="the pull request's branch")
    measured = "the commit that was measured; a newer one gets no comment"
    comment.add_argument("--sha", metavar="SHA", required=True, help=measured)
    issues_ = command.add(
        steps, "issues", _github_issues, "open, update and close the issues about regressions"
    )
    command.add_options(issues_, (RESULTS, ANCHOR))
    for each in (annotate, comment):
        each.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    for each in (comment, issues_):
        command.add_options(each, (LINK,))
    for each in (annotate, comment, issues_):
        command.add_options(each, (ACKNOWLEDGED,))


def _add_cache(actions: Commands) -> None:
    command.add(actions, "list", _cache_list, "show the cache's contents and size")
    command.add(actions, "clear", _cache_clear, "remove everything that is not in use")


def _add_servers(actions: Commands) -> None:
    command.add(actions, "list", _servers_list, "show the catalogue and the availability of each server")
    fetch = command.add(actions, "fetch", _servers_fetch, "fetch servers and print their locations")
    fetch.add_argument("references", metavar="REF", nargs="+", help="a catalogue id, path:… or image:…")
    build = command.add(actions, "build", _servers_build, "build servers of a repository ahead of a run")
    build.add_argument("references", metavar="REF", nargs="+", help="git:DIR#REV")
    built, tree = (next(each for each in MEASURING if each.name == name) for name in ("build", "tree"))
    command.add_options(build, (built,), type=str, required=True)
    command.add_options(build, (replace(tree, default="."),), type=str)
    packing = command.add(actions, "pack", _servers_pack, "write a built server into one file")
    packing.add_argument("directory", metavar="DIR", type=Path, help="an install tree or a build directory")
    packing.add_argument("file", metavar="FILE", type=Path, help="the tar to write")
    built_from = (
        "the commit that it was built from (default: that of its sources, if they are a git checkout)"
    )
    packing.add_argument("--commit", metavar="SHA", default="", help=built_from)
    unpacking = command.add(actions, "unpack", _servers_unpack, "unpack a server from a tar or a zip")
    unpacking.add_argument("file", metavar="FILE", type=Path, help="a packed server, or an archive of one")
    unpacking.add_argument("directory", metavar="DIR", type=Path, help="the folder to make")
    start = command.add(actions, "start", _servers_start, "keep one server running until Ctrl-C")
    start.add_argument("reference", metavar="SERVER", help="a server reference")
    settings = "settings profile: a name or a file (default: defaults)"
    start.add_argument("--settings", metavar="NAME", default="defaults", help=settings)
    start.add_argument("--port", metavar="N", type=int, help="TCP port on 127.0.0.1 (default: a free one)")


if __name__ == "__main__":
    sys.exit(main())
