"""GitHub's side of a workflow: its jobs and steps run here as they are written, one after the other.

Expressions, `needs`, matrices, called workflows and composite actions are understood as far as the project's
own workflows use them, and what is not understood is an error. Of the actions of others, checkout and those
for artifacts are done here; a step with any other must have a condition that leaves it out where the variable
ACT is set, as `act` sets it. A job for another processor than this machine's is left out.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

PATIENCE_S = 180.0
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+)|(?P<operator>&&|\|\||==|!=|!|\(|\)|,)|(?P<name>[A-Za-z_][\w.-]*))"
)
_EXPRESSION = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}", re.DOTALL)
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Hub:
    """What the jobs of one workflow run share: where they run, what they hand over, what they were told."""

    folder: Path
    origin: Path  # a clone of each repository, at OWNER/NAME
    repository: str
    sha: str
    tools: Path
    environment: Mapping[str, str]
    event_name: str = "workflow_dispatch"
    event: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"


@dataclass
class Job:
    """What became of a job."""

    result: str  # success, failure or skipped
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    log: str = ""
    steps: dict[str, str] = field(default_factory=dict)  # outcome of each that has a name
    scripts: set[str] = field(default_factory=set)  # `run:` steps that passed, as `scripts` names them


class NotUnderstoodError(AssertionError):
    """A workflow asks for what is not understood here."""


def run(hub: Hub, workflow: Path, inputs: Mapping[str, Any] | None = None) -> dict[str, Job]:
    """Run a workflow; gives each job by its id, of a matrix also as `id[0]`, of a called one as `id/job`."""
    found = _load(workflow)
    jobs: dict[str, Any] = found["jobs"]
    given = _inputs(found, inputs or {})
    done: dict[str, Job] = {}
    for name in _in_order(jobs):
        job = jobs[name]
        needs = {each: done[each] for each in _listed(job.get("needs"))}
        before = [each.result for each in needs.values()]
        context: dict[str, Any] = {
            "inputs": given,
            "env": {"ACT": "true", **hub.environment},
            "github": _github(hub),
            "needs": {
                key: {"result": value.result, "outputs": value.outputs} for key, value in needs.items()
            },
            "runner": {"tool_cache": str(hub.tools)},
            "secrets": hub.secrets,
            "vars": hub.variables,
        }
        context["env"] |= _filled(found.get("env", {}), context)
        if not _wanted(job.get("if"), context, failed=any(each != "success" for each in before)):
            done[name] = Job("skipped")
            continue
        if "uses" in job:
            inner = run(hub, called(workflow, job["uses"]), _filled(job.get("with", {}), context))
            done |= {f"{name}/{key}": value for key, value in inner.items()}
            done[name] = Job(_together([each.result for each in inner.values()]))
            continue
        parts = []
        matrix = list(_matrix(job, context))
        for number, values in enumerate(matrix):
            strategy = {"job-index": number, "job-total": len(matrix)}
            own = context | {"matrix": values, "strategy": strategy}
            here = _is_here(filled(job["runs-on"], own))
            where = f"{workflow.stem}/{name}"
            parts.append(_job(hub, where, number, job, own) if here else Job("skipped"))
            done[f"{name}[{number}]"] = parts[-1]
        last = next((each for each in reversed(parts) if each.result != "skipped"), parts[-1])
        done[name] = replace(
            last,
            result=_together([each.result for each in parts]),
            scripts={script for each in parts for script in each.scripts},
        )
    return done


def scripts(file: Path) -> Iterator[str]:
    """The `run:` steps of a workflow or an action, less those that say that they need GitHub."""
    found = _load(file)
    if "runs" in found:
        places = {file.parent.name: found["runs"]["steps"]}
    else:
        places = {f"{file.stem}/{name}": job.get("steps", ()) for name, job in found["jobs"].items()}
    for where, steps in places.items():
        for step in steps:
            if "run" in step and "!env.ACT" not in str(step.get("if")):
                yield f"{where}: {step['name']}"


def _is_here(runner: str | Sequence[str]) -> bool:
    """Whether this machine has a hosted runner's processor; our own take any."""
    return not isinstance(runner, str) or runner.endswith("-arm") == (platform.machine() == "aarch64")


def called(workflow: Path, uses: str) -> Path:
    """Another workflow of the same repository."""
    if not uses.startswith("$/"):
        raise NotUnderstoodError(f"{workflow.name}: calls {uses}")
    return workflow.parents[2] / uses.removeprefix("$/")


def evaluated(text: str, context: Mapping[str, Any], *, failed: bool = False) -> Any:
    """The value of an expression."""
    python, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None:
            raise NotUnderstoodError(f"expression {text!r}: not understood from {text[position:]!r}")
        position = found.end()
        if found["text"] is not None:
            python.append(repr(found["text"][1:-1].replace("''", "'")))
        elif found["name"] is not None:
            follows = text[position:].lstrip().startswith("(")
            python.append(f"_{found['name']}" if follows else f"_value({found['name']!r})")
        else:
            python.append(_OPERATORS.get(found["operator"] or "", found["operator"] or found["number"]))
    names = {
        "_value": lambda name: _WORDS[name] if name in _WORDS else _value(name, context),
        "_fromJSON": json.loads,
        "_always": lambda: True,
        "_cancelled": lambda: False,
        "_failure": lambda: failed,
        "_success": lambda: not failed,
    }
    return eval("".join(python).strip(), {"__builtins__": {}}, names)


def _value(name: str, context: Mapping[str, Any]) -> Any:
    found: Any = context
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def filled(text: Any, context: Mapping[str, Any]) -> Any:
    """A value with its expressions evaluated; one that is nothing but an expression keeps its type."""
    if not isinstance(text, str):
        return text
    whole = _EXPRESSION.fullmatch(text.strip())
    if whole is not None:
        return evaluated(whole[1], context)
    return _EXPRESSION.sub(lambda found: _shown(evaluated(found[1], context)), text)


def _filled(values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    return {key: filled(value, context) for key, value in values.items()}


def _shown(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _wanted(condition: Any, context: Mapping[str, Any], *, failed: bool) -> bool:
    """Whether a job or step runs: without a word on it, nothing before it may have failed."""
    if condition is None:
        return not failed
    text = str(condition).strip()
    inner = _EXPRESSION.fullmatch(text)
    expression = inner[1] if inner else text
    says = any(f"{word}(" in expression for word in ("always", "cancelled", "failure", "success"))
    return (says or not failed) and bool(evaluated(expression, context, failed=failed))


def _job(hub: Hub, where: str, number: int, job: Mapping[str, Any], context: dict[str, Any]) -> Job:
    place = hub.folder / f"{where.replace('/', '-')}-{number}"
    workspace, temp = place / "workspace", place / "temp"
    for folder in (workspace, temp):
        folder.mkdir(parents=True)
    context = context | {"runner": {"tool_cache": str(hub.tools), "temp": str(temp)}, "steps": {}}
    context["github"] = context["github"] | {"workspace": str(workspace)}
    context["env"] = context["env"] | _filled(job.get("env", {}), context)
    done = Job("success")
    _steps(_Place(hub, where, workspace, temp), job["steps"], context, done)
    done.outputs = {key: _shown(filled(value, context)) for key, value in job.get("outputs", {}).items()}
    return done


@dataclass
class _Place:
    """Where a job's steps run."""

    hub: Hub
    name: str  # of workflow and job
    workspace: Path
    temp: Path
    path: list[str] = field(default_factory=list)
    action: Path | None = None
    count: Iterator[int] = field(default_factory=itertools.count)


@dataclass(frozen=True)
class _Inside:
    """A composite action, used in a place."""

    place: _Place
    folder: Path


def _steps(place: _Place, steps: Sequence[Mapping[str, Any]], context: dict[str, Any], done: Job) -> None:
    failed = False
    for step in steps:
        name = step.get("name", step.get("uses", ""))
        own = context | {"env": context["env"] | _filled(step.get("env", {}), context)}
        if not _wanted(step.get("if"), own, failed=failed):
            done.steps[name] = "skipped"
            continue
        done.log += f"--- {name}\n"
        outputs: dict[str, str] = {}
        try:
            if "run" in step:
                passed = _command(place, step, own, outputs, done)
            else:
                passed = _uses(place, step, own, outputs, done)
        finally:
            context["steps"] = context["steps"] | {step.get("id", ""): {"outputs": outputs}}
        done.steps[name] = "success" if passed else "failure"
        if passed and "run" in step:
            done.scripts.add(f"{place.action.name if place.action else place.name}: {name}")
        if not passed and not step.get("continue-on-error"):
            failed, done.result = True, "failure"


def _command(
    place: _Place, step: Mapping[str, Any], context: Mapping[str, Any], outputs: dict[str, str], done: Job
) -> bool:
    number = next(place.count)
    files = {key: place.temp.parent / f"{key}-{number}" for key in ("OUTPUT", "STEP_SUMMARY", "PATH", "ENV")}
    for file in files.values():
        file.touch()
    script = place.temp.parent / f"script-{number}.sh"
    script.write_text(_shown(filled(step["run"], context)), "utf-8")
    hub = place.hub
    environment = {
        **os.environ,
        **{key: _shown(value) for key, value in context["env"].items()},
        **{f"GITHUB_{key}": str(file) for key, file in files.items()},
        "GITHUB_ACTION_PATH": str(place.action or ""),
        "GITHUB_REPOSITORY": hub.repository,
        "GITHUB_RUN_ID": "1",
        "GITHUB_SERVER_URL": hub.origin.as_uri(),
        "GITHUB_WORKSPACE": str(place.workspace),
        "RUNNER_TEMP": str(place.temp),
        "RUNNER_TOOL_CACHE": str(hub.tools),
        "PATH": os.pathsep.join([*reversed(place.path), context["env"].get("PATH", os.environ["PATH"])]),
    }
    shell = ["--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["-e"]
    ended = subprocess.run(
        ["bash", *shell, str(script)],
        cwd=place.workspace / step.get("working-directory", "."),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    done.log += ended.stdout
    done.summary += files["STEP_SUMMARY"].read_text("utf-8")
    if files["ENV"].read_text():
        raise NotUnderstoodError(f"{step.get('name')}: sets environment variables")
    place.path += files["PATH"].read_text().split()
    for line in files["OUTPUT"].read_text("utf-8").splitlines():
        key, _, value = line.partition("=")
        outputs[key] = value
    return ended.returncode == 0


def _uses(
    place: _Place, step: Mapping[str, Any], context: Mapping[str, Any], outputs: dict[str, str], done: Job
) -> bool:
    given = _filled(step.get("with", {}), context)
    action, _, version = step["uses"].partition("@")
    if re.match(r"\$/.", action):  # the top folder itself cannot be named so
        folder = _sources(place.hub) / action.removeprefix("$/")
        return _composite(_Inside(place, folder), given, context, outputs, done)
    if re.fullmatch(r"[0-9a-f]{40}", version) is None:
        raise NotUnderstoodError(f"{step['uses']}: not pinned by a commit")
    match action:
        case "actions/checkout":
            _checkout(place, given)
        case "actions/upload-artifact":
            target = place.hub.artifacts / given["name"]
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(place.workspace / given["path"], target)
        case "actions/download-artifact":
            _download(place, given)
        case _:
            raise NotUnderstoodError(f"{step['uses']}: needs GitHub; expected `if: ${{{{ !env.ACT }}}}`")
    return True


def _sources(hub: Hub) -> Path:
    """The repository at the commit that runs, as a runner fetches it for its own actions."""
    target = hub.folder / "_actions"
    if not target.exists():
        _clone(hub.origin / hub.repository, target, hub.sha)
    return target


def _clone(source: Path, target: Path, commit: str) -> None:
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(source), str(target)], check=True)
    subprocess.run(["git", "-C", str(target), "checkout", "--quiet", "--detach", commit], check=True)


def _checkout(place: _Place, given: Mapping[str, Any]) -> None:
    hub = place.hub
    if given.get("persist-credentials") is not False:
        raise NotUnderstoodError("checkout: leaves its token behind")
    target = place.workspace / given.get("path", ".")
    _clone(hub.origin / given.get("repository", hub.repository), target, given.get("ref") or hub.sha)


def _download(place: _Place, given: Mapping[str, Any]) -> None:
    target = place.workspace / given.get("path", ".")
    if "name" in given:
        shutil.copytree(place.hub.artifacts / given["name"], target, dirs_exist_ok=True)
        return
    for artifact in place.hub.artifacts.glob(given["pattern"]):
        into = target if given.get("merge-multiple") else target / artifact.name
        shutil.copytree(artifact, into, dirs_exist_ok=True)


def _composite(
    inside: _Inside, given: Mapping[str, Any], context: Mapping[str, Any], outputs: dict[str, str], done: Job
) -> bool:
    place, folder = inside.place, inside.folder
    action = _load(folder / "action.yml")
    known = action.get("inputs", {})
    unknown = given.keys() - known.keys()
    if unknown:
        raise NotUnderstoodError(f"{folder.name}: has no input {', '.join(sorted(unknown))}")
    missing = [key for key, each in known.items() if each.get("required") and not given.get(key)]
    if missing:
        raise NotUnderstoodError(f"{folder.name}: lacks its input {', '.join(missing)}")
    values = {key: each.get("default", "") for key, each in known.items()}
    values |= {key: _shown(value) for key, value in given.items()}
    part = Job("success")
    own = {**context, "inputs": values, "steps": {}}
    _steps(replace(place, action=folder), action["runs"]["steps"], own, part)
    done.log += part.log
    done.summary += part.summary
    done.steps |= part.steps
    done.scripts |= part.scripts
    outputs |= {key: _shown(filled(each["value"], own)) for key, each in action.get("outputs", {}).items()}
    return part.result == "success"


def _load(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return found


def triggers(workflow: Mapping[Any, Any]) -> Mapping[str, Any]:
    """What starts a workflow; YAML 1.1 reads the key `on` as true."""
    found: Mapping[str, Any] = workflow[True]
    return found


def _inputs(workflow: Mapping[Any, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, and the defaults where anything is; a workflow that an event starts has no inputs."""
    known = (triggers(workflow).get("workflow_call") or {}).get("inputs", {})
    unknown = given.keys() - known.keys()
    if unknown:
        raise NotUnderstoodError(f"no input {', '.join(sorted(unknown))}")
    return {key: each.get("default") for key, each in known.items()} | dict(given) if given else {}


def _in_order(jobs: Mapping[str, Any]) -> list[str]:
    """Each job behind what it needs."""
    order: list[str] = []

    def add(name: str) -> None:
        for each in _listed(jobs[name].get("needs")):
            add(each)
        if name not in order:
            order.append(name)

    for name in jobs:
        add(name)
    return order


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _matrix(job: Mapping[str, Any], context: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    axes = {key: filled(each, context) for key, each in job.get("strategy", {}).get("matrix", {}).items()}
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _together(results: Sequence[str]) -> str:
    return "failure" if "failure" in results else "success" if "success" in results else "skipped"


def _github(hub: Hub) -> dict[str, Any]:
    return {
        "event": hub.event,
        "event_name": hub.event_name,
        "ref": "refs/heads/main",
        "repository": hub.repository,
        "run_id": "1",
        "server_url": "https://github.example",
        "sha": hub.sha,
        "token": "a-token",
        "workflow": "a workflow",
    }
