"""The command line: parses arguments, calls the application, prints. Exit codes: docs/cli.md."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from rich.console import Console

from shootout import __version__, app, harness
from shootout.analysis import baseline, bisected, gate, soak, work
from shootout.app import Request
from shootout.document import work as documents
from shootout.errors import InputError, MeasureError
from shootout.harness import left_out, warn
from shootout.inputs import matrix, texts, workload
from shootout.inputs.options import (
    ACKNOWLEDGED,
    ANCHOR,
    CHECK_RESULTS,
    EXPLAIN,
    JSON,
    JUNIT_XML,
    LINK,
    MARKDOWN,
    MEASURING,
    MINUTES,
    OUT,
    RESULTS,
    TIMES,
    Option,
)
from shootout.inputs.toml import hint
from shootout.measure import session
from shootout.model.bisection import Instrument
from shootout.model.plan import Build
from shootout.model.verdict import Comparison
from shootout.model.work import WorkComparison
from shootout.paths import FIXTURES, REPORTS, cache_folder
from shootout.report import crashes, terminal, wording
from shootout.report.github import http, issues, markdown, webhook
from shootout.report.github.repository import Repository
from shootout.servers import builds, cache, catalogue, dsn, pack, reference

COUNTING = (
    *(
        "profile",
        "servers",
        "workloads",
        "tables",
        "table_size",
        "rows_seed",
        "warehouses",
        "engine",
        "option",
        "rand_type",
    ),
    *("protocol", "policy", "seed", "data", "build", "tree"),
)  # the options of a run that a count takes, too
SOAKING = (*COUNTING, "threads", "rate", "arrivals", "think")  # of a soak and of crashes
UNASKED = {"explain": None, "acknowledged": ACKNOWLEDGED.default, "junit_xml": None}  # of a run's options
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
    return _checked(_request(args), args)


def _gate(args: argparse.Namespace) -> int:
    return _checked(_request(args, servers=f"{args.base},{args.head}"), args)


def _checked(request: Request, args: argparse.Namespace) -> int:
    """Run the suites; before them, compare results if that was asked for."""
    assert request.plan  # report errors in the request before anything starts
    unlike: Sequence[str] = ()
    if args.check_results:
        with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
            try:
                unlike = app.unlike_results(request, display.show)
            except MeasureError as error:
                unlike = (f"results are not compared: {error}",)
    code = _measure(request, args).code
    for line in unlike:
        warn(line)
    return code


def _request(args: argparse.Namespace, **changed: str) -> Request:
    return harness.request(args, args.junit_xml, **changed)


def _measure(request: Request, args: argparse.Namespace) -> harness.SuiteResult:
    """Run the suites, and print what they conclude."""
    assert request.plan  # report errors in the request before pytest starts
    finished = harness.run(request)
    if finished.conclusion is not None:
        harness.show(finished.conclusion, json=args.json)
    return finished


def _explain(args: argparse.Namespace) -> int:
    with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
        found, page = app.explain(
            args.document, args.cell, args.out.resolve(), args.acknowledged, left_out,
            trials=args.try_, budget_min=args.budget, observe=display.show,
        )  # fmt: skip
    if args.json:
        print(app.explanation_as_json(found, page).decode())
    else:
        terminal.print_explanations(_console(), [found], args.out)
        terminal.print_report(_console(), page)
    return 0


def _work(args: argparse.Namespace) -> int:
    given = {} if args.base is None and args.head is None else {"servers": f"{args.base},{args.head}"}
    if None in (args.base, args.head) and (given or args.servers is None):
        raise InputError("expected --base REF and --head REF, or --servers A,B,…")
    request = _request(args, **given)
    with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
        comparison, path, page = app.work(request, display.show, left_out)
    _show_work(comparison, args, path, page)
    return work.exit_code(comparison)


def _show_work(
    comparison: WorkComparison, args: argparse.Namespace, path: Path, page: Path | None = None
) -> None:
    if args.json:
        print(app.work_as_json(comparison, document=path, page=page).decode())
        return
    terminal.print_work(_console(), comparison)
    terminal.print_report(_console(), page)


def _soak(args: argparse.Namespace) -> int:
    request = _request(args)
    with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
        try:
            result, path, page = app.soak(request, args.minutes, display.show, left_out)
        except KeyboardInterrupt:
            warn("interrupted; what was measured is kept, and `shootout site` shows it")
            raise
    if args.json:
        print(app.soak_as_json(result, document=path, page=page).decode())
    else:
        terminal.print_soak(_console(), result)
        terminal.print_report(_console(), page)
    return soak.exit_code(result)


def _crash(args: argparse.Namespace) -> int:
    request = _request(args)
    with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
        document, path = app.crash(request, args.times, display.show)
    if args.json:
        print(msgspec.json.encode({"file": str(path), **msgspec.to_builtins(document)}).decode())
    else:
        terminal.print_crashes(_console(), document, path)
    return crashes.exit_code(document)


def _bisect(args: argparse.Namespace) -> int:
    versions, commits = args.over is not None, (args.repo, args.good, args.bad)
    if versions == (commits != (None, None, None)) or (not versions and None in commits):
        raise InputError("expected --over A,B,…, or --repo DIR --good REV --bad REV --build CMD")
    link = http.checked_url("--url", args.url) if args.url else ""
    history = () if versions else builds.history(*commits)
    named = (f"{each.hash[:10]}=git:{args.repo}#{each.hash}" for each in history)
    if args.work and args.profile == "bisect":
        args.profile = "work"
    instrument: Instrument = "work" if args.work else "time"
    request = _request(args, servers=args.over if versions else ",".join(named))
    with redirect_stdout(sys.stderr), terminal.Display(Console(stderr=True)) as display:
        try:
            if versions:
                answer, page = app.bisect_versions(request, instrument, display.show, skip=left_out)
            else:
                answer, page = app.bisect_commits(
                    request, history, link, instrument, display.show, skip=left_out
                )
        except KeyboardInterrupt:
            warn("interrupted; what was built and measured is kept, and --resume goes on")
            raise
    if args.json:
        print(app.bisection_as_json(answer, page).decode())
    else:
        terminal.print_bisection(_console(), answer, page)
    return bisected.exit_code(answer)


def _learn(args: argparse.Namespace) -> int:
    with redirect_stdout(sys.stderr), terminal.fetching(Console(stderr=True)) as report:
        outcome, page = app.learn(
            args.schema, args.queries, args.out, args.server,
            keep=args.keep_values, invent=args.synthetic, observe=report,
        )  # fmt: skip
    if args.json:
        print(msgspec.json.encode(outcome).decode())
    else:
        terminal.print_learned(_console(), outcome)
        terminal.print_report(_console(), page)
    return 0


def _doctor(args: argparse.Namespace) -> int:
    if args.calibrate is not None:
        with redirect_stdout(sys.stderr):
            code = _calibrate(args)
        if code not in app.JUDGED:
            return code
    data = cache_folder() if args.data is None else Path(args.data)
    policy = None if args.policy is None else texts.policy("--policy", args.policy)
    report = app.examine(args.out, data, args.profile, policy)
    return _print(args, report, terminal.print_doctor)


def _calibrate(args: argparse.Namespace) -> int:
    request = _request(args, servers=f"{args.calibrate},{args.calibrate}")

    def measure(request: Request) -> int:
        code, conclusion = _measure(request, args)
        late = code == MeasureError.exit_code and conclusion and not gate.has_failed(conclusion.comparison)
        return 0 if late else code  # as many cells as the budget allows

    return app.calibrate_noise(request, measure)


def _merge(args: argparse.Namespace) -> int:
    counted = [path for path in args.documents if documents.is_work(path)]
    measured = [path for path in args.documents if path not in counted]
    codes = [_merge_runs(args, measured)] if measured else []
    if counted:
        found, path, page = app.merged_work(counted, args.out.resolve(), args.acknowledged, left_out)
        _show_work(found, args, path, page)
        codes.append(work.exit_code(found))
    return gate.worst(codes)


def _merge_runs(args: argparse.Namespace, measured: Sequence[Path]) -> int:
    conclusion = app.merged(measured, args.out.resolve(), args.acknowledged, left_out)
    harness.show(conclusion, json=args.json)
    return conclusion.exit_code


def _compare(args: argparse.Namespace) -> int:
    counted = [path for path in args.documents if documents.is_work(path)]
    args.documents = [path for path in args.documents if path not in counted]
    codes = []
    for path in counted:
        found = app.judge_work(path, args.base)
        _show_work(found, args, path)
        codes.append(work.exit_code(found))
    comparisons = [app.judge(path, args.acknowledged, args.base, args.baseline) for path in args.documents]
    for path, comparison in zip(args.documents, comparisons, strict=True):
        if args.json:
            print(app.as_json(comparison, document=path).decode())
        else:
            terminal.print_verdicts(_console(), comparison)
    return gate.worst([*codes, *map(gate.exit_code, comparisons)])


def _baseline_accept(args: argparse.Namespace) -> int:
    stored = app.accept(args.document, args.to, args.anchor)
    if args.json:
        return _print_lines(args, "accepted", [str(path) for path in stored])
    for path, accepted in stored.items():
        print(path)
        for cell in accepted.cells:
            name = f"{accepted.workload.name}, {wording.threads(cell.threads)}: {cell.server}"
            print(f"    {name} is {baseline.ratio_text(cell, accepted.anchor)}")
    return 0


def _history(args: argparse.Namespace) -> int:
    measured, counted = app.series(args.results, args.anchor, left_out)
    if args.json:
        return _print(args, (*measured, *counted), terminal.print_history)
    if measured:
        terminal.print_history(_console(), measured)
    if counted:
        terminal.print_work_history(_console(), counted)
    return 0


def _site(args: argparse.Namespace) -> int:
    if args.single is None:
        page = app.publish(args.results, args.out, args.acknowledged, left_out, front=args.front)
    else:
        page = app.publish_single(args.results, args.single, args.acknowledged, left_out, front=args.front)
    print(msgspec.json.encode({"page": str(page)}).decode() if args.json else page.resolve().as_uri())
    return 0


def _notify(args: argparse.Namespace) -> int:
    address, link = http.checked_url("--webhook", args.webhook), _link(args)
    webhook.post(address, webhook.message(_judged(args), link))
    return _print_lines(args, "done", ["sent"])


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
        body = markdown.comment(_judged(args), link, app.explanations(args.documents))
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
    found = cache.contents(cache_folder(), cache.limit_bytes(os.environ))
    return _print(args, found, terminal.print_cache)


def _cache_clear(args: argparse.Namespace) -> int:
    return _print(args, cache.clear(cache_folder()), terminal.print_cleared)


def _profiles_list(args: argparse.Namespace) -> int:
    return _print(args, matrix.shipped(), terminal.print_descriptions)


def _workloads_list(args: argparse.Namespace) -> int:
    return _print(args, workload.shipped(), terminal.print_descriptions)


def _servers_list(args: argparse.Namespace) -> int:
    return _print(args, catalogue.offers(cache_folder()), terminal.print_servers)


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
            terminal.print_fetched(_console(), fetched[-1])
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
        access = session.endpoint(instance)
        if args.json:
            print(msgspec.json.encode(access).decode(), flush=True)
        else:
            terminal.print_access(_console(), args.reference, access)
        session.until_interrupted(instance)
    return 0


def _judged(args: argparse.Namespace) -> list[Comparison]:
    return [app.judge(path, args.acknowledged) for path in args.documents]


def _link(args: argparse.Namespace) -> str | None:
    return None if args.link is None else http.checked_url("--link", args.link)


# --- output ---------------------------------------------------------------------------------------


def _print(args: argparse.Namespace, found: Any, as_text: Callable[[Console, Any], None]) -> int:
    if args.json:
        print(msgspec.json.encode(found).decode())
    else:
        as_text(_console(), found)
    return 0


def _print_lines(args: argparse.Namespace, key: str, lines: Sequence[str]) -> int:
    print(msgspec.json.encode({key: lines}).decode() if args.json else "\n".join(lines))
    return 0


def _console() -> Console:
    return terminal.console(sys.stdout)


# --- arguments ------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Raises InputError for wrong arguments."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}\n`{self.prog} --help` lists the options.")

    def reject(self, unknown: Sequence[str]) -> NoReturn:
        """Raise InputError for unknown arguments; suggests the nearest known option."""
        known = [option for action in self._actions for option in action.option_strings]
        near = hint(unknown[0].partition("=")[0], known) if unknown[0].startswith("-") else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")


Commands = argparse._SubParsersAction  # argparse has no public name for it


def parser() -> argparse.ArgumentParser:
    """All commands with their options; the source of docs/cli.md."""
    top = _Parser(
        prog="shootout",
        description="Is this MySQL-family server slower than that one, by how much, and how sure are we?",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"shootout {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_measuring(commands)
    _add_soaking(commands)
    _add_judging(commands)
    _add_reporting(commands)
    _add_cache(_group(commands, "cache", "list or clear fetched servers and loaded datasets"))
    _add_servers(_group(commands, "servers", "list, fetch or start servers"))
    profiles = _group(commands, "profiles", "list what runs can measure")
    _command(profiles, "list", _profiles_list, "show the profiles that come with shootout")
    workloads = _group(commands, "workloads", "list the load that servers can be put under")
    _command(workloads, "list", _workloads_list, "show the workloads that come with shootout")
    return top


def _add_measuring(commands: Commands[_Parser]) -> None:
    run = _command(commands, "run", _run, "measure servers and publish the report")
    _add_options(run, MEASURING, type=str)
    gate = _command(commands, "gate", _gate, "measure one pair of servers; exit with 1 if the head is slower")
    gate.add_argument("--base", metavar="REF", required=True, help="the server to compare with")
    gate.add_argument("--head", metavar="REF", required=True, help="the server that may be slower")
    why = "find out why a cell changed: the functions, plans and settings of its two servers"
    explain = _command(commands, "explain", _explain, why)
    which = "a run document, or the id of a run (default: the newest)"
    explain.add_argument("document", metavar="RUN", nargs="?", help=which)
    which = "WORKLOAD-tTHREADS, and -SERVER if the run has several heads (default: the worst regression)"
    explain.add_argument("cell", metavar="CELL", nargs="?", help=which)
    trial = "measure the head with this setting, too (repeatable; without a value: the first three suspects)"
    explain.add_argument(
        "--try", metavar="NAME=VALUE", dest="try_", action="append", nargs="?", const=app.SUSPECTS, help=trial
    )
    _add_options(explain, (replace(EXPLAIN, name="budget", help="minutes (default: 4)", default=4.0),))
    _add_options(explain, (ACKNOWLEDGED, OUT))
    doctor = _command(commands, "doctor", _doctor, "examine this machine: what disturbs it, and its noise")
    calibrate = "measure this server against itself, run after run, until the budget is spent"
    doctor.add_argument("--calibrate", metavar="SERVER", nargs="?", const="mysql-8.0.12", help=calibrate)
    for each in (gate, doctor):
        _add_options(each, (option for option in MEASURING if option.name != "servers"), type=str)
        each.set_defaults(servers=None, profile="gate", explain=None)
    counted = "count the instructions of each kind of statement under Callgrind; needs no quiet machine"
    work = _command(commands, "work", _work, counted)
    work.add_argument("--base", metavar="REF", help="the server to compare with")
    work.add_argument("--head", metavar="REF", help="the server that may need more instructions")
    _add_options(work, (option for option in MEASURING if option.name in COUNTING), type=str)
    work.set_defaults(profile="work", **UNASKED)
    _add_options(work, (OUT, MARKDOWN))
    since = "find out since which version or commit servers are slower, with a probability for each"
    bisect = _command(commands, "bisect", _bisect, since)
    over = "servers in the order of their age, the oldest first: the base"
    bisect.add_argument("--over", metavar="A,B,…", help=over)
    bisect.add_argument("--repo", metavar="DIR", help="a git repository whose commits are servers")
    bisect.add_argument("--good", metavar="REV", help="the commit to compare with")
    bisect.add_argument("--bad", metavar="REV", help="a later commit, which may be slower")
    url = "address of a commit, with {commit} in it, for pages and --markdown"
    exact = "compare instructions, counted under Callgrind, instead of time; needs no quiet machine"
    bisect.add_argument("--work", action="store_true", help=exact)
    bisect.add_argument("--url", metavar="TEMPLATE", default="", help=url)
    _add_options(bisect, (each for each in MEASURING if each.name not in ("servers", "shard")), type=str)
    bisect.set_defaults(profile="bisect", **UNASKED)
    _add_options(bisect, (OUT, MARKDOWN))
    _add_learn(commands)
    for each in (run, gate):
        _add_options(each, (EXPLAIN, CHECK_RESULTS), type=str)
    for each in (run, gate, doctor):
        _add_options(each, (ACKNOWLEDGED, OUT, MARKDOWN, JUNIT_XML))


def _add_learn(commands: Commands[_Parser]) -> None:
    learn = _command(commands, "learn", _learn, "make a workload of what a server ran")
    schema = "a dump of its database, as mysqldump writes it"
    learn.add_argument("--schema", metavar="DUMP.sql", type=Path, required=True, help=schema)
    queries = "slow query logs (long_query_time = 0), general query logs or performance_schema's digests"
    learn.add_argument("--queries", metavar="LOG", type=Path, nargs="+", required=True, help=queries)
    out = "the folder for workload.toml, learned.json and fidelity.html"
    learn.add_argument("--out", metavar="DIR", type=Path, required=True, help=out)
    server = "the server that loads the dump and runs what was learned (default: mysql-8.0.33)"
    learn.add_argument("--server", metavar="REF", default="mysql-8.0.33", help=server)
    keep = "keep the log's values in the file; by default it has none of them"
    learn.add_argument("--keep-values", action="store_true", help=keep)
    invented = (
        "write synthetic.sql, a dump of invented rows, and run on it: the real rows stay where they are"
    )
    learn.add_argument("--synthetic", action="store_true", help=invented)


def _add_soaking(commands: Commands[_Parser]) -> None:
    long = "load each server for long, and find out what becomes of it: slopes, stalls, dips, memory"
    soaking = _command(commands, "soak", _soak, long)
    _add_options(soaking, (MINUTES,))
    killed = "kill each server under durable load, and look for every commit that it had confirmed"
    crashing = _command(commands, "crash", _crash, killed)
    _add_options(crashing, (TIMES,))
    for each in (soaking, crashing):
        _add_options(each, (option for option in MEASURING if option.name in SOAKING), type=str)
        each.set_defaults(profile="soak", markdown=None, **UNASKED)
        _add_options(each, (OUT,))


def _add_judging(commands: Commands[_Parser]) -> None:
    merge = _command(commands, "merge", _merge, "join the documents of a run's shards and publish the report")
    merge.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    _add_options(merge, (OUT,))

    compare_ = _command(commands, "compare", _compare, "judge run documents again")
    compare_.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    compare_.add_argument("--base", metavar="SERVER", help="the label to compare with (default: the first)")
    baselines = "compare with stored baselines instead: a file or a folder; --base is the anchor"
    compare_.add_argument("--baseline", metavar="PATH", type=Path, help=baselines)

    accept = _command(
        _group(commands, "baseline", "store baselines"),
        "accept",
        _baseline_accept,
        "store a run's results as baselines",
    )
    accept.add_argument("document", metavar="DOC", type=Path)
    to = "where baselines are stored (default: fixtures/baselines)"
    accept.add_argument("--to", metavar="DIR", type=Path, default=BASELINES, help=to)

    history = _command(
        commands, "history", _history, "show ratios to the anchor over all runs, and where they changed"
    )
    site = _command(commands, "site", _site, "build the pages of all runs in a folder")
    site.add_argument(
        "--out", metavar="DIR", type=Path, default=REPORTS / "site", help="folder for the pages"
    )
    alone = "write the first page as one file instead, with all that it needs"
    site.add_argument("--single", metavar="FILE", type=Path, help=alone)
    first = "profile whose newest run is on the first page (default: the newest run of all)"
    site.add_argument("--front", metavar="PROFILE", help=first)
    for each in (history, site):
        _add_options(each, (RESULTS,))
    for each in (accept, history):
        _add_options(each, (ANCHOR,))
    for each in (merge, compare_, site):
        _add_options(each, (ACKNOWLEDGED,))


def _add_reporting(commands: Commands[_Parser]) -> None:
    notify = _command(commands, "notify", _notify, "post the verdicts of runs to a chat room")
    hook = "address that accepts Slack messages; treat it as a secret"
    notify.add_argument("--webhook", metavar="URL", required=True, help=hook)
    steps = _group(commands, "github", "report to GitHub from a workflow")
    annotate = _command(steps, "annotate", _github_annotate, "print the annotations of runs")
    comment = _command(steps, "comment", _github_comment, "write or update a pull request's comment")
    comment.add_argument("--branch", metavar="OWNER:NAME", required=True, help="the pull request's branch")
    measured = "the commit that was measured; a newer one gets no comment"
    comment.add_argument("--sha", metavar="SHA", required=True, help=measured)
    issues_ = _command(steps, "issues", _github_issues, "open, update and close the issues about regressions")
    _add_options(issues_, (RESULTS, ANCHOR))
    for each in (notify, annotate, comment):
        each.add_argument("documents", metavar="DOC", type=Path, nargs="+")
    for each in (notify, comment, issues_):
        _add_options(each, (LINK,))
    for each in (notify, annotate, comment, issues_):
        _add_options(each, (ACKNOWLEDGED,))


def _add_cache(actions: Commands[_Parser]) -> None:
    _command(actions, "list", _cache_list, "show the cache's contents and size")
    _command(actions, "clear", _cache_clear, "remove everything that is not in use")


def _add_servers(actions: Commands[_Parser]) -> None:
    _command(actions, "list", _servers_list, "show the catalogue and the availability of each server")
    fetch = _command(actions, "fetch", _servers_fetch, "fetch servers and print their locations")
    fetch.add_argument("references", metavar="REF", nargs="+", help="a catalogue id, path:… or image:…")
    build = _command(actions, "build", _servers_build, "build servers of a repository ahead of a run")
    build.add_argument("references", metavar="REF", nargs="+", help="git:DIR#REV")
    command, tree = (next(each for each in MEASURING if each.name == name) for name in ("build", "tree"))
    _add_options(build, (command,), type=str, required=True)
    _add_options(build, (replace(tree, default="."),), type=str)
    packing = _command(actions, "pack", _servers_pack, "write a built server into one file")
    packing.add_argument("directory", metavar="DIR", type=Path, help="an install tree or a build directory")
    packing.add_argument("file", metavar="FILE", type=Path, help="the tar to write")
    built_from = (
        "the commit that it was built from (default: that of its sources, if they are a git checkout)"
    )
    packing.add_argument("--commit", metavar="SHA", default="", help=built_from)
    unpacking = _command(actions, "unpack", _servers_unpack, "unpack a server from a tar or a zip")
    unpacking.add_argument("file", metavar="FILE", type=Path, help="a packed server, or an archive of one")
    unpacking.add_argument("directory", metavar="DIR", type=Path, help="the folder to make")
    start = _command(actions, "start", _servers_start, "keep one server running until Ctrl-C")
    start.add_argument("reference", metavar="SERVER", help="a server reference")
    settings = "settings profile: a name or a file (default: defaults)"
    start.add_argument("--settings", metavar="NAME", default="defaults", help=settings)
    start.add_argument("--port", metavar="N", type=int, help="TCP port on 127.0.0.1 (default: a free one)")


def _add_options(command: _Parser, options: Iterable[Option], **changes: Any) -> None:
    for option in options:
        option.add_to(command.add_argument, **(changes if option.metavar else {}))


def _group(commands: Commands[_Parser], name: str, help: str) -> Commands[_Parser]:
    group = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
    return group.add_subparsers(metavar="ACTION", required=True)


def _command(
    commands: Commands[_Parser], name: str, run: Callable[[argparse.Namespace], int], help: str
) -> _Parser:
    command = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
    command.set_defaults(run=run, parser=command)
    _add_options(command, (JSON,))
    return command


if __name__ == "__main__":
    sys.exit(main())
