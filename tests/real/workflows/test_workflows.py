"""The workflows do what they should: their own steps run here, with real servers for measurements."""

from __future__ import annotations

import json
import lzma
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from msgspec import structs

from shootout import __version__, paths
from shootout.analysis import baseline, compare
from shootout.document import baselines, journal, ledgers
from shootout.model.history import LedgerEntry
from shootout.report.github import issues, markdown
from tests.support import builders
from tests.support.analysis import builders as made_up
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, GitHub
from tests.support.runs import BASE, HEAD, SETTINGS, SHOOTOUT, Lab, until
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.unit.test_cli import saved

# In a wheel, beside the package.
PACKED = ("conftest.py", "fixtures", "pyproject.toml", "suites", "templates")
pytest_plugins = ["tests.support.runs"]

WORKFLOWS = paths.ROOT / ".github" / "workflows"
ACTIONS = paths.ROOT / ".github" / "actions"
SOURCES = (  # those of .github/actions/install, and what GitHub reads
    ".ci/needs", ".github", "LICENSE", "Makefile", "README.md", "conftest.py", "fixtures", "pyproject.toml",
    "requirements.lock", "shootout", "suites", "templates", "engine",
)  # fmt: skip
PROFILE = """
description = "A second, two blocks"
servers = ["mysql-5.7.22", "mysql-8.0.12"]
workloads = ["oltp_point_select"]
threads = {threads}
settings = "{settings}"
[dataset]
tables = 1
rows = 200
[sampling]
starts_min = 1
starts_max = 1
slice_s = 0.02
ramp_s = 0.005
measure_s = 0.15
warmup_max_s = 0.15
[policy]
confirm_starts = 0
"""
FLUSHED = SETTINGS.replace("flush_log_at_trx_commit = 0", "flush_log_at_trx_commit = 2")
KNOWN = """
[[change]]
workload = "*"
server = "*"
at_most = 0.9
expires = 2099-12-31
owner = "me"
reason = "a second is too short to tell"
"""
ORCHESTRATED = """#!/bin/sh
for word; do
    case $word in
    --out=*) out=${word#*=} && mkdir -p "$out/results" ;;
    --single=*) echo page >"${word#*=}" ;;
    *.jsonl*) documents="$documents $word" ;;
    esac
done
case $1 in
run | bisect)
    echo "$*" >>"$out/results/run.jsonl"
    bisections=$out/results/bisections/1
    [ "$1" = run ] || { mkdir -p "$bisections" && echo "$*" >>"$bisections/bisection.json"; } ;;
merge) cat $documents >"$out/results/run.jsonl" ;;
gate) cat base/build/server head/build/server >"$out/results/run.jsonl" ;;
github) echo "$*" ;;
count) mkdir -p "$out/results/count" && echo "$*" >"$out/results/count/run.json" ;;
servers) mkdir -p packed && case $2 in
    pack) cp "$3/server" "$4" ;;
    unpack) mkdir "$4" && cp "$3" "$4/server" ;;
    esac ;;
esac
"""  # a shootout whose run documents say what was asked for, or what was built
OURS = "maker/shootout"  # what repositories call
COPIED = 'cp --recursive --symbolic-link "$(cat tree)" build'  # a build of a second
ME = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *ME, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


IGNORED = shutil.ignore_patterns("__pycache__", "*.so", "target")


def copied(target: Path) -> None:
    """The project's sources as a checkout has them."""
    for name in SOURCES:
        source = paths.ROOT / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=IGNORED)
        else:
            shutil.copy2(source, target / name)


def committed(origin: Path, message: str) -> str:
    """Commit everything in the folder; returns the commit's hash."""
    git(origin, "init", "--quiet")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", f"--message={message}")
    return git(origin, "rev-parse", "HEAD")


def installed(origin: Path, tools: Path) -> Path:
    """The path that shootout gets when it is installed from these sources."""
    install = origin / ACTIONS.relative_to(paths.ROOT) / "install" / "install"
    state = subprocess.run([install, "state"], check=True, capture_output=True, text=True).stdout.strip()
    programs = tools / "shootout" / state / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "installed").touch()
    return programs / "shootout"


def a_profile(lab: Lab, *threads: int) -> str:
    return PROFILE.format(threads=list(threads), settings=lab.folder / "small.toml")


def example(name: str, number: int = 0) -> str:
    """A workflow of docs/ci.md."""
    blocks = re.findall(
        rf"^    name: {name}\n(?:(?:    .*)?\n)+", (paths.ROOT / "docs" / "ci.md").read_text(), re.M
    )
    return textwrap.dedent(blocks[number])


def written(repository: Path, ours: str, text: str, **inputs: object) -> Path:
    """A repository's workflow, which calls ours at a commit, with these inputs instead of others."""
    found = yaml.safe_load(text.replace("OWNER/shootout", OURS).replace("COMMIT", ours))
    job = next(iter(found["jobs"].values()))
    job["with"] = {**job.get("with", {}), **inputs}
    file = repository / ".github" / "workflows" / f"{found['name']}.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(found))
    return file


@pytest.fixture(scope="module")
def ours(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Hub:
    """This repository, with shootout installed."""
    folder = tmp_path_factory.mktemp("hub")
    origin = folder / "origin" / OURS
    copied(origin)
    (origin / ".ci" / "run").write_text("#!/bin/sh\necho everything is tested\n")
    (origin / ".ci" / "run").chmod(0o755)
    installed(origin, folder / "tools").symlink_to(SHOOTOUT)
    return Hub(
        folder=folder / "none",
        origin=folder / "origin",
        repository=OURS,
        sha=committed(origin, "Everything"),
        tools=folder / "tools",
        environment=lab.environment | {"SHOOTOUT_LOCK": str(folder / "lock")},
    )


@pytest.fixture
def orchestrated(ours: Hub, tmp_path: Path) -> Hub:
    """This repository, where everything runs but shootout itself."""
    command = installed(ours.origin / OURS, tmp_path / "tools")
    command.write_text(ORCHESTRATED)
    command.chmod(0o755)
    own = {"SHOOTOUT_OWN": "true"}
    return replace(
        ours, folder=tmp_path / "run", tools=tmp_path / "tools", event_name="schedule", variables=own
    )


@pytest.fixture(scope="module")
def hub_of(ours: Hub, lab: Lab) -> Hub:
    """A repository of servers, and its pull request 3, merged, which changes build and settings."""
    origin = ours.origin / REPOSITORY
    origin.mkdir(parents=True)
    (origin / "known.toml").write_text(KNOWN)
    for message, tree, settings in (("Before", BASE, SETTINGS), ("After", HEAD, FLUSHED)):
        (origin / "tree").write_text(str(lab.tree(tree)))
        (origin / "my.toml").write_text(settings)
        committed(origin, message)
        git(origin, "branch", message)
    git(origin, "reset", "--quiet", "--hard", "Before")
    git(origin, "merge", "--quiet", "--no-ff", "--message=Merge", "After")
    git(origin, "update-ref", "refs/pull/3/merge", "HEAD")
    return replace(ours, repository=REPOSITORY, sha=git(origin, "rev-parse", "HEAD"))


def commit(hub: Hub, revision: str) -> str:
    """The hash of a commit of the repository: `^1` is the pull request's base, `^2` its newest commit."""
    return git(hub.origin / hub.repository, "rev-parse", hub.sha + revision)


def asking(state: GitHub, hub: Hub) -> dict[str, str]:
    """The environment of a run that asks this GitHub about the repository."""
    state.git = hub.origin / hub.repository
    return {**hub.environment, "GITHUB_API_URL": state.url}


def taking_the_token(hub: Hub, *words: object) -> str:
    """A command that deletes or uploads an artifact of the run, as a build can that patches its machine."""
    program = f"PYTHONPATH={paths.ROOT} {sys.executable} -m tests.support.workflows.artifacts"
    return f"{program} {shlex.join(map(str, [hub.artifacts, *words]))}"


def pull_request(
    hub: Hub, repository: str = REPOSITORY, labels: Sequence[str] = (), label: str | None = None
) -> dict[str, object]:
    """The event of a pull request from a branch of that repository: a push, or a `label` that it got."""
    head = {"sha": commit(hub, "^2"), "repo": {"full_name": repository}}
    named = [{"name": label} for label in labels]
    event: dict[str, object] = (
        {"action": "synchronize"} if label is None else {"action": "labeled", "label": {"name": label}}
    )
    base = {"sha": commit(hub, "^1"), "ref": "main"}
    return event | {"pull_request": {"number": 3, "labels": named, "base": base, "head": head}}


# --- the workflows as a whole ---------------------------------------------------------------------


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_every_job_has_a_limit_and_no_more_than_it_needs(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    assert found["permissions"] == {}
    for job in found["jobs"].values():
        if "uses" in job:
            continue
        assert job["timeout-minutes"] <= 1440
        labels = job["runs-on"]
        if "self-hosted" in labels:  # jobs that run measured code get no token that can write
            assert job["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_a_failure_inside_a_pipe_fails_its_step(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    if any("run" in step for job in found["jobs"].values() for step in job.get("steps", ())):
        assert found["defaults"] == {"run": {"shell": "bash"}}  # which has pipefail; no shell at all has not


def test_a_forks_code_reaches_a_runner_of_ours_by_an_environment_only() -> None:
    gate, comment = (yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text()) for name in ("gate", "comment"))
    assert set(actions.triggers(gate)) == {"workflow_call"}
    assert comment["env"]["HOSTED"] == gate["env"]["HOSTED"]
    outputs = gate["jobs"]["decide"]["outputs"]
    authors = (("someone/servers", "User"), (None, "User"), (REPOSITORY, "Bot"), (REPOSITORY, "User"))
    for theirs, author in authors:
        pull = {"head": {"repo": {"full_name": theirs} if theirs else None}, "user": {"type": author}}
        expected = "" if (theirs, author) == (REPOSITORY, "User") else "shootout-fork"
        for job, builder, environment in (
            ("measure", '["self-hosted"]', expected),
            ("measure", '"ubuntu-perf"', expected),
            ("measure", '"ubuntu-24.04"', ""),
            ("build-base", '"ubuntu-24.04"', ""),
            ("build-base", '["self-hosted"]', expected),
            ("build-base", '"ubuntu-perf"', expected),
            ("build-head", '"ubuntu-24.04"', ""),
            ("build-head", '["ubuntu-24.04", "self-hosted"]', expected),
            ("build-head", '"ubuntu-perf"', expected),
        ):
            context = {
                "github": {"repository": REPOSITORY, "event": {"pull_request": pull}},
                "inputs": {"environment": "shootout-fork", "build-runner": builder, "runner": builder},
            }
            context["env"] = {name: actions.filled(each, context) for name, each in gate["env"].items()}
            known = ("fork", "hosted-builds", "hosted-measures")
            decided = {name: str(actions.filled(outputs[name], context)).lower() for name in known}
            context["needs"] = {"decide": {"outputs": decided}}
            assert actions.filled(gate["jobs"][job]["environment"], context) == environment


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("own-*.yml")), ids=lambda path: path.stem)
def test_a_copy_of_this_repository_runs_nothing_by_itself(workflow: Path, orchestrated: Hub) -> None:
    jobs = actions.run(replace(orchestrated, variables={}), workflow)
    assert {job.result for job in jobs.values()} == {"skipped"}


# --- a gate ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def profile(lab: Lab) -> Path:
    file = lab.folder / "second.toml"
    file.write_text(a_profile(lab, 1, 2))
    return file


@pytest.fixture(scope="module")
def gate(
    hub_of: Hub, ours: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, Path, dict[str, Job]]:
    """The finished gate of a pull request that changes a server's build and its settings."""
    inputs = {
        "base": "path:base/build@base/my.toml",
        "head": "path:head/build@head/my.toml",
        "build": COPIED,
        "profile": str(profile),
        "threads": "1",
        "acknowledged": "head/known.toml",
        "options": "--set=distribution.type=uniform\n--seed=7",
    }
    caller = written(hub_of.origin / REPOSITORY, ours.sha, example("gate"), **inputs)
    with github_server.running() as state:
        state.changed = ["docs/README.md", "sql/sql_parse.cc"]
        hub = replace(
            hub_of,
            folder=tmp_path_factory.mktemp("gate"),
            environment=asking(state, hub_of),
            event_name="pull_request",
            event=pull_request(hub_of),
            scope="pull-3",
        )
        return hub, caller, actions.run(hub, caller)


def test_a_gate_measures_what_a_repository_builds(gate: tuple[Hub, Path, dict[str, Job]]) -> None:
    hub, _, jobs = gate
    for name in ("decide", "build-base[0]", "build-head[0]"):
        assert jobs[f"build/{name}"].result == "success", jobs[f"build/{name}"].log
    measure = jobs["build/measure"]
    artifact = hub.artifacts / "shootout-build"
    (path,) = (artifact / "results").glob("*.jsonl.xz")
    found = journal.read(path)
    assert [each.label for each in found.header.servers] == [
        "mysql-5.7.22 (path)@base-my.toml",
        "mysql-8.0.12 (path)@head-my.toml",
    ]
    assert [each.version.partition("-")[0] for each in found.header.servers] == ["5.7.22", "8.0.12"]
    before = git(hub.origin / REPOSITORY, "rev-parse", f"{hub.sha}^")
    assert [each.commit for each in found.header.servers] == [before, hub.sha]
    flushes = [
        next(each.effective for each in server.settings if each.name == "flush_log_at_trx_commit")
        for server in found.header.servers
    ]
    assert flushes == ["0", "2"]
    assert [block.key for block in found.header.blocks] == ["oltp_point_select-t1"]
    assert (found.header.given["--set distribution.type"], found.header.seed) == ("uniform", 7)
    assert found.header.profile.sampling.budget_s == 600
    assert (artifact / "site" / "index.html").exists()
    assert (artifact / "junit.xml").exists()
    assert "| oltp&#95;point&#95;select | 1 |" in measure.summary
    assert "[The report](https://github.example/report-shootout-build.html)" in measure.summary
    report = hub.artifacts / "report-shootout-build.html" / "report-shootout-build.html"
    assert "<style>" in report.read_text("utf-8")
    log = measure.log
    assert log.index("::stop-commands::") < log.rindex("run document")
    assert measure.result == ("failure" if "::error" in log else "success"), log
    assert jobs["build/verdict"].result == measure.result


def test_only_its_own_label_or_another_base_starts_a_measurement_again(
    orchestrated: Hub, hub_of: Hub, tmp_path: Path
) -> None:
    """Any other label or edit leaves alone what runs, and the check that stands."""
    inputs = {"base": "a", "head": "b", "label": "measure"}
    begun = replace(hub_of, event=pull_request(hub_of, labels=["measure"]))
    group = actions.concurrency(WORKFLOWS / "gate.yml", begun, inputs)
    caller = written(tmp_path, orchestrated.sha, example("gate", 1))
    labelled = pull_request(hub_of, labels=["measure", "documentation"])
    for number, (event, again) in enumerate(
        (
            (pull_request(hub_of, labels=["measure"], label="measure"), True),
            (labelled | {"action": "labeled", "label": {"name": "documentation"}}, False),
            (labelled | {"action": "edited", "changes": {"base": {"ref": {"from": "slow"}}}}, True),
            (labelled | {"action": "edited", "changes": {"title": {"from": "a"}}}, False),
        ),
        1001,
    ):
        folder = tmp_path / f"{number}"
        hub = replace(begun, event=event, run_id=number, folder=folder, event_name="pull_request")
        assert (actions.concurrency(WORKFLOWS / "gate.yml", hub, inputs) == group) == again
        with github_server.running() as state:
            environment = asking(state, hub_of)
            state.changed = ["README.md"]
            jobs = actions.run(replace(hub, environment=environment), caller)
        checks = [each["name"] for each in actions.records(jobs)]
        assert ("gate / Verdict" in checks) == again, checks
        assert jobs["gate/measure"].result == "skipped"


def test_what_a_push_to_main_has_built_a_gate_builds_no_more(
    of_a_fork: Hub, ours: Hub, tmp_path: Path
) -> None:
    """A fork's or a bot's gate does: it could have left a slower base in a cache of its own."""
    build = 'mkdir build && basename "$PWD" >build/server'
    push = written(tmp_path, ours.sha, example("main"), build=build)
    main = replace(of_a_fork, event={}, event_name="push", sha=commit(of_a_fork, "^1"))
    jobs = actions.run(replace(main, folder=tmp_path / "push"), push)
    assert jobs["main/build"].result == "success", jobs["main/build"].log
    assert jobs["main/keep"].result == "success", jobs["main/count"].log
    git(of_a_fork.origin / REPOSITORY, "branch", "--delete", "--force", "shootout-data")
    caller = written(tmp_path, ours.sha, example("gate"), build=build)
    for repository, author, outcome in (
        (REPOSITORY, "User", "skipped"),
        (REPOSITORY, "Bot", "success"),
        ("someone/servers", "User", "success"),
    ):
        event = pull_request(of_a_fork, repository)
        event["pull_request"]["user"] = {"type": author}  # type: ignore[index]
        folder = tmp_path / f"{repository}-{author}"
        hub = replace(of_a_fork, folder=folder, event=event, scope="pull-3")
        jobs = actions.run(hub, caller)
        assert jobs["build/verdict"].result == "success", jobs["build/measure"].log
        assert jobs["build/measure"].environment == ("" if outcome == "skipped" else "shootout-fork")
        assert jobs["build/build-base"].steps["Install"] == outcome  # what builds packs
        assert jobs["build/build-head"].steps["Install"] == "success"


# --- who may overwrite the check -------------------------------------------------------------------


def test_each_gate_is_of_one_branch_and_measures_again_when_its_base_changes() -> None:
    """A check belongs to a commit: one that a pull request into another branch got would count."""
    page = (paths.ROOT / "docs" / "ci.md").read_text()
    gates = [yaml.safe_load(on) for on in re.findall(r"^    on: (.*\bpull_request\b.*)$", page, re.M)]
    assert len(gates) == 3
    for on in gates:
        assert on["pull_request"]["branches"] == ["main"]
        assert {"opened", "synchronize", "reopened", "edited"} <= set(on["pull_request"]["types"])


def test_a_second_pull_request_of_a_commit_does_not_overwrite_its_check(
    of_a_fork: Hub, ours: Hub, tmp_path: Path
) -> None:
    """The first one has the label and fails; the second one comes from another branch, without the label."""
    caller = written(tmp_path, ours.sha, example("gate", 1), build="false")
    head = {"sha": commit(of_a_fork, "^2")}
    with github_server.running() as state:
        state.changed, state.reviewers = ["sql/a.cc"], 1
        others = [{"number": n, "state": "open", "labels": [], "head": {"sha": "0"}} for n in range(100)]
        first = {"number": 3, "state": "open", "labels": [{"name": "measure"}], "head": head}
        checks: list[list[object]] = []
        for number, labels, pulls in ((4, [], []), (3, ["measure"], [first]), (4, [], [*others, first])):
            state.pulls = pulls
            event = pull_request(of_a_fork, "someone/servers", labels=labels)
            event["pull_request"]["number"] = number  # type: ignore[index]
            folder = tmp_path / f"{len(checks)}"
            hub = replace(of_a_fork, folder=folder, event=event, environment=asking(state, of_a_fork))
            jobs = actions.records(actions.run(hub, caller))
            checks.append([each["conclusion"] for each in jobs if each["name"] == "gate / Verdict"])
    assert checks == [["success"], ["failure"], []]


# --- what a fork's build may try ------------------------------------------------------------------


@pytest.fixture
def of_a_fork(orchestrated: Hub, hub_of: Hub) -> Iterator[Hub]:
    """The repository of servers, of which a fork's gate is to run; nothing runs of shootout itself."""
    with github_server.running() as state:
        state.reviewers, state.changed = 1, ["sql/a.cc"]
        yield replace(
            hub_of,
            folder=orchestrated.folder,
            tools=orchestrated.tools,
            environment=asking(state, hub_of),
            event_name="pull_request",
            event=pull_request(hub_of, "someone/servers"),
        )


def gate_with(hub: Hub, attack: str) -> dict[str, Job]:
    """The gate of a fork, whose head does this when it is built."""
    build = f'mkdir build && basename "$PWD" >build/server && if [ -z "${{PWD##*/head}}" ]; then {attack}; fi'
    inputs = {"base": "path:base/build", "head": "path:head/build", "build": build}
    return actions.run(hub, WORKFLOWS / "gate.yml", inputs)


def test_a_gate_measures_what_merges_the_newest_commit(of_a_fork: Hub) -> None:
    """Soon after a push GitHub's event and its reference may have the merge of the commit before."""
    origin, stale = of_a_fork.origin / REPOSITORY, commit(of_a_fork, "^1")
    git(origin, "update-ref", "refs/pull/3/merge", stale)
    late = of_a_fork.folder.parent / "bin"
    late.mkdir()
    sleep = late / "sleep"
    sleep.write_text(f"#!/bin/sh\ngit -C {origin} update-ref refs/pull/3/merge {of_a_fork.sha}\n")
    environment = {**of_a_fork.environment, "PATH": f"{late}{os.pathsep}{os.environ['PATH']}"}
    hub = replace(of_a_fork, sha=stale, environment=environment)
    sleep.chmod(0o755)
    jobs = gate_with(hub, "git rev-parse HEAD HEAD^1 >build/server")
    assert jobs["measure"].result == "success", jobs["decide"].log
    measured = hub.artifacts / "shootout-gate" / "results" / "run.jsonl"
    assert measured.read_text().split() == ["base", of_a_fork.sha, stale]
    sleep.write_text("#!/bin/sh\n")
    git(origin, "update-ref", "refs/pull/3/merge", stale)
    jobs = gate_with(replace(hub, folder=of_a_fork.folder.parent / "again"), "true")
    git(origin, "update-ref", "refs/pull/3/merge", of_a_fork.sha)
    assert (jobs["decide"].result, jobs["verdict"].result) == ("failure", "failure")
    assert "has not merged" in jobs["decide"].log
    git(origin, "branch", "newer", "After")
    for base, result in (("newer", "failure"), ("Before", "success")):  # the pull request's after an edit
        event = pull_request(of_a_fork, "someone/servers") | {
            "action": "edited",
            "changes": {"base": {"sha": {}}},
        }
        event["pull_request"]["base"]["ref"] = base  # type: ignore[index]
        folder = of_a_fork.folder.parent / base
        jobs = gate_with(replace(hub, folder=folder, sha=of_a_fork.sha, event=event), "true")
        assert jobs["decide"].result == result, jobs["decide"].log


def test_a_forks_gate_needs_reviewers(of_a_fork: Hub) -> None:
    with github_server.running() as state:
        state.changed = [f"docs/{number}.md" for number in range(301)]  # more than GitHub lists
        jobs = gate_with(replace(of_a_fork, environment=asking(state, of_a_fork)), "true")
    assert "a fork's code would run unreviewed" in jobs["decide"].log
    assert [jobs[name].result for name in ("decide", "build-base", "build-head", "measure", "verdict")] == [
        "failure", "skipped", "skipped", "skipped", "failure",
    ]  # fmt: skip


def test_a_forks_gate_measures_what_each_side_built(of_a_fork: Hub) -> None:
    jobs = gate_with(of_a_fork, "true")
    assert jobs["measure"].result == "success", jobs["measure"].log
    measured = of_a_fork.artifacts / "shootout-gate" / "results" / "run.jsonl"
    assert measured.read_text() == "base\nhead\n"
    (job,) = (each for each in actions.records(jobs) if each["name"] == "Measure")
    (artifact,) = (each for each in of_a_fork.service.records() if each["name"] == "shootout-gate")
    assert job["started_at"] <= artifact["created_at"] <= job["completed_at"]
    assert {"name": handed_over("shootout-gate", artifact["id"]), "conclusion": "success"} in job["steps"]


def test_githubs_machines_count_without_a_review_and_then_without_a_comment(
    of_a_fork: Hub, ours: Hub, tmp_path: Path
) -> None:
    build = {"build": 'mkdir build && basename "$PWD" >build/server'}
    caller = written(tmp_path, ours.sha, example("gate", 2), **build)
    with github_server.running() as state:
        state.changed = ["sql/a.cc"]
        for repository, shown in (("someone/servers", "skipped"), (REPOSITORY, "success")):
            event = pull_request(of_a_fork, repository)
            folder = tmp_path / repository
            hub = replace(of_a_fork, folder=folder, event=event, environment=asking(state, of_a_fork))
            jobs = actions.run(hub, caller)
            assert jobs["count/verdict"].result == "success", jobs["count/measure"].log
            asked = (hub.artifacts / "shootout-gate" / "results" / "count" / "run.json").read_text()
            assert asked.startswith("count --base=path:base/build --head=path:head/build --out=")
            steps = jobs["count/measure"].steps.items()
            assert [outcome for name, outcome in steps if name.startswith("Hand over")] == [shown]
            assert jobs["count/measure"].environment == ""


def test_a_head_cannot_replace_the_bases_server(of_a_fork: Hub, tmp_path: Path) -> None:
    (tmp_path / "server.tar").write_text("slower\n")
    delete = taking_the_token(of_a_fork, "delete", "server-gate-base")
    upload = taking_the_token(of_a_fork, "upload", "server-gate-base", tmp_path / "server.tar")
    jobs = gate_with(of_a_fork, f"{delete} && {upload}")
    assert (of_a_fork.artifacts / "server-gate-base" / "server.tar").read_text() == "slower\n"
    assert jobs["measure"].steps["Take the base's server"] == "failure", jobs["measure"].log
    assert "computed checksum did NOT match" in jobs["measure"].log
    assert not (of_a_fork.artifacts / "shootout-gate").exists()
    assert jobs["verdict"].result == "failure"


def test_what_a_fork_uploads_instead_of_measuring_is_not_shown(
    of_a_fork: Hub, ours: Hub, tmp_path: Path
) -> None:
    (tmp_path / "forged" / "results").mkdir(parents=True)
    saved(made_up.a_document(made_up.starts_of(4)), tmp_path / "forged" / "results")
    upload = taking_the_token(of_a_fork, "upload", "shootout-gate", tmp_path / "forged")
    jobs = gate_with(of_a_fork, f"{upload} && false")
    assert jobs["measure"].result == "skipped"
    assert (of_a_fork.artifacts / "shootout-gate").exists()
    hub = replace(of_a_fork, tools=ours.tools)
    caller = written(tmp_path, ours.sha, example("comment"))
    assert commented(hub, caller, "someone/servers", *actions.records(jobs)) == ""


# By which a step speaks to the runner.
FILES = [f"GITHUB_{name}" for name in ("ENV", "OUTPUT", "PATH", "STATE", "STEP_SUMMARY")]


def test_a_build_puts_out_nothing_and_sums_up_nothing(of_a_fork: Hub) -> None:
    write = "; ".join(f'[ -z "${{{name}-}}" ] || echo sha256=forged >>"${name}"' for name in FILES)
    jobs = gate_with(of_a_fork, write)
    assert jobs["measure"].result == "success", jobs["measure"].log
    assert [job.summary for job in jobs.values() if "forged" in job.summary] == []


# --- comments -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comment(
    gate: tuple[Hub, Path, dict[str, Job]], ours: Hub, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """The comment on the gate of a fork's branch, which tampered with the summary in its artifact."""
    measured, _, before = gate
    folder = tmp_path_factory.mktemp("comment")
    event = {
        "workflow_run": {
            "id": 1,
            "event": "pull_request",
            "head_sha": measured.sha,
            "head_branch": "$(touch injected)",
            "head_repository": {"owner": {"login": "someone"}, "full_name": "someone/servers"},
        }
    }
    copied_artifacts(measured, folder)
    (folder / "artifacts" / "shootout-build" / "summary.md").write_text("@everyone trust me")
    for entries in (folder / "artifacts" / "shootout-build" / "results" / "ledger").glob("*.jsonl"):
        entries.write_text("no ledger\n")
    with github_server.running() as state:
        state.pulls.append(a_pull("someone:$(touch injected)", measured.sha, "sql/sql_parse.cc"))
        environment = asking(state, measured)
        hub = replace(
            measured, folder=folder, event_name="workflow_run", event=event, environment=environment
        )
        state.artifacts, state.jobs = hub.service.records, lambda: actions.records(before)
        jobs = actions.run(hub, written(folder, ours.sha, example("comment")))
    return hub, state, jobs


def copied_artifacts(hub: Hub, folder: Path) -> None:
    shutil.copytree(hub.artifacts, folder / "artifacts")
    shutil.copy2(hub.artifacts.with_name("artifacts.json"), folder)


def handed_over(name: str, artifact: int, pull: int = 3) -> str:
    """The step by which a job says what it has uploaded, and of which pull request it is."""
    return f"Hand over {name} as artifact {artifact} for pull request {pull} into main"


def a_measure(artifact: int | None, **changes: object) -> dict[str, object]:
    """GitHub's record of a job that has measured, with a regression, and has uploaded that artifact."""
    step = {"name": "Hand over shootout-build as artifact ${{ … }}", "conclusion": "skipped"}
    if artifact is not None:
        step = {"name": handed_over("shootout-build", artifact), "conclusion": "success"}
    times = {"started_at": "2026-01-01T10:00:00Z", "completed_at": "2026-01-01T11:00:00Z"}
    runner = {"labels": ["self-hosted", "linux", "perf-ssd"], "runner_group_name": "Default"}
    job = {"id": 21, "name": "build / Measure", "conclusion": "failure", "steps": [step]}
    return job | times | runner | changes


DURING = "2026-01-01T10:30:00Z"  # while a_measure ran


def a_pull(branch: str, sha: str, *files: str, repository: str = "someone/servers") -> dict[str, object]:
    head = {"sha": sha, "ref": branch.partition(":")[2], "repo": {"full_name": repository}}
    names = [{"filename": name} for name in files]
    pull = {"number": 3, "state": "open", "branch": branch, "labels": [], "head": head, "files": names}
    return pull | {"base": {"ref": "main"}, "user": {"type": "User"}}


def test_a_comment_comes_of_the_gates_document_alone(comment: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, state, jobs = comment
    assert jobs["comment/comment"].result == "success", jobs["comment/comment"].log
    (posted,) = state.comments
    assert posted["body"].startswith(markdown.MARKER)
    (job,) = (each for each in state.jobs() if each["name"] == "build / Measure")
    assert f"(https://github.example/owner/servers/actions/runs/1/job/{job['id']})" in posted["body"]
    assert "trust me" not in posted["body"]
    assert list(hub.folder.rglob("injected")) == []
    (document,) = hub.folder.rglob("documents/0/*.jsonl.xz")
    assert "gate" not in document.with_name("ledger").readlink().parts  # not the artifact's


def test_a_fork_that_rewrites_the_gate_gets_no_verdicts(
    comment: tuple[Hub, GitHub, dict[str, Job]], ours: Hub, tmp_path: Path
) -> None:
    """Nor one that hides the file behind 3 000 others, or forges its document."""
    before, state_before, _ = comment
    many = [f"mysql-test/{number}.test" for number in range(3000)]
    copied_artifacts(before, tmp_path)
    (document,) = (tmp_path / "artifacts" / "shootout-build" / "results").glob("*.jsonl.xz")
    for files, forged in (
        ((".github/a.yml",), False),
        ((*many, ".github/a.yml"), False),
        (("sql/a.cc",), True),
    ):
        if forged:
            text = lzma.decompress(document.read_bytes())
            forgery = text.replace(b'"transactions":[', b'"transactions":[9e99,', 1)
            document.write_bytes(lzma.compress(forgery))
        with github_server.running() as state:
            state.pulls.append(a_pull("someone:$(touch injected)", before.sha, *files))
            environment = asking(state, before)
            hub = replace(before, folder=tmp_path, environment=environment)
            state.artifacts, state.jobs = hub.service.records, state_before.jobs
            jobs = actions.run(hub, written(tmp_path, ours.sha, example("comment")))
        if forged:
            assert jobs["comment/comment"].result == "failure"
            assert state.comments == []
        else:
            (posted,) = state.comments
            assert "No verdicts are shown here" in posted["body"], jobs["comment/comment"].log


def commented(
    hub: Hub, caller: Path, repository: str, *measured: dict[str, object], **changes: object
) -> str:
    """The comment on the gate of a branch of that repository, with these jobs; empty if there is none.

    `changes`: what else GitHub says of the pull request.
    """
    head = {"owner": {"login": "someone"}, "full_name": repository}
    run = {"id": 1, "event": "pull_request", "head_sha": hub.sha, "head_branch": "faster"}
    with github_server.running() as state:
        pull = a_pull("someone:faster", hub.sha, "sql/a.cc", repository=repository)
        state.pulls.append(pull | changes)
        state.artifacts, state.jobs = hub.service.records, lambda: list(measured)
        hub = replace(
            hub,
            event_name="workflow_run",
            event={"workflow_run": run | {"head_repository": head}},
            environment=asking(state, hub),
        )
        jobs = actions.run(hub, caller)
        assert jobs["comment/comment"].result == "success", jobs["comment/comment"].log
        return "".join(each["body"] for each in state.comments)


def test_a_comment_says_what_the_gate_says_and_believes_no_ledger_of_a_fork(
    hub_of: Hub, ours: Hub, tmp_path: Path
) -> None:
    """By its five starts alone the head is slower; A/A cells know this runner to be too noisy to tell."""
    document = made_up.a_document(made_up.starts_of(-4))
    path = saved(document, tmp_path)
    noisy = [made_up.an_entry(0.1)] * 9
    runner = document.header.runner.fingerprint
    alone = markdown.comment([markdown.summary(compare.compare(document))], "main")
    gate = markdown.comment([markdown.summary(compare.compare(document, ledger_entries=noisy))], "main")
    assert ("inconclusive" in alone, "inconclusive" in gate) == (False, True)

    def posted(repository: str, artifacts: list[LedgerEntry], branch: list[LedgerEntry]) -> str:
        case = f"{repository.partition('/')[0]}-{len(artifacts)}-{len(branch)}"
        hub = replace(hub_of, folder=tmp_path / case)
        results = tmp_path / f"artifact-{case}" / "results"
        results.mkdir(parents=True)
        shutil.copy2(path, results)
        ledgers.append(results / ledgers.FOLDER, runner, artifacts)
        number = hub.service.upload("shootout-build", results.parent, DURING)
        data = tmp_path / f"data-{case}"
        ledgers.append(data / "results" / ledgers.FOLDER, runner, branch)
        if branch:
            committed(data, "A/A cells")
            git(data, "push", "--quiet", str(hub.origin / REPOSITORY), f"HEAD:{data.name}")
        caller = written(hub.folder, ours.sha, example("comment"), data=data.name)
        return commented(hub, caller, repository, a_measure(number))

    def linked(text: str, page: str) -> str:
        return f"{text[:-1]} [The full report](https://github.example/owner/servers/actions/runs/1{page})\n"

    assert posted(REPOSITORY, noisy, []) == linked(gate, "")
    assert posted("someone/servers", [], noisy) == linked(gate, "/job/21")
    assert posted("someone/servers", noisy, []) == linked(alone, "/job/21")


def test_what_a_forks_build_uploads_is_no_verdict(hub_of: Hub, ours: Hub, tmp_path: Path) -> None:
    """Whatever its name and time are, and whatever ran meanwhile."""
    (tmp_path / "forged" / "results").mkdir(parents=True)
    saved(made_up.a_document(made_up.starts_of(4)), tmp_path / "forged" / "results")
    hub = replace(hub_of, folder=tmp_path / "run")
    caller = written(tmp_path, ours.sha, example("comment"))

    def posted(artifact: str, created_at: str, another: int | None, **changes: object) -> str:
        """With a measurement whose artifact's id is greater by `another`; None: it uploaded nothing."""
        number = hub.service.upload(artifact, tmp_path / "forged", created_at)
        assert number is not None
        job = a_measure(None if another is None else number + another, **changes)
        found = commented(hub, caller, "someone/servers", job)
        hub.service.delete(artifact)
        return found

    assert "improved" in posted("shootout-build", DURING, 0)  # or the others would prove nothing
    for number in range(100):  # push the right one off the first page
        hub.service.upload(f"other-{number}", paths.ROOT / "LICENSE")
    assert "improved" in posted("shootout-build", DURING, 0)
    assert posted("shootout-build", DURING, None) == ""
    assert (
        posted("shootout-build", DURING, -1) == ""
    )  # the right one was deleted, and this uploaded in its place
    assert posted("shootout-other", DURING, 0) == ""
    assert posted("shootout-build", "2026-01-01T09:59:59Z", 0) == ""
    assert posted("shootout-build", "2026-01-01T11:00:01Z", 0) == ""
    assert posted("shootout-build", DURING, 0, conclusion="cancelled") == ""
    assert posted("shootout-build", DURING, 0, name="a / Measure\nb / Build head") == ""
    # Where no review came before it, the code could name a step itself.
    assert posted("shootout-build", DURING, 0, labels=["ubuntu-24.04"]) == ""
    assert posted("shootout-build", DURING, 0, runner_group_name="GitHub Actions") == ""


def test_the_comment_asks_where_a_bots_code_ran_and_what_it_was_measured_against(
    hub_of: Hub, ours: Hub, tmp_path: Path
) -> None:
    (tmp_path / "forged" / "results").mkdir(parents=True)
    saved(made_up.a_document(made_up.starts_of(4)), tmp_path / "forged" / "results")
    hub = replace(hub_of, folder=tmp_path / "run")
    number = hub.service.upload("shootout-build", tmp_path / "forged", DURING)
    caller = written(tmp_path, ours.sha, example("comment"))
    hosted = a_measure(number, labels=["ubuntu-24.04"], runner_group_name="GitHub Actions")
    bot: dict[str, object] = {"user": {"type": "Bot"}}
    shown = commented(hub, caller, REPOSITORY, hosted)
    assert "improved" in shown
    assert "Measured as merged into main." in shown
    assert commented(hub, caller, REPOSITORY, hosted, **bot) == ""
    assert "/job/21)" in commented(hub, caller, REPOSITORY, a_measure(number), **bot)
    assert commented(hub, caller, REPOSITORY, hosted, base={"ref": "other"}) == ""  # since it was measured


def test_of_what_measured_nothing_no_comment_is_built(hub_of: Hub, ours: Hub, tmp_path: Path) -> None:
    hub = replace(hub_of, folder=tmp_path / "run")
    assert commented(hub, written(tmp_path, ours.sha, example("comment")), REPOSITORY) == ""
    ran = [name for name, outcome in hub.done["comment/comment[0]"].steps.items() if outcome != "skipped"]
    assert ran == ["Find it", "Find the API", "Find what was measured"]


# --- requests -------------------------------------------------------------------------------------


def test_a_request_passes_on_what_a_gate_takes() -> None:
    gate, request = (yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text()) for name in ("gate", "request"))
    takes, asks = (actions.triggers(each)["workflow_call"]["inputs"] for each in (gate, request))
    passed = request["jobs"]["gate"]["with"].keys()
    of_events = {"label", "ignore", "environment", "base-artifact", "head-artifact"}
    assert passed == takes.keys() - of_events
    assert asks.keys() == passed - {"name", "pull", "sha"}
    assert all(each.get("default") == takes[name].get("default") for name, each in asks.items())


def asked(hub: Hub, body: str, author: str = "ann") -> Hub:
    comment = {"id": 77, "body": body, "user": {"login": author}}
    issue = {"number": 3, "pull_request": {"url": "https://github.example/pulls/3"}}
    event = {"issue": issue, "comment": comment}
    return replace(hub, event_name="issue_comment", event=event)


@pytest.fixture(scope="module")
def request_(
    hub_of: Hub, ours: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """A finished request on a branch of the repository, which also changes a workflow."""
    folder = tmp_path_factory.mktemp("request")
    inputs = {
        "base": f"{BASE}@base/my.toml",
        "head": f"{BASE}@head/my.toml",
        "build": "",
        "profile": str(profile),
    }
    caller = written(folder, ours.sha, example("request"), **inputs)
    with github_server.running() as state:
        state.writers = {"ann"}
        state.pulls.append(
            a_pull("owner:faster", commit(hub_of, "^2"), ".github/workflows/gate.yml", repository=REPOSITORY)
        )
        hub = replace(
            asked(hub_of, f"/shootout head={HEAD}@head/my.toml threads=2\r\nPlease."),
            folder=folder / "run",
            environment=asking(state, hub_of),
        )
        state.artifacts, state.jobs = hub.service.records, lambda: actions.records(hub.done)
        jobs = actions.run(hub, caller)
    return hub, state, jobs


def test_a_comment_asks_and_is_answered(request_: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, state, jobs = request_
    assert jobs["request/read"].result == "success", jobs["request/read"].log
    assert jobs["request/gate/build-base"].result == jobs["request/gate/build-head"].result == "skipped"
    (path,) = (hub.artifacts / "shootout-request" / "results").glob("*.jsonl.xz")
    header = journal.read(path).header
    assert [each.reference for each in header.servers] == [f"{BASE}@base/my.toml", f"{HEAD}@head/my.toml"]
    assert [block.key for block in header.blocks] == ["oltp_point_select-t2"]
    assert jobs["request/answer/comment"].result == "success", jobs["request/answer/comment"].log
    (posted,) = state.comments
    assert state.reactions == ["eyes"]
    assert "| oltp&#95;point&#95;select | 2 |" in posted["body"]
    assert "Asked" not in posted["body"]
    assert "(https://github.example/owner/servers/actions/runs/1/artifacts/12)" in posted["body"]


def a_job(name: str, minutes: int | None = None) -> dict[str, object]:
    """GitHub's record of a job that took so long; None: that has not ended."""
    ended: dict[str, object] = {"status": "queued", "conclusion": None, "completed_at": None}
    if minutes is not None:
        ended = {"status": "completed", "conclusion": "success"}
        ended["completed_at"] = f"2026-01-01T{10 + minutes // 60}:{minutes % 60:02}:00Z"
    return {"name": f"request / Gate / {name}", "started_at": "2026-01-01T10:00:00Z"} | ended


def test_whoever_asks_learns_what_is_measured_and_when(of_a_fork: Hub, ours: Hub, tmp_path: Path) -> None:
    """Also that of a request before it nothing comes, and in the end that nothing came of this one."""
    inputs = {"base": "path:base/build", "head": "path:head/build", "build": "false", "budget": "7"}
    caller = written(tmp_path, ours.sha, example("request"), **inputs)
    built = [a_job("Build base", 20), a_job("Build head", 30)]
    with github_server.running() as state:
        state.writers = {"ann_octo"}
        sha = commit(of_a_fork, "^2")
        state.pulls.append(a_pull("owner:faster", sha, "sql/a.cc", repository=REPOSITORY))
        state.runs = [
            {"id": number, "status": "completed", "jobs": [*built, a_job("Measure", minutes)]}
            for number, minutes in enumerate((5, 10, 90), 2)
        ]
        own = {"id": 1, "status": "in_progress", "jobs": []}
        measures = {"id": 8, "status": "in_progress", "jobs": [a_job("Decide", 1), a_job("Measure")]}
        builds = {"id": 9, "status": "queued", "jobs": [a_job("Decide", 1)]}
        shards = {"id": 10, "status": "queued", "jobs": [a_job("Test"), a_job("Measure 1/3")]}
        state.runs += [own, measures, builds, shards]
        waiting = (
            f"{markdown.MARKER}\n<!-- shootout: waiting for run {{}} -->\nAsked\n<!-- shootout: before -->\n"
        )
        state.say(3, waiting.format(5) + "The verdicts before.")
        hub = asked(of_a_fork, "/shootout threads=1", "ann_octo")
        hub = replace(hub, environment=asking(state, of_a_fork), tools=ours.tools)
        jobs = actions.run(hub, caller)
        assert jobs["request/gate/build-head"].result == "failure", jobs["request/read"].log
        _, said, _ = state.said
        assert "`base=path:base/build` `head=path:head/build` `threads=1` `budget=7`, for " + sha in said
        assert (
            "3 measurements are before it, and by earlier runs the result comes in about 70 minutes." in said
        )
        assert "It replaces the request before it, which had not ended." in said
        assert said.endswith("\nThe verdicts before.")
        (posted,) = state.comments
        link = f"https://github.example/{REPOSITORY}/actions/runs/1"
        ended = (
            f"{markdown.MARKER}\nNothing was measured: [the run]({link}) says why.\n\nThe verdicts before."
        )
        assert posted["body"] == ended
        assert state.reactions == ["eyes"]

        posted["body"] = waiting.format(99)  # a newer request
        step = {
            "API": f"{state.url}/repos/{REPOSITORY}",
            "TOKEN": github_server.TOKEN,
            "RUN": "1",
            "LINK": link,
        }
        script = [str(ACTIONS / "request" / "request")]
        subprocess.run(script, env=os.environ | step | {"ENDED": str(posted["id"])}, check=True)
        assert posted["body"] == waiting.format(99)


# --- every week -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weekly(
    hub_of: Hub, ours: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """The finished weekly matrix; the branch already held an old run and a baseline of another machine."""
    folder = tmp_path_factory.mktemp("weekly")
    before = folder / "before"
    measured = "oltp_point_select"
    header = structs.replace(
        builders.a_header(workloads=(measured,)), workloads=(builders.a_record(measured),)
    )
    accepted = baseline.of(compare.compare(builders.a_run(header, failing=False)))
    baselines.accept(before / "baselines", accepted)
    (before / "results" / "why" / "20200101T000000Z-0ld0").mkdir(parents=True)
    (before / "results" / "why" / "20200101T000000Z-0ld0" / "cell.json").write_text("{}")
    (before / "results" / "20200101T000000Z-0ld0.jsonl").write_text("old\n")
    committed(before, "A run before")
    git(before, "push", "--quiet", str(hub_of.origin / REPOSITORY), "HEAD:shootout-data")
    inputs = {
        "profile": str(profile),
        "servers": f"{BASE},trunk=path:build",
        "shards": "2",
        "acknowledged": "known.toml",
        "build": COPIED,
        "keep": "1",
        "runner": '[["perf-a"], ["perf-b"]]',
    }
    caller = written(folder, ours.sha, example("weekly"), **inputs)
    with github_server.running() as state:
        hub = replace(
            hub_of,
            folder=folder / "run",
            environment=asking(state, hub_of),
        )
        jobs = actions.run(hub, caller)
        about = state.open("Slower", f"{issues.MARKER}0123456789abcdef -->\n")
        with_number = {"issue": str(about["number"]), "build": COPIED, "built": "build"}
        by_number = written(folder, ours.sha, example("bisect"), **with_number)
        asked_for = actions.run(replace(hub, folder=folder / "again"), by_number)
    return hub, state, jobs | asked_for


def test_the_weekly_matrix_is_built_once_measured_in_shards_merged_and_kept(
    weekly: tuple[Hub, GitHub, dict[str, Job]], tmp_path: Path
) -> None:
    hub, state, jobs = weekly
    assert json.loads(jobs["weekly/shards"].outputs["shards"]) == [
        {"of": "1/2", "runner": ["perf-a"]},
        {"of": "2/2", "runner": ["perf-b"]},
    ]
    for name in ("build", "measure[0]", "measure[1]", "merge", "keep", "bisect", "keep-bisections", "issues"):
        assert jobs[f"weekly/{name}"].result == "success", f"{name}: {jobs[f'weekly/{name}'].log}"
    assert jobs["publish/build"].result == "success", jobs["publish/build"].log
    assert jobs["publish/deploy"].steps["Deploy"] == "skipped"  # it needs GitHub
    assert [request.split()[0] for request in state.asked] == ["GET"] * 3  # nothing has regressed
    for name in ("weekly/bisect", "bisect/bisect"):
        assert "no regression between two commits" in jobs[name].log
    assert jobs["bisect/find"].outputs == {"regression": "0123456789abcdef"}

    git(tmp_path, "clone", "--quiet", "--branch=shootout-data", str(hub.origin / REPOSITORY), "kept")
    kept = tmp_path / "kept"
    (path,) = (kept / "results").glob("*.jsonl.xz")  # the old run is removed, with what explained it
    assert not list((kept / "results").rglob("*0ld0*"))
    merged = journal.read(path)
    assert [block.key for block in merged.header.blocks] == [f"oltp_point_select-t{n}" for n in (1, 2)]
    assert sorted(start.block for start in merged.starts) == [block.key for block in merged.header.blocks]
    trunks = [part.servers[1] for part in merged.header.parts]
    assert len({trunk.reference for trunk in trunks}) == 2  # the same build, in two workspaces
    assert len({trunk.build for trunk in trunks}) == 1
    assert [(trunk.label, trunk.commit) for trunk in trunks] == [("trunk", hub.sha)] * 2
    assert len({part.seed for part in merged.header.parts}) == 1
    assert not (kept / "site").exists()
    assert not (kept / "results" / "judged").exists()
    assert (kept / "acknowledged.toml").read_text() == KNOWN
    assert (hub.artifacts / "site" / "index.html").exists()


def test_baselines_are_held_against(weekly: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, _, jobs = weekly
    log = jobs["weekly/merge"].log
    held = log.index("--- Compare with the accepted baselines")
    assert log[held:].count("oltp_point_select") == 2, log
    assert not (
        hub.artifacts / "weekly-merged" / "baselines"
    ).exists()  # or storing the run would restore old ones


def test_what_the_branch_got_since_the_merge_stays(tmp_path: Path) -> None:
    found = yaml.safe_load((WORKFLOWS / "weekly.yml").read_text())
    (add,) = (step for step in found["jobs"]["keep"]["steps"] if step["name"].startswith("Add the run"))
    files = {
        "merged/results/run.jsonl": "run\n",
        "merged/results/judged/run.json": "{}",
        "merged/results/ledger/a.jsonl": "1\n2\nours\n",
        "merged/results/ledger/b.jsonl": "new\n",
        "data/acknowledged.toml": KNOWN,
        "data/results/ledger/a.jsonl": "1\n2\nlater\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copytree(tmp_path / "merged", tmp_path / "artifact")
    for _ in range(2):
        shutil.copytree(tmp_path / "artifact", tmp_path / "merged", dirs_exist_ok=True)
        script = ["bash", "-eo", "pipefail", "-c", add["run"]]
        subprocess.run(script, cwd=tmp_path, env=os.environ | {"KEEP": "9"}, check=True)
        kept = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
        assert {str(file.relative_to(tmp_path / "data")): file.read_text() for file in kept} == {
            "acknowledged.toml": KNOWN,  # of another matrix
            "results/ledger/a.jsonl": "1\n2\nlater\nours\n",
            "results/ledger/b.jsonl": "new\n",
            "results/run.jsonl": "run\n",
        }


def test_two_matrices_of_one_workflow_keep_apart(orchestrated: Hub) -> None:
    actions.run(orchestrated, WORKFLOWS / "own-weekly.yml", {})
    for name in ("weekly", "weekly-production"):
        merged = orchestrated.artifacts / f"{name}-merged" / "results" / "run.jsonl"
        asked = [line.split() for line in merged.read_text().splitlines()]
        assert [words[1] for words in asked] == [f"--profile={name}"] * 3
        assert sorted(words[2] for words in asked) == [f"--shard={n}/3" for n in (1, 2, 3)]


# --- CI and releases ------------------------------------------------------------------------------


def a_wheel(folder: Path) -> Path:
    """The package as `make wheel` packs it, with this tree's engine."""
    name = f"shootout-{__version__}"
    tag = f"cp311-abi3-linux_{platform.machine()}"
    files: dict[str, bytes] = {}
    for source, target in (("shootout", "shootout"), *((each, f"shootout/_data/{each}") for each in PACKED)):
        for file in (paths.ROOT / source, *(paths.ROOT / source).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                files[str(target / file.relative_to(paths.ROOT / source))] = file.read_bytes()
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: shootout\nVersion: {__version__}\n",
        "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\nshootout = shootout.cli:main\n",
    }
    files |= {f"{name}.dist-info/{key}": text.encode() for key, text in about.items()}
    files[f"{name}.dist-info/RECORD"] = "".join(f"{file},,\n" for file in files).encode()
    wheel = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for target, content in files.items():
            packed.writestr(target, content)
    return wheel


@pytest.fixture(scope="module")
def release(ours: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """A release without compiling and downloading: a stub `make` provides a wheel with this tree's engine."""
    folder = tmp_path_factory.mktemp("release")
    (programs := folder / "programs").mkdir()
    wheel = a_wheel(folder)
    make = programs / "make"
    make.write_text(f'#!/bin/sh\n[ "$*" = wheel ] && mkdir dist && cp {wheel} dist\n')
    make.chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.base_prefix) / "bin"), os.environ["PATH"]])
    (others := folder / "others").mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("shootout", "pip")) and each.suffix != ".pth":
            (others / each.name).symlink_to(each)
    elsewhere = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": str(others)}
    environment = {**ours.environment, **elsewhere, "PATH": path}
    hub = replace(ours, folder=folder / "run", environment=environment)
    return actions.run(hub, WORKFLOWS / "release.yml")


def test_a_wheel_is_tried_summed_up_and_handed_over(release: dict[str, Job]) -> None:
    assert release["wheel"].result == "success", release["wheel"].log
    assert HEAD in release["wheel"].log  # from the wheel's catalogue
    assert release["release"].result == "success", release["release"].log
    assert f"shootout-{__version__}-" in release["release"].log
    assert release["release"].steps["Draft the release"] == "skipped"  # it needs GitHub
    assert "everything is tested" in release["test/test[0]"].log


def test_a_wheel_is_installed_with_the_hashes_of_what_was_tested(release: dict[str, Job]) -> None:
    locked = release["wheel"].log.partition("--- Lock what")[2].partition("--- ")[0].splitlines()[1:]
    wheel, checksum = locked[0].split(" --hash=sha256:")
    assert wheel == f"./shootout-{__version__}-cp311-abi3-linux_{platform.machine()}.whl"
    assert len(checksum) == 64
    assert set(locked[1:]) <= set((paths.ROOT / "requirements.lock").read_text().splitlines())
    assert any(line.startswith("msgspec==") for line in locked)
    assert release["wheel"].steps["Try the wheel outside its sources"] == "success"


@pytest.fixture(scope="module")
def ci(ours: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """A push to a repository whose tests are short."""
    return actions.run(replace(ours, folder=tmp_path_factory.mktemp("ci")), WORKFLOWS / "ci.yml")


@pytest.fixture(scope="module")
def nightly(ours: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """The tests by night, of the same repository."""
    hub = replace(
        ours, folder=tmp_path_factory.mktemp("nightly"), environment={**ours.environment, "ACT": "true"}
    )
    return actions.run(hub, WORKFLOWS / "nightly.yml")


@pytest.fixture(scope="module")
def selftest(hub_of: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """What a repository whose environment lacks reviewers is told."""
    with github_server.running() as state:
        job = {"steps": [{"name": "Hand over artifact 11"}], "runner_group_name": "GitHub Actions"}
        state.jobs = lambda: [job]
        state.labels, state.workflows = {"measure"}, ["gate", "comment"]
        hub = replace(
            hub_of,
            folder=tmp_path_factory.mktemp("selftest"),
            environment=asking(state, hub_of),
            event={"repository": {"default_branch": "main"}},
        )
        return actions.run(hub, WORKFLOWS / "selftest.yml", {"label": "measure"})


def test_a_repository_learns_what_works_in_it(selftest: dict[str, Job]) -> None:
    assert [job.result for job in selftest.values()] == ["success"] * 4, selftest["runner"].log
    said = selftest["github"].summary
    assert "| seeing which files changed | works |" in said
    assert "| finding the commits to compare | works |" in said
    assert "| telling GitHub's machines from yours | works |" in said
    assert "| telling when a request is answered | works |" in said
    assert "| verdicts on a fork's pull request | works |" in said
    assert "| reviewers before a fork's code runs | does not work (false) |" in said
    assert "| asking by the label measure | works |" in said
    assert "| workflows on main that answer requests and comment | does not work (false) |" in said
    assert "| builds that gates find in the cache of main | does not work (false) |" in said
    assert "| taking a build by its digest | works |" in selftest["runner"].summary
    assert "[look](https://github.example/report-selftest.html)" in said
    assert "CPU" in selftest["runner"].summary


def test_what_takes_long_is_tested_by_night(nightly: dict[str, Job]) -> None:
    assert nightly["test"].result == "success", nightly["test"].log
    assert "everything is tested" in nightly["test"].log


def test_a_push_is_tested(ci: dict[str, Job]) -> None:
    assert ci["test"].result == "success", ci["test"].log
    assert "everything is tested" in ci["test"].log
    assert os.access(paths.ROOT / ".ci" / "run", os.X_OK)


# --- all of them ----------------------------------------------------------------------------------


# --- the scripts ----------------------------------------------------------------------------------


def script_of(workflow: str, job: str, name: str) -> str:
    """The script of a step."""
    steps = yaml.safe_load((WORKFLOWS / f"{workflow}.yml").read_text())["jobs"][job]["steps"]
    (script,) = (step["run"] for step in steps if step["name"] == name)
    return str(script)


def scripted(script: str, folder: Path, state: GitHub, **environment: str) -> tuple[int, str]:
    """Run a script that may ask this GitHub; returns its exit code, and what it printed and put out."""
    files = {f"GITHUB_{name}": str(folder / name) for name in ("OUTPUT", "STEP_SUMMARY")}
    api = {"ASK": str(ACTIONS / "api" / "ask"), "API": f"{state.url}/repos/{REPOSITORY}"}
    known = os.environ | files | api | {"TOKEN": github_server.TOKEN} | environment
    words = ["bash", "-eo", "pipefail", "-c", script]
    done = subprocess.run(words, env=known, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changed", "given", "expected"),
    [
        ("docs/a/b.md README.md", {}, "false"),
        ("docs/a.md sql/a.cc", {}, "true"),
        ("", {}, "true"),
        ("sql/a.cc", {"LABELLED": "false"}, "false"),
        ("sql/a.cc", {"OTHER": "true"}, "false"),
        ("README.md", {"LABEL": "", "PULL": "", "INTO": ""}, "false"),  # a merge group
        ("sql/a.cc", {"FORK": "true"}, "none"),
        ("sql/a.cc", {"FORK": "true", "HOSTED_ONLY": "true"}, "true"),
    ],
)
def test_what_need_not_be_measured_is_not(
    changed: str, given: dict[str, str], expected: str, hub_of: Hub, tmp_path: Path
) -> None:
    own = {
        "BASE_SHA": commit(hub_of, "^1"), "HEAD_SHA": commit(hub_of, "^2"), "MERGED": hub_of.sha,
        "BASE_SHA_OF_GROUP": "", "ENVIRONMENT": "shootout-fork", "FORK": "false", "HOSTED_ONLY": "false",
        "IGNORE": "docs/* *.md", "INTO": "main", "LABEL": "measure", "LABELLED": "true", "OTHER": "false",
        "PULL": "3", "RETARGETED": "false",
    }  # fmt: skip
    with github_server.running() as state:
        state.git, state.changed = hub_of.origin / REPOSITORY, changed.split()
        code, said = scripted(script_of("gate", "decide", "Decide"), tmp_path, state, **(own | given))
    assert (code, f"measure={expected}\n" in said) == ((1, False) if expected == "none" else (0, True)), said


@pytest.mark.parametrize(
    ("given", "code"),
    [("  ", 1), ("v1  ", 1), ("v1 main 7", 1), ("  #7", 1), ("v1 main ", 0), ("  7", 0)],
)
def test_a_bisection_has_two_commits_or_an_issue(given: str, code: int, tmp_path: Path) -> None:
    asked = dict(zip(("GOOD", "BAD", "ISSUE"), given.split(" "), strict=True))
    script = script_of("bisect", "find", "Check the inputs")
    ended, said = scripted(script, tmp_path, GitHub(), **asked)
    assert ended == code
    assert ("::error::Expected good and bad, or the number of an issue." in said) == bool(code)


@pytest.mark.parametrize(
    ("body", "author", "message"),
    [
        ("/shootout", "bob", "Only people who may write"),
        ("/shootout", "eve", "comes from a fork"),
        ("/shootout", "dan", "or a bot"),
        ("/shootout head=$(id)", "ann", "Not understood"),
        ("/shootout options=--out=/", "ann", "Not understood"),
        ("/shootouts", "ann", ""),
        ("/shootout", "x/../y", ""),
        ("/shootout", "an-app[bot]", ""),
        ("thanks", "ann", ""),
    ],
)
def test_a_comment_that_may_not_ask_is_told_why(body: str, author: str, message: str, tmp_path: Path) -> None:
    with github_server.running() as state:
        state.writers = {"ann", "eve", "dan"}
        repository = "eve/servers" if author == "eve" else REPOSITORY
        pull = a_pull("owner:faster", "0", repository=repository)
        state.pulls.append(pull | {"user": {"type": "Bot" if author == "dan" else "User"}})
        asks = {"ACTOR": author, "BODY": body, "ASKED": "77", "NUMBER": "3", "ENDED": "", "MEASURES": "{}"}
        about = {"REPOSITORY": REPOSITORY, "RUN": "1", "LINK": "https://github.example"}
        script = f"exec {ACTIONS}/request/request"
        code, said = scripted(script, tmp_path, state, **asks, **about)
    told = "".join(each["body"] for each in state.comments)
    assert told.startswith("Nothing is measured. ") == bool(message), said
    assert message in told
    assert code == bool(message)
    assert not (tmp_path / "OUTPUT").exists()


def test_shootout_is_installed_once_for_each_state_of_its_sources(tmp_path: Path) -> None:
    copied(tmp_path / "sources")
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    # What the real one checks before it builds must be among the sources.
    make.write_text(
        f'#!/bin/sh\ncd "$2" && {shutil.which("make")} -s tools && mkdir .venv && ls >.venv/installed\n'
    )
    make.chmod(0o755)
    path = f"{make.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "RUNNER_TOOL_CACHE": str(tmp_path / "tools")}
    install = str(tmp_path / "sources" / ".github" / "actions" / "install" / "install")

    def installed() -> Path:
        done = subprocess.run([install], env=environment, capture_output=True, text=True, check=True)
        return Path(done.stdout.strip())

    first = installed()
    assert first.parts[-3:] == (".venv", "bin", "shootout")
    home = first.parents[2]
    assert {"Makefile", "engine", "fixtures", "shootout", "suites"} <= set(
        (home / ".venv" / "installed").read_text().split()
    )
    assert (home / "engine" / "src").is_dir()
    make.write_text("#!/bin/sh\nexit 1\n")
    assert installed() == first
    make.write_text('#!/bin/sh\ncd "$2" && mkdir .venv && touch .venv/installed\n')
    (tmp_path / "sources" / "fixtures" / "servers.toml").write_text("# other\n")
    os.utime(home, (0, 0))
    assert installed() != first
    assert not home.exists()  # unused for a month
    (tmp_path / "tools" / "shootout" / "run-1").mkdir()
    os.utime(tmp_path / "tools" / "shootout" / "run-1", (0, 0))
    mine = tmp_path / "mine"
    for version, told in ((__version__, False), ("9.9", True)):
        mine.write_text(f"#!/bin/sh\necho shootout {version}\n")
        mine.chmod(0o755)
        done = subprocess.run([install, mine], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{mine}\n"
        assert ("::warning::" in done.stderr) == told
    assert not (tmp_path / "tools" / "shootout" / "run-1").exists()


@pytest.fixture
def stub(tmp_path: Path) -> dict[str, str]:
    """The environment of `measure`, with a shootout that prints a workflow command and exits with $CODE."""
    script = tmp_path / "shootout"
    script.write_text(
        '#!/bin/sh\n[ "$1" = github ] && exit 0\nprintf "%s\\n" "$@" "::error::theirs"\nexit $CODE\n'
    )
    script.chmod(0o755)
    inputs = "BASE HEAD SERVERS PROFILE WORKLOADS THREADS BUDGET POLICY SHARD OPTIONS ACKNOWLEDGED CALIBRATE"
    inputs += " GOOD BAD SINCE BUILD BUILT REPO"
    environment = dict.fromkeys([*inputs.split(), "LIMIT", "LEDGER"], "") | {
        "SHOOTOUT": str(script),
        "CODE": "0",
        "PASS": "",
        "BY": "gate",
        "RESUME": "false",
        "OUT": str(tmp_path / "measured"),
        "REPORT": str(tmp_path / "report.html"),
        "PATH": "/usr/bin:/bin",
        "RUNNER_TOOL_CACHE": str(tmp_path),
        "SHOOTOUT_LOCK": str(tmp_path / "lock"),
    }
    for name in ("OUTPUT", "STEP_SUMMARY"):
        (tmp_path / name).touch()
        environment[f"GITHUB_{name}"] = str(tmp_path / name)
    return environment


def measured(environment: dict[str, str], **changes: str) -> subprocess.CompletedProcess[str]:
    script = str(ACTIONS / "measure" / "measure")
    return subprocess.run(
        [script], env=environment | changes, capture_output=True, text=True, timeout=30, check=False
    )


def test_inputs_become_options(stub: dict[str, str]) -> None:
    done = measured(
        stub, BASE="a b", HEAD="$(id)", BUDGET="5", OPTIONS="--set=a.b=c\n\n--seed=2", RESUME="true"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:8] == [
        "gate", "--base=a b", "--head=$(id)", "--budget=5", "--resume", "--set=a.b=c", "--seed=2",
    ]  # fmt: skip


def test_a_history_is_bisected(stub: dict[str, str]) -> None:
    commits = {"GOOD": "v1", "BAD": "main", "BUILD": "make -j2", "BUILT": "out", "REPO": "history"}
    lines = measured(stub, **commits, PROFILE="bisect", OPTIONS="--count", RESUME="true").stdout.splitlines()
    assert lines[1:7] == [
        "bisect", "--repo=history", "--good=v1", "--bad=main", "--build=make -j2", "--set=build.tree=out",
    ]  # fmt: skip
    assert lines[7:10] == ["--profile=bisect", "--resume", "--count"]
    assert not any(line.startswith("--junit-xml") for line in lines)


def test_what_a_history_confirms_is_bisected_on_from_what_is_known(
    stub: dict[str, str], tmp_path: Path
) -> None:
    for folder, name in (("data", "ours"), ("data", "both"), ("measured", "both")):
        (tmp_path / folder / "results" / "bisections" / name).mkdir(parents=True)
        (tmp_path / folder / "results" / "bisections" / name / "bisection.json").write_text(folder)
    (tmp_path / "data" / "acknowledged.toml").touch()
    given = {"SINCE": str(tmp_path / "data"), "BUILD": "make", "BUILT": "out", "REPO": "."}
    lines = measured(stub, **given, BUDGET="9").stdout.splitlines()
    assert lines[1:8] == [
        "bisect", "--since-history", f"--results={tmp_path}/data/results", "--repo=.", "--build=make",
        "--set=build.tree=out", "--budget=9",
    ]  # fmt: skip
    assert lines[8] == f"--acknowledged={tmp_path}/data/acknowledged.toml"
    kept = (tmp_path / "measured").glob("results/bisections/*/bisection.json")  # the branch has the others
    assert {path.parent.name: path.read_text() for path in kept} == {"both": "measured"}


def test_nothing_that_is_printed_is_a_command_to_the_runner(stub: dict[str, str]) -> None:
    lines = measured(stub, SERVERS="a,b").stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 36
    assert lines.index("::error::theirs") < lines.index(f"::{token}::")
    assert measured(stub, SERVERS="a,b").stdout.splitlines()[0] != lines[0]


@pytest.mark.parametrize(
    ("code", "passes", "expected"), [("0", "", 0), ("1", "", 1), ("4", "1 4", 0), ("3", "1 4", 3)]
)
def test_the_exit_code_is_an_output_and_fails_unless_it_passes(
    code: str, passes: str, expected: int, stub: dict[str, str]
) -> None:
    assert measured(stub, PROFILE="p", CODE=code, PASS=passes).returncode == expected
    assert f"exit-code={code}\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


def test_a_runner_is_calibrated_and_every_judging_command_gets_the_acknowledgements(
    stub: dict[str, str],
) -> None:
    lines = measured(stub, CALIBRATE="mysql-8.0.12", PROFILE="gate").stdout.splitlines()
    assert lines[1:4] == ["doctor", "--calibrate=mysql-8.0.12", "--profile=gate"]
    Path(stub["SHOOTOUT"]).write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@"\n[ "$1" = github ] || : >"$OUT/results/a.jsonl"\n'
    )
    lines = measured(stub, PROFILE="p", ACKNOWLEDGED="a b.toml").stdout.splitlines()
    assert lines[1:4] == ["run", "--profile=p", "--acknowledged=a b.toml"]
    assert lines[-4:-2] == ["github", "annotate"]
    assert lines[-1] == "--acknowledged=a b.toml"


def test_a_machine_measures_for_one_runner_at_a_time(stub: dict[str, str], tmp_path: Path) -> None:
    """Each runner has a tool cache of its own; the lock is the machine's."""
    log = tmp_path / "log"
    Path(stub["SHOOTOUT"]).write_text(
        f'#!/bin/sh\n[ "$1" = github ] || {{ echo begin; sleep 0.5; echo end; }} >>{log}\n'
    )
    script, running = str(ACTIONS / "measure" / "measure"), []
    for number in ("1", "2"):
        own = {"RUNNER_TOOL_CACHE": str(tmp_path / number), "OUT": str(tmp_path / number / "measured")}
        (tmp_path / number).mkdir()
        running.append(
            subprocess.Popen([script], env=stub | own | {"PROFILE": "p"}, stdout=subprocess.DEVNULL)
        )
    assert [process.wait(30) for process in running] == [0, 0]
    assert log.read_text().split() == ["begin", "end"] * 2


@pytest.mark.parametrize("action", ["build", "measure", "server"])
def test_nothing_is_downloaded_or_uploaded_while_others_measure(action: str) -> None:
    steps = yaml.safe_load((ACTIONS / action / "action.yml").read_text())["runs"]["steps"]
    assert steps[0]["run"] == 'exec "$GITHUB_ACTION_PATH/../hold"'
    assert (steps[-1]["run"], steps[-1]["if"]) == (
        'exec "$GITHUB_ACTION_PATH/../hold" end',
        "${{ always() }}",
    )


def test_a_job_holds_the_machine_from_step_to_step(stub: dict[str, str], tmp_path: Path) -> None:
    own = stub | {"RUNNER_TEMP": str(tmp_path)}

    def free(environment: dict[str, str] = stub) -> bool:
        script = f". {ACTIONS / 'lock.sh'}"
        asked = ["timeout", "0.3", "bash", "-eu", "-c", script]
        return subprocess.run(asked, env=environment, capture_output=True, check=False).returncode == 0

    for words, others in (([], False), ([], False), (["end"], True), (["end"], True)):
        subprocess.run([str(ACTIONS / "hold"), *words], env=own, check=True)
        assert free(own)
        assert free() == others


def test_what_a_build_leaves_running_does_not_keep_the_machine(stub: dict[str, str], tmp_path: Path) -> None:
    script = f"sleep 60 >/dev/null 2>&1 & echo $! >{tmp_path}/left; echo ::error::theirs"
    own = {"DIRECTORY": str(tmp_path), "BUILD": script, "BUILT": "build", "COMMIT": "c"}
    done = subprocess.run(
        [str(ACTIONS / "build" / "build")], env=stub | own, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines.index("::error::theirs") < lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    assert ["servers", "pack", f"{tmp_path}/build"] == lines[2:5]
    try:
        subprocess.run(["flock", "--nonblock", stub["SHOOTOUT_LOCK"], "true"], check=True)
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_a_lock_that_users_may_not_make_has_another_place(stub: dict[str, str], tmp_path: Path) -> None:
    text = (ACTIONS / "lock.sh").read_text()
    text = text.replace("/var/lock/", "/proc/").replace("/tmp/", f"{tmp_path}/")  # nobody may write to /proc
    for lock, code in (("", 0), ("/proc/mine.lock", 2)):
        environment = stub | {"SHOOTOUT_LOCK": lock}
        done = subprocess.run(
            ["bash", "-c", text], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert done.stderr == (
            "" if code == 0 else "shootout: /proc/mine.lock (SHOOTOUT_LOCK): cannot be made\n"
        )
    assert (tmp_path / "shootout.lock").exists()


def test_a_measurement_that_takes_too_long_ends(stub: dict[str, str]) -> None:
    Path(stub["SHOOTOUT"]).write_text('#!/bin/sh\n[ "$1" = github ] || exec sleep 60\n')
    done = measured(stub, PROFILE="p", LIMIT="0.01")
    assert done.returncode == 124
    assert "took longer than 0.01 minutes" in done.stderr


def test_a_push_to_the_data_branch_comes_after_those_made_meanwhile(tmp_path: Path) -> None:
    action = yaml.safe_load((ACTIONS / "data" / "action.yml").read_text())
    (push,) = (step["run"] for step in action["runs"]["steps"] if step["name"] == "Push")
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    for name in ("first", "second"):
        git(tmp_path, "clone", "--quiet", "origin", name)
        git(tmp_path / name, "checkout", "--quiet", "-B", "shootout-data")
        if name == "first":
            git(tmp_path / name, "commit", "--quiet", "--allow-empty", "--message=Begin")
            git(tmp_path / name, "push", "--quiet", "origin", "HEAD")
        else:
            git(tmp_path / name, "reset", "--quiet", "--hard", "origin/shootout-data")
    for name in ("first", "second"):
        (tmp_path / name / name).touch()
        (tmp_path / name / "bisection.json").write_text(name)  # the same one in both jobs
        ledger = tmp_path / name / "results" / "ledger" / "a.jsonl"
        ledger.parent.mkdir(parents=True)
        ledger.write_text(f"{name}\n")
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", push],
            cwd=tmp_path / name,
            env=os.environ | {"MESSAGE": name},
            check=False,
        )
        assert done.returncode == 0
    subjects = git(tmp_path / "origin", "log", "--format=%s", "shootout-data")
    assert subjects.split() == ["second", "first", "Begin"]
    assert git(tmp_path / "origin", "show", "shootout-data:bisection.json") == "second"
    known = git(tmp_path / "origin", "show", "shootout-data:results/ledger/a.jsonl")
    assert known.split() == ["first", "second"]

    # Others are faster eight times.
    (tmp_path / "bin").mkdir()
    pauses, sleep = tmp_path / "pauses", tmp_path / "bin" / "sleep"
    sleep.write_text(f"#!/bin/sh\necho >>{pauses}\n")
    hook = tmp_path / "second" / ".git" / "hooks" / "pre-push"
    other = "git commit --quiet --allow-empty --message=Other && git push --quiet origin HEAD"
    meanwhile = f"cd {tmp_path}/first && git pull --quiet --rebase origin shootout-data && {other}"
    hook.write_text(f"#!/bin/sh\n[ $(wc -l <{pauses}) -ge 8 ] || (unset GIT_DIR; {meanwhile}) >/dev/null\n")
    for file in (sleep, hook):
        file.chmod(0o755)
    pauses.touch()
    (tmp_path / "second" / "late").touch()
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", push],
        cwd=tmp_path / "second",
        env=os.environ | {"MESSAGE": "late", "PATH": path},
        check=True,
    )
    subjects = git(tmp_path / "origin", "log", "--format=%s", "shootout-data")
    assert subjects.split() == ["late", *["Other"] * 8, "second", "first", "Begin"]


def test_an_earlier_answer_is_not_shown_again(stub: dict[str, str], tmp_path: Path) -> None:
    for name in ("summary.md", "junit.xml"):
        (tmp_path / name).write_text("before")
    measured(stub, PROFILE="p", OUT=str(tmp_path), CODE="3")
    assert not (tmp_path / "junit.xml").exists()
    assert Path(stub["GITHUB_STEP_SUMMARY"]).read_text() == ""


def test_each_measurement_of_a_job_has_a_folder_of_its_own() -> None:
    action = yaml.safe_load((ACTIONS / "measure" / "action.yml").read_text())
    (step,) = (step for step in action["runs"]["steps"] if step["name"] == "Measure")
    outs = [
        actions.filled(
            step["env"]["OUT"], {"inputs": {"out": out, "artifact": name}, "runner": {"temp": "/t"}}
        )
        for out, name in (("", "a"), ("", "b"), ("/mine", "c"))
    ]
    assert outs == ["/t/shootout-a", "/t/shootout-b", "/mine"]


def test_what_is_measured_cannot_speak_to_the_runner(stub: dict[str, str], tmp_path: Path) -> None:
    """Neither servers nor, in a bisection, builds."""
    Path(stub["SHOOTOUT"]).write_text(f'#!/bin/sh\n[ "$1" = github ] || env >{tmp_path}/environment\n')
    files = {name: stub.get(name, str(tmp_path / name)) for name in FILES}
    assert measured(stub, PROFILE="p", **files).returncode == 0
    assert "GITHUB_" not in (tmp_path / "environment").read_text()
    assert "exit-code=0\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


def test_servers_must_be_named(stub: dict[str, str]) -> None:
    for given in ({}, {"BASE": "a"}, {"HEAD": "a", "PROFILE": "p"}):
        done = measured(stub, **given)
        assert done.returncode == 2
        assert "name base and head, or servers" in done.stderr


def test_a_cancelled_job_lets_the_run_end_well(stub: dict[str, str], tmp_path: Path) -> None:
    Path(stub["SHOOTOUT"]).write_text(
        f"""#!/bin/sh
[ "$1" = github ] && exit 0
trap 'echo stopped > {tmp_path}/stopped; kill $!; exit 130' TERM
sleep 60 &
touch {tmp_path}/begun
wait
"""
    )
    script = str(ACTIONS / "measure" / "measure")
    with subprocess.Popen([script], env=stub | {"PROFILE": "p"}, stdout=subprocess.DEVNULL) as process:
        until((tmp_path / "begun").exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert (tmp_path / "stopped").exists()
    assert "exit-code=130\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


def test_a_fresh_runner_starts_with_the_branchs_ledger(stub: dict[str, str], tmp_path: Path) -> None:
    for folder, names in (("branch", "ab"), ("mine", "a")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.jsonl").write_text(folder)
    own = {"LEDGER": str(tmp_path / "branch"), "SHOOTOUT_LEDGER": str(tmp_path / "mine")}
    assert measured(stub, PROFILE="p", OUT=str(tmp_path / "out"), **own).returncode == 0
    found = {file.stem: file.read_text() for file in (tmp_path / "out" / "results" / "ledger").iterdir()}
    assert found == {"a": "mine", "b": "branch"}


def test_a_runners_ledger_stays_on_it(stub: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "shootout.ledger").mkdir()
    (tmp_path / "shootout.ledger" / "before.jsonl").write_text("{}\n")
    script = Path(stub["SHOOTOUT"])
    script.write_text(
        f'#!/bin/sh\n[ "$1" = github ] || echo new > {tmp_path}/out/results/ledger/after.jsonl\n'
    )
    assert measured(stub, PROFILE="p", OUT=str(tmp_path / "out")).returncode == 0
    assert (tmp_path / "out" / "results" / "ledger" / "before.jsonl").exists()
    assert (tmp_path / "shootout.ledger" / "after.jsonl").read_text() == "new\n"
