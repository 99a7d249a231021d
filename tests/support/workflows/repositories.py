"""Repositories with our workflows, their pull requests and events.

PYTEST_DONT_REWRITE: as in tests.support.runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lab.commits import git
from shootout import paths
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, GitHub
from tests.support.runs import BASE, HEAD, SETTINGS, SHOOTOUT, Lab
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub

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
IGNORED = shutil.ignore_patterns("__pycache__", "*.so", "target")


def copied(target: Path) -> None:
    """Copy the project's sources as a checkout has them."""
    for name in SOURCES:
        source = paths.ROOT / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=IGNORED)
        else:
            shutil.copy2(source, target / name)


def committed(origin: Path, message: str) -> str:
    """Commit everything in the folder; returns the commit's hash."""
    git(origin, "init", "--quiet", "--initial-branch=main")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", f"--message={message}")
    return git(origin, "rev-parse", "HEAD")


def installed(origin: Path, tools: Path) -> Path:
    """Install these sources; return the path that shootout gets."""
    install = origin / ACTIONS.relative_to(paths.ROOT) / "install" / "install"
    state = subprocess.run([install, "state"], check=True, capture_output=True, text=True).stdout.strip()
    programs = tools / "shootout" / state / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "installed").touch()
    return programs / "shootout"


def a_profile(lab: Lab, *threads: int) -> str:
    return PROFILE.format(threads=list(threads), settings=lab.folder / "small.toml")


def examples(name: str = "[a-z]+") -> list[str]:
    """The workflows of docs/ci.md, or those of a name."""
    page = (paths.ROOT / "docs" / "ci.md").read_text()
    return [
        textwrap.dedent(each) for each in re.findall(rf"^    name: {name}\n(?:(?:    .*)?\n)+", page, re.M)
    ]


def example(name: str, number: int = 0) -> str:
    """A workflow of docs/ci.md."""
    return examples(name)[number]


def written(repository: Path, ours: str, text: str, **inputs: object) -> Path:
    """Write a repository's workflow, which calls ours at a commit, with these inputs instead of others."""
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
    """Make a repository of servers, and its pull request 3, merged, which changes build and settings."""
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


@pytest.fixture(scope="module")
def profile(lab: Lab) -> Path:
    file = lab.folder / "second.toml"
    file.write_text(a_profile(lab, 1, 2))
    return file


@pytest.fixture
def of_a_fork(orchestrated: Hub, hub_of: Hub) -> Iterator[Hub]:
    """Make the repository of servers, of which a fork's gate is to run; nothing runs of shootout itself."""
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


# By which a step speaks to the runner.
FILES = [f"GITHUB_{name}" for name in ("ENV", "OUTPUT", "PATH", "STATE", "STEP_SUMMARY")]


def handed_over(name: str, artifact: int, pull: int = 3) -> str:
    """The step by which a job says what it has uploaded, and of which pull request it is."""
    return f"Hand over {name} as artifact {artifact} for pull request {pull} into main"


def a_pull(branch: str, sha: str, *files: str, repository: str = "someone/servers") -> dict[str, object]:
    head = {"sha": sha, "ref": branch.partition(":")[2], "repo": {"full_name": repository}}
    names = [{"filename": name} for name in files]
    pull = {"number": 3, "state": "open", "branch": branch, "labels": [], "head": head, "files": names}
    return pull | {"base": {"ref": "main"}, "user": {"type": "User"}}


def commented(
    hub: Hub, caller: Path, repository: str, *measured: dict[str, object], **changes: object
) -> str:
    """Comment on a gate of that repository's branch, with these jobs; empty if there is no comment.

    `changes`: GitHub's other facts on the pull request.
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
